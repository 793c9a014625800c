/**
 * Real failures of keeping and renewing key sets, against the running server: rotation, floods, outages, replicas. The
 * clock is the test's; how often the issuer was asked is counted at the issuer.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { type IssuerServer, startIssuerServer } from '../fixtures/issuer-server.ts';
import type { Answer, RunningServer } from '../fixtures/running-server.ts';
import { settableClock } from '../fixtures/settable-clock.ts';
import { temporaryFolder } from '../storage/temporary-folder.ts';
import { ecKey, type IssuerKey, keySetOf } from './issuer-key.ts';
import { expectIssued, expectRefused, expectUnavailable } from './outcome.ts';
import { watchConnections } from './outgoing-connections.ts';
import { startQuietServer } from './quiet-server.ts';
import { holdRequests, until, watchRequests } from './request-watch.ts';
import { resolveTo } from './resolver.ts';
import { type IssuerFields, type TrustedWorkload, trustWorkload } from './trusted-workload.ts';

vi.mock('node:dns/promises', () => import('./resolver.ts'));

const MINUTE = 60;
const HOUR = 3600;
const DAY = 24 * HOUR;
const databases = temporaryFolder();

let server: RunningServer;
let issuer: IssuerServer;
beforeAll(async () => {
  server = await startQuietServer();
  issuer = await startIssuerServer();
});
afterAll(async () => {
  await server.close();
  await issuer.close();
});
afterEach(() => void vi.restoreAllMocks());

function publish(path: string, keys: readonly IssuerKey[], headers: Record<string, string> = {}): void {
  issuer.json(path, keySetOf(...keys), headers);
}

function fail(path: string, status: number, body = ''): void {
  issuer.route(path, (_request, response) => response.writeHead(status).end(body));
}

/** An issuer whose keys are at `path`. */
function trustAt(path: string, fields: IssuerFields = {}, at: RunningServer = server): Promise<TrustedWorkload> {
  return trustWorkload(at, {
    issuer_url: `https://${path.replaceAll('/', '')}.example.com`,
    key_source_type: 'static_jwks_url',
    jwks_url: `${issuer.origin}${path}`,
    ...fields,
  });
}

/** Asks until the set has been renewed: a request starts that, and does not wait for it. */
async function renewed(workload: TrustedWorkload, key: IssuerKey): Promise<void> {
  await expectIssued(workload.server, await workload.token(key));
  await until(async () => (await workload.keys())?.loaded_at === workload.server.clock());
}

/** What anyone can make: the issuer is real, the `kid` and the signature are not. */
function forged(workload: TrustedWorkload, known: IssuerKey, index: number): Promise<Answer> {
  const { claims } = workload.assertion(known);
  const parts = [
    { alg: 'RS256', kid: `made-up-${index}` },
    { ...claims, jti: `forged-${index}` },
  ];
  const [header, payload] = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'));
  // As long as an RSA-2048 signature.
  return server.token(`${header}.${payload}.${'A'.repeat(342)}`);
}

describe('ROT-01: a long max-age hides a rotated key', () => {
  it('ROT-01: the first token of a new key is accepted, whatever the issuer said of caching', async () => {
    const [k1, k2] = [ecKey('k1'), ecKey('k2')];
    publish('/week', [k1], { 'cache-control': 'max-age=604800' });
    const workload = await trustAt('/week');
    const asked = watchRequests(issuer);
    await expectIssued(server, await workload.token(k1));
    publish('/week', [k1, k2], { 'cache-control': 'max-age=604800' });
    await expectIssued(server, await workload.token(k2));
    expect(asked()).toEqual(['/week', '/week']);
    await expectIssued(server, await workload.token(k1));
    expect(asked()).toHaveLength(2);
  });

  it('ROT-01: a key that was withdrawn under it is gone after an hour', async () => {
    const [k1, k2] = [ecKey('k1'), ecKey('k2')];
    publish('/capped', [k1, k2], { 'cache-control': 'max-age=604800' });
    const workload = await trustAt('/capped');
    await expectIssued(server, await workload.token(k1));
    publish('/capped', [k2]);
    // Chance takes away up to a tenth of the hour.
    server.clock.advance(0.9 * HOUR - 1);
    const asked = watchRequests(issuer);
    await expectIssued(server, await workload.token(k1));
    expect(asked()).toEqual([]);
    expect((await workload.keys())?.next_try_at).toBeGreaterThan(server.clock());
    server.clock.advance(0.1 * HOUR + 1);
    await renewed(workload, k2);
    await expectRefused(server, await workload.token(k1), 'kid_unknown');
  });
});

