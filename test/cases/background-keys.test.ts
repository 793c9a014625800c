/**
 * Keys of trusted issuers ahead of any request, against the running server: after its start, when the registry
 * changes here or in another process, and where two clusters have one signing key. What requests do: the other files.
 */
import { calculateJwkThumbprint } from 'jose';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type IssuerServer, startIssuerServer } from '../fixtures/issuer-server.ts';
import { type RunningServer, startServer } from '../fixtures/running-server.ts';
import { type SettableClock, settableClock } from '../fixtures/settable-clock.ts';
import { temporaryFolder } from '../storage/temporary-folder.ts';
import { ecKey, type IssuerKey, keySetOf } from './issuer-key.ts';
import { expectIssued, expectRefused, expectUnavailable } from './outcome.ts';
import { holdRequests, until, watchRequests } from './request-watch.ts';
import { type IssuerFields, saveIssuer, type TrustedWorkload, trustWorkload } from './trusted-workload.ts';

const MINUTE = 60;
const HOUR = 3600;
const DAY = 24 * HOUR;
const databases = temporaryFolder();

let issuer: IssuerServer;
let clock: SettableClock;
let databaseUrl: string;
let opened: RunningServer[];

beforeAll(async () => {
  issuer = await startIssuerServer();
});
afterAll(() => issuer.close());
beforeEach(() => {
  clock = settableClock();
  databaseUrl = `sqlite:${databases.file()}`;
  opened = [];
});
afterEach(async () => {
  for (const server of opened) await server.close();
});

/** One more process over the same database. */
async function start(): Promise<RunningServer> {
  const server = await startServer({ databaseUrl }, clock);
  opened.push(server);
  return server;
}

async function stop(server: RunningServer): Promise<void> {
  opened = opened.filter((other) => other !== server);
  await server.close();
}

function publish(path: string, keys: readonly IssuerKey[], headers: Record<string, string> = {}): void {
  issuer.json(path, keySetOf(...keys), headers);
}

function trustAt(server: RunningServer, path: string, fields: IssuerFields = {}): Promise<TrustedWorkload> {
  return trustWorkload(server, {
    name: `cluster at ${path}`,
    issuer_url: `https://${path.replaceAll('/', '')}.example.com`,
    key_source_type: 'static_jwks_url',
    jwks_url: `${issuer.origin}${path}`,
    ...fields,
  });
}

const loaded = (workload: TrustedWorkload, server = workload.server) =>
  until(async () => (await workload.keys(server))?.loaded_at === clock());

async function figure(server: RunningServer, name: string): Promise<number> {
  const { text } = await server.send('GET', '/metrics');
  const line = text.split('\n').find((candidate) => candidate.startsWith(`${name} `));
  return Number(line?.split(' ').at(-1));
}