describe('ROT-02: a flood of made-up kids', () => {
  it.each([
    ['before the keys were ever fetched', false],
    ['while the keys are known', true],
  ])('ROT-02: %s makes two fetches at most, and good tokens get through', async (_when, isWarm) => {
    const path = isWarm ? '/flood-warm' : '/flood-cold';
    const key = ecKey('good');
    publish(path, [key]);
    const workload = await trustAt(path);
    const asked = watchRequests(issuer);
    if (isWarm) await expectIssued(server, await workload.token(key));

    const flood = Array.from({ length: 1000 }, (_, index) => forged(workload, key, index));
    await expectIssued(server, await workload.token(key));
    const answers = await Promise.all(flood);

    const [first, last] = [answers[0], answers.at(-1)] as const;
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    for (const answer of [first, last]) await expectRefused(server, answer as Answer, 'kid_unknown');
    expect(asked()).toEqual([path, path]);
    await expectIssued(server, await workload.token(key));

    // For five minutes nobody can make us ask again; then, once.
    server.clock.advance(299);
    await expectRefused(server, await forged(workload, key, 1001), 'kid_unknown');
    expect(asked()).toHaveLength(2);
    server.clock.advance(1);
    await Promise.all([1002, 1003, 1004].map((index) => forged(workload, key, index)));
    expect(asked()).toHaveLength(3);
  });
});

describe('ROT-04: an unknown kid while the key endpoint is slow', () => {
  it.each<[string, number, string]>([
    ['fails', 500, ''],
    ['brings the same set', 200, 'same'],
  ])('ROT-04: tokens of known keys do not wait for the fetch, and outlive that it %s', async (what, status, body) => {
    const path = `/slow-${status}`;
    const good = ecKey('good');
    const bogus = ecKey('bogus');
    publish(path, [good]);
    const workload = await trustAt(path);
    await expectIssued(server, await workload.token(good));
    const slow = holdRequests(issuer, path);

    let isAnswered = false;
    const pending = workload.token(bogus).finally(() => {
      isAnswered = true;
    });
    await slow.arrived(1);
    for (let times = 0; times < 5; times += 1) await expectIssued(server, await workload.token(good));
    expect(isAnswered).toBe(false);
    expect(slow.waiting).toHaveLength(1);

    slow.waiting[0]?.writeHead(status).end(body === 'same' ? JSON.stringify(keySetOf(good)) : '');
    if (what === 'fails') {
      // Perhaps it is a new key: not "bad credentials", but "come back".
      const detail = `key set at ${issuer.origin}${path}: the server answered 500`;
      expect(await expectUnavailable(server, await pending, detail)).toBeLessThanOrEqual(2);
    } else {
      await expectRefused(server, await pending, 'kid_unknown');
    }
    await expectIssued(server, await workload.token(good));
    expect(slow.waiting).toHaveLength(1);
  });

  it('ROT-04: nor do they wait for the hourly renewal, which one request starts for all', async () => {
    const good = ecKey('good');
    publish('/renewal', [good]);
    const workload = await trustAt('/renewal');
    await expectIssued(server, await workload.token(good));
    const slow = holdRequests(issuer, '/renewal');
    server.clock.advance(HOUR);
    for (let times = 0; times < 5; times += 1) await expectIssued(server, await workload.token(good));
    await slow.arrived(1);
    await expectIssued(server, await workload.token(good));
    expect(slow.waiting).toHaveLength(1);
    slow.waiting[0]?.end(JSON.stringify(keySetOf(good)));
    await until(async () => (await workload.keys())?.loaded_at === server.clock());
    await expectIssued(server, await workload.token(good));
    expect(slow.waiting).toHaveLength(1);
  });
});

describe('ROT-05: an error that is remembered', () => {
  it('ROT-05: is forgotten after the back-off that the caller was told of', async () => {
    const key = ecKey('k1');
    publish('/error', [key]);
    const workload = await trustAt('/error');
    fail('/error', 503);
    const asked = watchRequests(issuer);
    const detail = `key set at ${issuer.origin}/error: the server answered 503`;
    const seconds = await expectUnavailable(server, await workload.token(key), detail);
    expect(seconds).toBeLessThanOrEqual(2);
    expect((await workload.keys())?.next_try_at).toBe(server.clock() + seconds);
    publish('/error', [key]);
    // Until then it is answered from memory, and the issuer has its peace.
    expect(await expectUnavailable(server, await workload.token(key), detail)).toBe(seconds);
    expect(asked()).toEqual(['/error']);
    server.clock.advance(5);
    await expectIssued(server, await workload.token(key));
    expect(asked()).toEqual(['/error', '/error']);
    expect((await workload.keys())?.last_error).toBeNull();
  });

  it('ROT-05, ROT-11: the pauses grow to five seconds and no further while there are no keys, and one success ends them', async () => {
    const key = ecKey('k1');
    publish('/growing', [key]);
    const workload = await trustAt('/growing');
    fail('/growing', 500);
    const asked = watchRequests(issuer);
    // Up to a half is taken away by chance, so that replicas do not come back together.
    for (const [tries, longest] of [2, 4, 5, 5, 5, 5, 5].entries()) {
      const seconds = await expectUnavailable(server, await workload.token(key));
      expect(seconds).toBeGreaterThanOrEqual(Math.floor(longest / 2));
      expect(seconds).toBeLessThanOrEqual(longest);
      expect(asked()).toHaveLength(tries + 1);
      server.clock.advance(seconds);
    }
    publish('/growing', [key]);
    await expectIssued(server, await workload.token(key));
    expect(asked()).toHaveLength(8);
  });
});

describe('ROT-07: the key endpoint is down', () => {
  const STALE_COUNT = /^countersign_stale_keys_used_total (\d+)$/m;
  const staleUses = async () => Number(STALE_COUNT.exec((await server.send('GET', '/metrics')).text)?.[1]);

  it.each<[string, (path: string) => void]>([
    ['answers 500', (path) => fail(path, 500)],
    ['breaks the connection', (path) => issuer.route(path, (_request, response) => response.destroy())],
  ])('ROT-07: for half an hour while it %s, the last good set is used, counted and logged', async (what, breakIt) => {
    const path = `/outage-${what.length}`;
    const key = ecKey('k1');
    publish(path, [key], { 'cache-control': 'max-age=600' });
    const workload = await trustAt(path);
    await expectIssued(server, await workload.token(key));
    breakIt(path);
    server.clock.advance(10 * MINUTE);
    await expectIssued(server, await workload.token(key));
    await until(async () => (await workload.keys())?.last_error !== null);
    const before = await staleUses();
    const logged = server.logLines.length;

    for (let minute = 10; minute < 40; minute += 10) {
      await expectIssued(server, await workload.token(key));
      expect(await workload.keys()).toMatchObject({ stale: true, kids: ['k1'] });
      server.clock.advance(10 * MINUTE);
    }
    expect(await staleUses()).toBe(before + 3);
    const warnings = server.logLines.slice(logged).filter((line) => line.includes('stale keys used'));
    expect(warnings).toHaveLength(3);
    expect(JSON.parse(warnings[0] ?? '')).toMatchObject({ trusted_issuer_id: workload.issuerId });

    publish(path, [key]);
    server.clock.advance(MINUTE);
    await renewed(workload, key);
    expect(await workload.keys()).toMatchObject({ stale: false, last_error: null });
    const after = await staleUses();
    await expectIssued(server, await workload.token(key));
    expect(await staleUses()).toBe(after);
  });

  it('ROT-07: after 24 hours without a success it is no longer used, until the issuer is back', async () => {
    const key = ecKey('k1');
    publish('/day', [key]);
    const workload = await trustAt('/day');
    await expectIssued(server, await workload.token(key));
    fail('/day', 500);
    server.clock.advance(DAY);
    await expectIssued(server, await workload.token(key));
    await until(async () => (await workload.keys())?.last_error !== null);
    server.clock.advance(1);
    const detail = `key set at ${issuer.origin}/day: the server answered 500`;
    await expectUnavailable(server, await workload.token(key), detail);
    publish('/day', [key]);
    server.clock.advance(MINUTE);
    await expectIssued(server, await workload.token(key));
  });

  it('ROT-07: a set that arrives without the key is no outage: the key is gone at once', async () => {
    const [k1, k2] = [ecKey('k1'), ecKey('k2')];
    publish('/removed', [k1]);
    const workload = await trustAt('/removed');
    await expectIssued(server, await workload.token(k1));
    publish('/removed', [k2]);
    await expectIssued(server, await workload.token(k2));
    await expectRefused(
      server,
      await workload.token(k1),
      'kid_unknown',
      /^kid "k1" is not in the key set fetched at .* \(1 key: "k2"\)$/,
    );
  });
});