describe('after the start', () => {
  it('the keys of all active issuers are fetched, and the start waits for none of them', async () => {
    const key = ecKey('k1');
    const first = await start();
    publish('/prompt', [key]);
    publish('/hanging', [ecKey('h')]);
    publish('/disabled', [ecKey('d')]);
    const prompt = await trustAt(first, '/prompt');
    const hanging = await trustAt(first, '/hanging');
    await trustAt(first, '/disabled', { is_active: false });
    await stop(first);

    const held = holdRequests(issuer, '/hanging');
    const asked = watchRequests(issuer);
    const server = await start();
    expect((await server.send('GET', '/readyz')).status).toBe(200);
    await held.arrived(1);
    await loaded(prompt, server);
    expect(asked().toSorted()).toEqual(['/hanging', '/prompt']);
    // It comes from memory now.
    await expectIssued(server, await server.token(prompt.assertion(key).build()));
    expect(await hanging.keys(server)).toMatchObject({ loaded_at: null, last_error: null, kids: [] });
    expect(await figure(server, 'countersign_key_sets_unavailable')).toBe(1);
    held.waiting[0]?.end(JSON.stringify(keySetOf(ecKey('h'))));
    await loaded(hanging, server);
    expect(asked()).toHaveLength(2);
  });

  it('many issuers are not fetched all at once', async () => {
    const paths = Array.from({ length: 40 }, (_, index) => `/many-${index}`);
    const first = await start();
    for (const path of paths) {
      publish(path, [ecKey('k1')]);
      await saveIssuer(first, {
        issuer_url: `https://${path.slice(1)}.example.com`,
        key_source_type: 'static_jwks_url',
        jwks_url: `${issuer.origin}${path}`,
      });
    }
    await stop(first);
    const waiting: { end(body: string): unknown }[] = [];
    for (const path of paths) issuer.route(path, (_request, response) => void waiting.push(response));
    const asked = watchRequests(issuer);
    const server = await start();
    for (const [answered, path] of paths.entries()) {
      const rest = Math.max(0, paths.length - answered - 8);
      await until(() => waiting.length === paths.length - rest);
      expect(await figure(server, 'countersign_key_refresh_queue')).toBe(rest);
      waiting[answered]?.end(JSON.stringify(keySetOf(ecKey(path))));
    }
    await until(async () => (await figure(server, 'countersign_key_sets_usable')) === paths.length);
    expect(asked().toSorted()).toEqual(paths.toSorted());
    expect(await figure(server, 'countersign_key_refresh_queue')).toBe(0);
  });

  it('sets are refreshed hour by hour without a request, and marked when that fails', async () => {
    const server = await start();
    publish('/hourly', [ecKey('k1')]);
    const workload = await trustAt(server, '/hourly');
    await loaded(workload);
    publish('/hourly', [ecKey('k2')]);
    clock.advance(HOUR);
    await loaded(workload);
    expect(await workload.keys()).toMatchObject({ kids: ['k2'], stale: false });
    issuer.route('/hourly', (_request, response) => response.writeHead(502).end());
    clock.advance(HOUR);
    await until(async () => (await workload.keys())?.last_error !== null);
    expect(await workload.keys()).toMatchObject({ kids: ['k2'], stale: true });
    const { text } = await server.send('GET', '/metrics');
    const labels = `issuer="${workload.issuerId}",name="cluster at /hourly"`;
    expect(text).toContain(`countersign_key_set_age_seconds{${labels}} ${HOUR}\n`);
    expect(text).toContain(`countersign_key_set_keys{${labels}} 1\n`);
    expect(text).toContain(`countersign_key_set_failures{${labels},error="unexpected_status"} 1\n`);
    expect(text).toMatch(new RegExp(`^countersign_key_set_next_try_seconds\\{${labels}\\} [12]$`, 'm'));
    expect(text).toContain(`countersign_key_set_shared{${labels}} 0\n`);
    expect(await figure(server, 'countersign_key_sets_stale')).toBe(1);
    expect(await figure(server, 'countersign_key_sets_failing')).toBe(1);
    expect(await figure(server, 'countersign_key_set_oldest_age_seconds')).toBe(HOUR);

    issuer.json('/hourly', keySetOf(ecKey('k3')));
    clock.advance(MINUTE);
    await loaded(workload);
    const lines = server.logLines.map((line) => JSON.parse(line)).filter(({ message }) => /^keys /.test(message));
    expect(lines).toMatchObject([
      {
        level: 'warn',
        trusted_issuer_id: workload.issuerId,
        outcome: 'unexpected_status',
        message: 'keys not fetched',
      },
      { level: 'info', trusted_issuer_id: workload.issuerId, outcome: 'ok', message: 'keys fetched again' },
    ]);
  });
});

describe('a change of the registry, in both of two processes, without a request', () => {
  let one: RunningServer;
  let two: RunningServer;
  let workload: TrustedWorkload;
  beforeEach(async () => {
    one = await start();
    two = await start();
    publish('/changing', [ecKey('a')]);
    publish('/changed', [ecKey('b')]);
    workload = await trustAt(one, '/changing');
    clock.advance(1);
    for (const server of [one, two]) await until(async () => (await workload.keys(server))?.loaded_at != null);
  });

  it('a new key source: the old keys are gone, the new ones loaded', async () => {
    await workload.update({ jwks_url: `${issuer.origin}/changed` });
    clock.advance(1);
    for (const server of [one, two]) {
      await until(async () => (await workload.keys(server))?.kids[0] === 'b');
    }
  });

  it('a new key source that fails: the old keys are gone all the same', async () => {
    await workload.update({ jwks_url: `${issuer.origin}/nothing` });
    clock.advance(1);
    for (const server of [one, two]) {
      await until(async () => /answered 404$/.test((await workload.keys(server))?.last_error ?? ''));
      expect(await workload.keys(server)).toMatchObject({ loaded_at: null, kids: [] });
    }
  });

  it('disabled: the keys are gone; enabled: they are there again', async () => {
    await workload.update({ is_active: false });
    clock.advance(1);
    for (const server of [one, two]) await until(async () => (await workload.keys(server)) === null);
    await workload.update({ is_active: true });
    clock.advance(1);
    for (const server of [one, two]) await until(async () => (await workload.keys(server))?.kids[0] === 'a');
  });

  it('deleted: the keys are gone', async () => {
    await workload.remove();
    clock.advance(1);
    for (const server of [one, two]) {
      await until(async () => (await figure(server, 'countersign_key_sets_usable')) === 0);
    }
  });
});