describe('ROT-09: a changed JWKS address on several replicas', () => {
  it('ROT-09: old keys die at once where the change was made, and within a second everywhere else', async () => {
    const clock = settableClock();
    const databaseUrl = `sqlite:${databases.file()}`;
    await using one = await startQuietServer({ databaseUrl }, clock);
    await using two = await startQuietServer({ databaseUrl }, clock);
    const [stolen, fresh] = [ecKey('a'), ecKey('b')];
    const impostor: IssuerKey = { ...stolen, kid: 'b' };
    publish('/replica/a', [stolen]);
    publish('/replica/b', [fresh]);
    const workload = await trustAt('/replica/a', { issuer_url: 'https://replica.example.com' }, one);
    const ask = (replica: RunningServer, key: IssuerKey) => replica.token(workload.assertion(key).build());
    for (const replica of [one, two]) await expectIssued(replica, await ask(replica, stolen));

    await workload.update({ jwks_url: `${issuer.origin}/replica/b` });
    const asked = watchRequests(issuer);
    await expectRefused(one, await ask(one, stolen), 'kid_unknown');
    clock.advance(1);
    for (const replica of [one, two]) {
      await expectRefused(
        replica,
        await ask(replica, stolen),
        'kid_unknown',
        /^kid "a" is not in the key set fetched at .* \(1 key: "b"\)$/,
      );
      await expectRefused(replica, await ask(replica, impostor), 'signature_invalid');
      await expectIssued(replica, await ask(replica, fresh));
      expect((await workload.keys(replica))?.kids).toEqual(['b']);
    }
    // Each replica: the new set, and once more for the kid that it does not have.
    expect(asked()).toEqual(Array.from({ length: 4 }, () => '/replica/b'));
  });

  it('ROT-09: old keys do not stay as a last good set when the new address fails', async () => {
    const clock = settableClock();
    const databaseUrl = `sqlite:${databases.file()}`;
    await using one = await startQuietServer({ databaseUrl }, clock);
    await using two = await startQuietServer({ databaseUrl }, clock);
    const stolen = ecKey('a');
    publish('/replica/old', [stolen]);
    const workload = await trustAt('/replica/old', { issuer_url: 'https://replica.example.com' }, one);
    const ask = (replica: RunningServer) => replica.token(workload.assertion(stolen).build());
    for (const replica of [one, two]) await expectIssued(replica, await ask(replica));
    await workload.update({ jwks_url: `${issuer.origin}/replica/nothing` });
    clock.advance(1);
    const detail = `key set at ${issuer.origin}/replica/nothing: the server answered 404`;
    for (const replica of [one, two]) await expectUnavailable(replica, await ask(replica), detail);
  });

  it('ROT-09: an answer of the old address that comes late changes nothing', async () => {
    const [stolen, fresh] = [ecKey('a'), ecKey('b')];
    publish('/late/a', [stolen]);
    publish('/late/b', [fresh]);
    const workload = await trustAt('/late/a');
    const slow = holdRequests(issuer, '/late/a');
    const pending = workload.token(stolen);
    await slow.arrived(1);
    await workload.update({ jwks_url: `${issuer.origin}/late/b` });
    await expectIssued(server, await workload.token(fresh));
    slow.waiting[0]?.end(JSON.stringify(keySetOf(stolen)));
    await expectRefused(server, await pending, 'kid_unknown');
    await expectRefused(server, await workload.token(stolen), 'kid_unknown');
    expect((await workload.keys())?.kids).toEqual(['b']);
  });
});

describe('ROT-10: a broken issuer beside a healthy one', () => {
  it('ROT-10: the healthy one rotates and answers, while one name does not resolve and another issuer hangs', async () => {
    const [k1, k2] = [ecKey('k1'), ecKey('k2')];
    publish('/healthy', [k1]);
    publish('/hanging', []);
    const healthy = await trustAt('/healthy');
    const nowhere = await trustAt('/nowhere', { jwks_url: 'https://nowhere.invalid/keys' });
    const hanging = await trustAt('/hanging');
    const slow = holdRequests(issuer, '/hanging');
    await expectIssued(server, await healthy.token(k1));

    let isAnswered = false;
    const pending = hanging.token(ecKey('h')).finally(() => {
      isAnswered = true;
    });
    await slow.arrived(1);
    const failing = Array.from({ length: 20 }, () => nowhere.token(ecKey('n')));
    const asked = watchRequests(issuer);
    publish('/healthy', [k2]);
    await expectIssued(server, await healthy.token(k2));
    await expectRefused(server, await healthy.token(k1), 'kid_unknown');
    expect(asked()).toEqual(['/healthy']);
    for (const answer of await Promise.all(failing)) {
      await expectUnavailable(
        server,
        answer,
        'key set at https://nowhere.invalid/keys: the name nowhere.invalid did not resolve (ENOTFOUND)',
      );
    }
    expect(isAnswered).toBe(false);
    slow.waiting[0]?.writeHead(500).end();
    await expectUnavailable(server, await pending, /the server answered 500$/);
    await expectIssued(server, await healthy.token(k2));
  });
});

describe('ROT-11: the issuer is not there at start-up', () => {
  /** An issuer whose name does not resolve yet, and what the admin is told of it. */
  async function trustUnknownName(name: string) {
    const key = ecKey('k1');
    const path = `/${name}`;
    publish(path, [key]);
    const workload = await trustAt(path, { jwks_url: `https://${name}:${issuer.port}${path}` });
    const detail = `key set at https://${name}:${issuer.port}${path}: the name ${name} did not resolve (ENOTFOUND)`;
    expect(workload.warnings).toEqual([`no keys can be had from this issuer right now: ${detail}`]);
    return { key, workload, detail };
  }

  it('ROT-11: a token works 15 seconds after the start when the issuer is up after 10', async () => {
    const { key, workload, detail } = await trustUnknownName('issuer.test');
    const asked = watchRequests(issuer);
    await expectUnavailable(server, await workload.token(key), detail);
    server.clock.advance(10);
    resolveTo('issuer.test', '127.0.0.1');
    server.clock.advance(5);
    await expectIssued(server, await workload.token(key));
    expect(asked()).toEqual(['/issuer.test']);
    expect((await workload.keys())?.kids).toEqual(['k1']);
  });

  it('ROT-11: a workload that comes back each time when it was told to has its token at the first try after that', async () => {
    const { key, workload, detail } = await trustUnknownName('keys.test');
    const upAt = server.clock() + 10;
    while (server.clock() < upAt) {
      server.clock.advance(await expectUnavailable(server, await workload.token(key), detail));
    }
    resolveTo('keys.test', '127.0.0.1');
    await expectIssued(server, await workload.token(key));
  });

  it('ROT-11: the server starts and is ready while its issuers are away', async () => {
    const clock = settableClock();
    const databaseUrl = `sqlite:${databases.file()}`;
    const key = ecKey('k1');
    publish('/restart', [key]);
    const before = await startQuietServer({ databaseUrl }, clock);
    const workload = await trustAt('/restart', {}, before);
    await before.close();
    fail('/restart', 502);
    const asked = watchRequests(issuer);
    await using after = await startQuietServer({ databaseUrl }, clock);
    expect((await after.send('GET', '/readyz')).status).toBe(200);
    expect(asked()).toEqual([]);
    const ask = () => after.token(workload.assertion(key).build());
    const detail = `key set at ${issuer.origin}/restart: the server answered 502`;
    const seconds = await expectUnavailable(after, await ask(), detail);
    publish('/restart', [key]);
    clock.advance(seconds);
    await expectIssued(after, await ask());
  });
});