describe('an answer that comes late', () => {
  it('of a fetch that was given up never stands where a newer one is', async () => {
    const [k1, k2] = [ecKey('k1'), ecKey('k2')];
    const server = await start();
    publish('/late', [k1]);
    const workload = await trustAt(server, '/late');
    await loaded(workload);
    const slow = holdRequests(issuer, '/late');
    clock.advance(HOUR);
    await slow.arrived(1);
    // Off and on again: the same row, the same key source, while the refresh is under way.
    await workload.update({ is_active: false });
    await until(async () => (await workload.keys()) === null);
    publish('/late', [k2]);
    await workload.update({ is_active: true });
    await loaded(workload);
    slow.waiting[0]?.end(JSON.stringify(keySetOf(k1)));
    await expectIssued(server, await workload.token(k2));
    await expectRefused(server, await workload.token(k1), 'kid_unknown');
    expect((await workload.keys())?.kids).toEqual(['k2']);
  });

  it('of the refresh does not undo what an unknown kid brought: it is waited for, and asked again', async () => {
    const [k1, k2] = [ecKey('k1'), ecKey('k2')];
    const server = await start();
    publish('/refresh', [k1]);
    const workload = await trustAt(server, '/refresh');
    await loaded(workload);
    const slow = holdRequests(issuer, '/refresh');
    clock.advance(HOUR);
    await slow.arrived(1);
    const pending = workload.token(k2);
    slow.waiting[0]?.end(JSON.stringify(keySetOf(k1)));
    await slow.arrived(2);
    slow.waiting[1]?.end(JSON.stringify(keySetOf(k1, k2)));
    await expectIssued(server, await pending);
    expect((await workload.keys())?.kids).toEqual(['k1', 'k2']);
  });
});

describe('a key that is published late', () => {
  it('is refused for five minutes at most, when someone has spent the budget with an invented kid', async () => {
    const [k1, k2] = [ecKey('k1'), ecKey('k2')];
    const server = await start();
    publish('/budget', [k1]);
    const workload = await trustAt(server, '/budget');
    await loaded(workload);
    await expectRefused(server, await workload.token(ecKey('invented')), 'kid_unknown');
    publish('/budget', [k1, k2]);
    clock.advance(299);
    await expectRefused(server, await workload.token(k2), 'kid_unknown');
    await expectIssued(server, await workload.token(k1));
    clock.advance(1);
    await expectIssued(server, await workload.token(k2));
  });
});