describe('ROT-13: an answer that is no key set', () => {
  it.each<[string, number, string, string]>([
    ['500 with JSON', 500, '{"message":"error"}', 'the server answered 500'],
    ['an error as 200', 200, '{"error":"x"}', 'not a JWK set: no array "keys"'],
    ['a web page', 200, '<html>..', 'the answer is not JSON'],
    ['keys that are no array', 200, '{"keys":{}}', 'not a JWK set: no array "keys"'],
    ['no keys at all', 200, '{"keys":[]}', 'the JWK set is empty'],
    ['204', 204, '', 'the server answered 204'],
    ['nothing', 200, '', 'the answer is not JSON'],
    ['half a set', 200, '{"keys":[{"kty":"EC"', 'the answer is not JSON'],
    ['201 with a set', 201, JSON.stringify(keySetOf(ecKey('k1'))), 'the server answered 201'],
  ])(
    'ROT-13: %s leaves the old keys in use, and closes an issuer that has none yet',
    async (what, status, body, problem) => {
      const path = `/broken-${what.replaceAll(' ', '-')}`;
      const key = ecKey('k1');
      publish(path, [key]);
      const workload = await trustAt(path);
      fail(path, status, body);
      const detail = `key set at ${issuer.origin}${path}: ${problem}`;
      // The first fetch ever.
      const seconds = await expectUnavailable(server, await workload.token(key), detail);

      publish(path, [key]);
      server.clock.advance(seconds);
      await expectIssued(server, await workload.token(key));
      fail(path, status, body);
      server.clock.advance(HOUR);
      await expectIssued(server, await workload.token(key));
      await until(async () => (await workload.keys())?.last_error === detail);
      await expectIssued(server, await workload.token(key));
      expect(await workload.keys()).toMatchObject({ stale: true, kids: ['k1'] });
      // A kid that may be of a newer set than can be had.
      server.clock.advance(2);
      await expectUnavailable(server, await workload.token(ecKey('k2')), detail);
    },
  );
});

describe('ROT-15: a verified token outlives its key', () => {
  it('ROT-15: the same token is refused as soon as a set without its key has arrived', async () => {
    const [k1, k2] = [ecKey('k1'), ecKey('k2')];
    publish('/withdrawn', [k1, k2], { 'cache-control': 'max-age=60' });
    const workload = await trustAt('/withdrawn', { assertion_use: 'until_expiry' });
    const token = workload.assertion(k1).build();
    for (let times = 0; times < 3; times += 1) await expectIssued(server, await server.token(token));
    publish('/withdrawn', [k2]);
    server.clock.advance(MINUTE);
    await renewed(workload, k2);
    await expectRefused(
      server,
      await server.token(token),
      'kid_unknown',
      /^kid "k1" is not in the key set fetched at .* \(1 key: "k2"\)$/,
    );
  });

  it('ROT-15: the same token is refused when another key has taken over its kid', async () => {
    const [k1, other] = [ecKey('k1'), ecKey('k1')];
    publish('/replaced', [k1], { 'cache-control': 'max-age=60' });
    const workload = await trustAt('/replaced', { assertion_use: 'until_expiry' });
    const token = workload.assertion(k1).build();
    await expectIssued(server, await server.token(token));
    publish('/replaced', [other]);
    server.clock.advance(MINUTE);
    await renewed(workload, k1);
    await expectRefused(server, await server.token(token), 'signature_invalid');
    await expectIssued(server, await workload.token(other));
  });
});

describe('ROT-16: a pasted key set is a snapshot', () => {
  it('ROT-16: the admin learns how old it is, and may paste old and new keys together; nothing is ever fetched', async () => {
    const connections = watchConnections(server);
    const [k1, k2] = [ecKey('k1'), ecKey('k2')];
    const savedAt = new Date(server.clock() * 1000).toISOString();
    const workload = await trustWorkload(server, {
      issuer_url: `${issuer.origin}/snapshot`,
      key_source_type: 'static_jwks',
      jwks: JSON.stringify(keySetOf(k1)),
    });
    server.clock.advance(100 * DAY);
    await expectIssued(server, await workload.token(k1));
    for (let times = 0; times < 2; times += 1) {
      const evidence = await expectRefused(
        server,
        await workload.token(k2),
        'kid_unknown',
        `kid "k2" is not in the static key set stored at ${savedAt} (1 key: "k1")`,
      );
      expect(evidence.hint).toContain('paste the current set, old keys beside new');
    }

    const updatedAt = new Date(server.clock() * 1000).toISOString();
    await workload.update({ jwks: JSON.stringify(keySetOf(k1, k2)) });
    for (const key of [k1, k2]) await expectIssued(server, await workload.token(key));
    await expectRefused(
      server,
      await workload.token(ecKey('k3')),
      'kid_unknown',
      `kid "k3" is not in the static key set stored at ${updatedAt} (2 keys: "k1", "k2")`,
    );
    expect(connections()).toEqual([]);
  });
});