describe('two clusters with one signing key', () => {
  const KEY = ecKey('same');
  let server: RunningServer;
  let thumbprint: string;
  beforeEach(async () => {
    server = await start();
    thumbprint = await calculateJwkThumbprint(KEY.entry);
    publish('/left', [KEY]);
    publish('/right', [ecKey('own'), KEY]);
  });

  const detailFor = (workload: TrustedWorkload, other: TrustedWorkload, names: readonly [string, string]) =>
    `signing key ${thumbprint} is published by several trusted issuers: "${names[0]}" (${workload.issuerId}), "${names[1]}" (${other.issuerId})`;

  const sharingLines = (): readonly Record<string, unknown>[] =>
    server.logLines.map((line) => JSON.parse(line)).filter(({ message }) => /^signing key /.test(message));

  async function trustBoth(first = '/left', second = '/right'): Promise<readonly [TrustedWorkload, TrustedWorkload]> {
    const one = await trustAt(server, first);
    await loaded(one);
    const two = await trustAt(server, second);
    await loaded(two);
    return [one, two];
  }

  it.each([
    ['/left', '/right'],
    ['/right', '/left'],
  ])('are both closed before any token came, with %s first and %s second', async (first, second) => {
    const [one, two] = await trustBoth(first, second);
    const names = [`cluster at ${first}`, `cluster at ${second}`] as const;
    for (let times = 0; times < 3; times += 1) {
      expect(await expectUnavailable(server, await one.token(KEY), detailFor(one, two, names))).toBe(60);
      await expectUnavailable(server, await two.token(KEY), detailFor(two, one, [names[1], names[0]]));
    }
    const row = await server.auditOf(await one.token(KEY));
    expect(row).toMatchObject({ outcome: 'unavailable', reason: 'keys_unavailable', trusted_issuer_id: one.issuerId });
    expect(JSON.parse(row.metadata).hint).toContain('Give each cluster a signing key of its own');
    // Once for the change, not once for each request.
    expect(sharingLines()).toMatchObject([
      {
        level: 'warn',
        message: 'signing key shared: every issuer that has it is refused',
        thumbprint,
        trusted_issuers: [
          { id: one.issuerId, name: names[0] },
          { id: two.issuerId, name: names[1] },
        ],
        count: 2,
      },
    ]);
    const { keys } = await server.admin<{ keys: unknown }>(
      `query ($params: TrustedIssuerRequest!) { _trusted_issuer(params: $params) {
        keys { shared_keys { thumbprint other_issuers { trusted_issuer_id name } } } } }`,
      { id: one.issuerId },
    );
    expect(keys).toEqual({
      shared_keys: [{ thumbprint, other_issuers: [{ trusted_issuer_id: two.issuerId, name: names[1] }] }],
    });
    expect(await figure(server, 'countersign_shared_signing_keys')).toBe(1);
    expect(await figure(server, 'countersign_key_sets_sharing')).toBe(2);
  });

  it('are both closed where one of them has it pasted', async () => {
    const left = await trustAt(server, '/left');
    const pasted = await trustAt(server, '/pasted', {
      key_source_type: 'static_jwks',
      jwks: JSON.stringify(keySetOf(KEY)),
      jwks_url: undefined,
      ca_pem: undefined,
      allow_private_network: undefined,
    });
    await until(async () => (await figure(server, 'countersign_key_sets_sharing')) === 2);
    for (const workload of [left, pasted]) await expectUnavailable(server, await workload.token(KEY));
  });

  it('work again when one has dropped the key, a minute later without any request', async () => {
    const [left, right] = await trustBoth();
    expect([left.warnings, right.warnings]).toEqual([
      [],
      [`a signing key of this issuer is also that of "cluster at /left" (${left.issuerId}): all of them are refused`],
    ]);
    const own = ecKey('own');
    publish('/right', [own]);
    clock.advance(MINUTE);
    await until(async () => (await figure(server, 'countersign_key_sets_sharing')) === 0);
    await expectIssued(server, await left.token(KEY));
    await expectIssued(server, await right.token(own));
    expect(sharingLines().at(-1)).toMatchObject({
      level: 'info',
      message: 'signing key no longer shared',
      thumbprint,
      trusted_issuers: [{ id: left.issuerId }],
    });
  });

  it.each<[string, (other: TrustedWorkload) => Promise<unknown>]>([
    ['disabled', (other) => other.update({ is_active: false })],
    ['deleted', (other) => other.remove()],
  ])('leave the other one working at its next request when one is %s', async (_what, end) => {
    const [left, right] = await trustBoth();
    await expectUnavailable(server, await left.token(KEY));
    await end(right);
    await expectIssued(server, await left.token(KEY));
  });

  it('are closed in every process, and open in every process when one of them is disabled', async () => {
    const second = await start();
    const [left, right] = await trustBoth();
    clock.advance(1);
    await until(async () => (await figure(second, 'countersign_key_sets_sharing')) === 2);
    await expectUnavailable(second, await second.token(left.assertion(KEY).build()));
    await right.update({ is_active: false });
    clock.advance(1);
    await expectIssued(second, await second.token(left.assertion(KEY).build()));
  });

  it('do not close one another once the set of one is too old to be used', async () => {
    const [left, right] = await trustBoth();
    issuer.route('/right', (_request, response) => response.destroy());
    clock.advance(DAY + 1);
    // The other's own set is as old, and is renewed by this request or by the background.
    await until(async () => (await left.token(KEY)).status === 200);
    await expectUnavailable(server, await right.token(KEY), /^key set at .*\/right: /);
  });
});
