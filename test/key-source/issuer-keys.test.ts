/** The life of key sets as requests see it, over real servers and a clock that only the test moves. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { TrustedIssuer } from '../../src/assertion/trusted-issuer.ts';
import { createOutboundFetch, type FetchJson } from '../../src/key-source/outbound-fetch.ts';
import type { IssuerServer } from '../fixtures/issuer-server.ts';
import { NOW, type SettableClock } from '../fixtures/settable-clock.ts';
import { answer, fetchJson, type IssuerWorld, kidsOf, knows, startIssuerWorld, until } from './issuer-world.ts';
import { ecJwk } from './public-jwk.ts';

const HOUR = 3600;
const DAY = 24 * HOUR;

let world: IssuerWorld;
let server: IssuerServer;
let clock: SettableClock;
let events: IssuerWorld['events'];

beforeEach(async () => {
  world = await startIssuerWorld();
  ({ server, clock, events } = world);
});
afterEach(() => world.close());

const open = (fetch?: FetchJson) => world.open(fetch);
const row = (change?: Partial<TrustedIssuer>) => world.row(change);
const publish = (id: string, kids: readonly string[], headers?: Record<string, string>) =>
  world.publish(id, kids, headers);
const hold = (path: string) => world.hold(path);

describe('a set that is there', () => {
  it('is fetched at first use, once for all who wait, and then comes from memory', async () => {
    publish('one', ['k1']);
    const keys = open();
    const issuer = row();
    expect(server.requests).toHaveLength(0);
    const lookups = await Promise.all(Array.from({ length: 50 }, () => keys.current(issuer)));
    expect(new Set(lookups.map(kidsOf).map(String))).toEqual(new Set(['k1']));
    expect(await keys.current(issuer)).toEqual({
      available: true,
      keySet: {
        keys: [expect.objectContaining({ kid: 'k1', algorithms: ['ES256'] })],
        skipped: [],
        loadedAt: NOW,
        origin: 'fetched',
        stale: false,
      },
    });
    expect(server.hits('/one')).toBe(1);
    expect(events).toEqual([['fetched', 'one', 'ok']]);
  });

  it.each([
    ['an hour without max-age', {}, HOUR],
    ['max-age', { 'cache-control': 'max-age=120' }, 120],
    ['a minute at least', { 'cache-control': 'max-age=0' }, 60],
    ['an hour at most', { 'cache-control': 'max-age=604800' }, HOUR],
  ])('is refreshed in the background after %s, while requests get the old one', async (_what, headers, seconds) => {
    publish('one', ['k1'], headers);
    const keys = open();
    const issuer = row();
    await keys.current(issuer);
    const refresh = hold('/one');
    clock.advance(seconds - 1);
    expect(kidsOf(await keys.current(issuer))).toEqual(['k1']);
    expect(refresh.waiting).toHaveLength(0);
    clock.advance(1);
    expect(kidsOf(await keys.current(issuer))).toEqual(['k1']);
    expect(kidsOf(await keys.current(issuer))).toEqual(['k1']);
    await refresh.arrived(1);
    answer(refresh.waiting[0], 'one', ['k2']);
    await until(() => keys.state('one')?.loadedAt === clock());
    expect(kidsOf(await keys.current(issuer))).toEqual(['k2']);
    expect(server.hits('/one')).toBe(2);
  });
});

describe('an unknown kid', () => {
  it('ROT-01: fetches at once, however long the old set was said to be good', async () => {
    publish('one', ['k1'], { 'cache-control': 'max-age=604800' });
    const keys = open();
    const issuer = row();
    expect(await knows(keys, issuer, 'k1')).toBe(true);
    publish('one', ['k1', 'k2']);
    expect(await knows(keys, issuer, 'k2')).toBe(true);
    expect(server.hits('/one')).toBe(2);
  });

  it('fetches at most once in five minutes', async () => {
    publish('one', ['k1']);
    const keys = open();
    const issuer = row();
    expect(await knows(keys, issuer, 'made-up')).toBe(false);
    expect(server.hits('/one')).toBe(2);
    publish('one', ['k1', 'k2']);
    clock.advance(299);
    expect(await knows(keys, issuer, 'k2')).toBe(false);
    expect(server.hits('/one')).toBe(2);
    clock.advance(1);
    expect(await knows(keys, issuer, 'k2')).toBe(true);
    expect(server.hits('/one')).toBe(3);
  });

  it('ROT-02: a flood of made-up kids makes two fetches, and known kids go on working', async () => {
    publish('one', ['k1']);
    const keys = open();
    const issuer = row();
    const flood = Array.from({ length: 1000 }, (_, index) => knows(keys, issuer, `made-up-${index}`));
    expect(await knows(keys, issuer, 'k1')).toBe(true);
    expect(new Set(await Promise.all(flood))).toEqual(new Set([false]));
    expect(server.hits('/one')).toBe(2);
    for (let index = 0; index < 1000; index += 1) expect(await knows(keys, issuer, `late-${index}`)).toBe(false);
    expect(server.hits('/one')).toBe(2);
    expect(await knows(keys, issuer, 'k1')).toBe(true);
  });

  it('ROT-04: neither wipes good keys nor makes their users wait', async () => {
    publish('one', ['good']);
    const keys = open();
    const issuer = row();
    await keys.current(issuer);
    const slow = hold('/one');
    const bogus = knows(keys, issuer, 'bogus');
    await slow.arrived(1);
    expect(await knows(keys, issuer, 'good')).toBe(true);
    slow.waiting[0]?.writeHead(500).end();
    expect(await bogus).toBe('unavailable');
    expect(await knows(keys, issuer, 'good')).toBe(true);
  });

  it('is not answered by a fetch that began before it came', async () => {
    publish('one', ['k1']);
    const keys = open();
    const issuer = row();
    await keys.current(issuer);
    const slow = hold('/one');
    clock.advance(HOUR);
    await keys.current(issuer);
    await slow.arrived(1);
    // The issuer has answered with the old set, rotates, and a token of the new key arrives before that answer.
    const pending = knows(keys, issuer, 'k2');
    answer(slow.waiting[0], 'one', ['k1']);
    await slow.arrived(2);
    answer(slow.waiting[1], 'one', ['k1', 'k2']);
    expect(await pending).toBe(true);
    expect(server.hits('/one')).toBe(3);
  });

  it('whose fetch fails may be tried again after the back-off, and until then the keys are unavailable', async () => {
    publish('one', ['k1']);
    const keys = open();
    const issuer = row();
    await keys.current(issuer);
    server.route('/one', (_request, response) => response.writeHead(503).end());
    expect(await knows(keys, issuer, 'k2')).toBe('unavailable');
    expect(await knows(keys, issuer, 'k2')).toBe('unavailable');
    expect(await knows(keys, issuer, 'k1')).toBe(true);
    expect(server.hits('/one')).toBe(2);
    publish('one', ['k2']);
    clock.advance(2);
    expect(await knows(keys, issuer, 'k2')).toBe(true);
    expect(server.hits('/one')).toBe(3);
  });

  it('JWK-14: that matches no key, not even one without kid, is looked for once more', async () => {
    const { kid: _kid, ...nameless } = ecJwk('nameless');
    server.json('/one', { keys: [nameless] });
    const keys = open();
    const issuer = row();
    expect(kidsOf(await keys.current(issuer))).toEqual([null]);
    expect(await knows(keys, issuer, 'z')).toBe(false);
    expect(await knows(keys, issuer, 'z')).toBe(false);
    expect(server.hits('/one')).toBe(2);
  });
});

describe('a fetch that fails', () => {
  it('ROT-05: is remembered for seconds only', async () => {
    let answers = 0;
    publish('good', ['k1']);
    server.route('/one', (_request, response) => {
      answers += 1;
      if (answers === 1) response.writeHead(503).end();
      else answer(response, 'one', ['k1']);
    });
    const keys = open();
    const issuer = row();
    expect(await keys.current(issuer)).toEqual({
      available: false,
      cause: 'not_loaded',
      detail: `key set at ${server.origin}/one: the server answered 503`,
      retryAfterSeconds: 2,
    });
    clock.advance(1);
    expect(await keys.current(issuer)).toMatchObject({ available: false, retryAfterSeconds: 1 });
    expect(answers).toBe(1);
    clock.advance(4);
    expect(await knows(keys, issuer, 'k1')).toBe(true);
    expect(events).toEqual([
      ['fetched', 'one', 'unexpected_status'],
      ['fetched', 'one', 'ok'],
    ]);
  });

  it('FET-14: fails fast until the back-off ends, which grows to five seconds while there is no set', async () => {
    server.route('/one', (_request, response) => response.destroy());
    const keys = open();
    const issuer = row();
    const pauses: number[] = [];
    for (let failure = 1; failure <= 7; failure += 1) {
      const lookup = await keys.current(issuer);
      if (lookup.available) throw new Error('no keys were served');
      pauses.push(lookup.retryAfterSeconds);
      const started = performance.now();
      await Promise.all(Array.from({ length: 100 }, () => keys.current(issuer)));
      expect(performance.now() - started).toBeLessThan(500);
      expect(server.hits('/one')).toBe(failure);
      clock.advance(lookup.retryAfterSeconds);
    }
    expect(pauses).toEqual([2, 4, 5, 5, 5, 5, 5]);
  });

  it('FET-14: all who ask while the first fetch hangs share it', async () => {
    const impatient = createOutboundFetch({ privateNetworks: ['127.0.0.0/8'], deadlineMs: 200 });
    server.route('/one', () => {});
    const keys = open(impatient);
    const issuer = row();
    const lookups = await Promise.all(Array.from({ length: 100 }, () => keys.current(issuer)));
    expect(new Set(lookups.map((lookup) => lookup.available))).toEqual(new Set([false]));
    expect(server.hits('/one')).toBe(1);
  });

  it('ROT-11: at start-up leaves no empty set behind: the issuer works when it is up', async () => {
    const keys = open();
    const issuer = row({ jwksUrl: `https://nowhere.test:${server.port}/one` });
    let isUp = false;
    const start = clock();
    const late = open((url, request) =>
      isUp ? fetchJson(url.replace('nowhere.test', 'issuer.test'), request) : fetchJson(url, request),
    );
    publish('one', ['k1']);
    expect(await keys.current(issuer)).toMatchObject({
      available: false,
      detail: expect.stringContaining('ENOTFOUND'),
    });
    for (; clock() <= start + 15; clock.advance(1)) {
      isUp = clock() >= start + 10;
      const lookup = await late.current(issuer);
      if (lookup.available) break;
    }
    expect(kidsOf(await late.current(issuer))).toEqual(['k1']);
    expect(clock()).toBeLessThanOrEqual(start + 15);
  });

  it('ROT-10: leaves other issuers alone', async () => {
    publish('good', ['k1']);
    const keys = open();
    const good = row({ id: 'good' });
    const bad = row({ id: 'bad', jwksUrl: 'https://nowhere.test/keys' });
    const hanging = row({ id: 'hanging' });
    const slow = hold('/hanging');
    const waiting = keys.current(hanging);
    await slow.arrived(1);
    expect(await keys.current(bad)).toMatchObject({ available: false });
    expect(await knows(keys, good, 'k1')).toBe(true);
    publish('good', ['k2']);
    clock.advance(HOUR);
    await keys.refreshDue();
    expect(await knows(keys, good, 'k2')).toBe(true);
    answer(slow.waiting[0], 'hanging', ['k1']);
    expect(kidsOf(await waiting)).toEqual(['k1']);
  });

  it('that is our own fault is told to the log, and does not stay in the memory', async () => {
    publish('one', ['k1']);
    const fault = new TypeError('a bug');
    let isBroken = true;
    const keys = open((url, request) => (isBroken ? Promise.reject(fault) : fetchJson(url, request)));
    const issuer = row();
    expect(await keys.current(issuer)).toMatchObject({ available: false, detail: 'an internal fault; the log has it' });
    expect(events).toEqual([
      ['faulted', 'one', fault],
      ['fetched', 'one', 'fault'],
    ]);
    isBroken = false;
    clock.advance(2);
    expect(kidsOf(await keys.current(issuer))).toEqual(['k1']);
  });
});

describe('a set that can’t be renewed', () => {
  it('ROT-07: is used for a day after the last success, marked stale, and then no more', async () => {
    publish('one', ['k1']);
    const keys = open();
    const issuer = row();
    await keys.current(issuer);
    server.route('/one', (_request, response) => response.writeHead(500).end());
    clock.set(NOW + HOUR);
    await keys.refreshDue();
    events.length = 0;
    expect(await keys.current(issuer)).toMatchObject({ available: true, keySet: { stale: true, loadedAt: NOW } });
    expect(events).toEqual([['staleUsed', 'one']]);
    expect(keys.state('one')).toEqual({
      loadedAt: NOW,
      kids: ['k1'],
      stale: true,
      lastError: `key set at ${server.origin}/one: the server answered 500`,
      nextTryAt: clock() + 2,
      sharedKeys: [],
    });
    clock.set(NOW + DAY);
    expect(await keys.current(issuer)).toMatchObject({ available: true, keySet: { stale: true } });
    await until(() => server.hits('/one') === 3 && keys.state('one')?.nextTryAt !== NOW + HOUR + 2);
    clock.set(NOW + DAY + 1);
    expect(await keys.current(issuer)).toMatchObject({
      available: false,
      detail: expect.stringContaining('answered 500'),
    });
    publish('one', ['k1']);
    clock.advance(60);
    expect(await keys.current(issuer)).toMatchObject({ available: true, keySet: { stale: false, loadedAt: clock() } });
  });

  it.each([
    ['500', 500, '{"message":"error"}'],
    ['an error with 200', 200, '{"error":"x"}'],
    ['HTML', 200, '<html>..'],
    ['keys that are no array', 200, '{"keys":{}}'],
    ['no keys', 200, '{"keys":[]}'],
    ['204', 204, ''],
    ['nothing', 200, ''],
    ['FET-12: a redirect', 303, '<html>see other</html>'],
  ])('ROT-13: stays when the answer is %s; a first fetch with it fails closed', async (_what, status, body) => {
    publish('one', ['k1']);
    const keys = open();
    const issuer = row();
    await keys.current(issuer);
    server.route('/one', (_request, response) => response.writeHead(status, { location: '/x' }).end(body));
    clock.advance(HOUR);
    await keys.refreshDue();
    expect(server.hits('/one')).toBe(2);
    expect(await knows(keys, issuer, 'k1')).toBe(true);
    expect(await open().current(issuer)).toMatchObject({ available: false });
  });

  it('is not stale while a failed look for an unknown kid falls within its time', async () => {
    publish('one', ['k1']);
    const keys = open();
    const issuer = row();
    await keys.current(issuer);
    server.route('/one', (_request, response) => response.writeHead(500).end());
    await keys.refetch(issuer);
    expect(await keys.current(issuer)).toMatchObject({ available: true, keySet: { stale: false } });
  });
});

describe('a key that is gone', () => {
  it('ROT-15: is gone as soon as a set without it has arrived', async () => {
    publish('one', ['k1', 'k2']);
    const keys = open();
    const issuer = row();
    expect(await knows(keys, issuer, 'k1')).toBe(true);
    publish('one', ['k2']);
    clock.advance(HOUR);
    await keys.refreshDue();
    expect(await knows(keys, issuer, 'k1')).toBe(false);
    expect(await knows(keys, issuer, 'k2')).toBe(true);
  });
});

describe('a row that changes', () => {
  it('ROT-09: takes its old keys with it at once', async () => {
    publish('one', ['a']);
    server.json('/other', { keys: [ecJwk('b')] });
    const keys = open();
    expect(await knows(keys, row(), 'a')).toBe(true);
    const changed = row({ jwksUrl: `${server.origin}/other`, keySourceRevision: 2, updatedAt: NOW });
    expect(await knows(keys, changed, 'a')).toBe(false);
    expect(await knows(keys, changed, 'b')).toBe(true);
  });

  it('ROT-09: leaves no old keys behind when the new source fails', async () => {
    publish('one', ['a']);
    const keys = open();
    await keys.current(row());
    const changed = row({ jwksUrl: `${server.origin}/nothing`, keySourceRevision: 2, updatedAt: NOW });
    expect(await keys.current(changed)).toMatchObject({ available: false, detail: expect.stringContaining('404') });
  });

  it('ROT-09: is not undone by a late answer of the old source, nor by a request that still has the old row', async () => {
    const slow = hold('/one');
    server.json('/other', { keys: [ecJwk('b')] });
    const keys = open();
    const old = row();
    const waiting = keys.current(old);
    await slow.arrived(1);
    const changed = row({ jwksUrl: `${server.origin}/other`, keySourceRevision: 2, updatedAt: NOW });
    expect(kidsOf(await keys.current(changed))).toEqual(['b']);
    answer(slow.waiting[0], 'one', ['a']);
    expect(kidsOf(await waiting)).toEqual(['b']);
    expect(kidsOf(await keys.current(old))).toEqual(['b']);
    expect(await knows(keys, old, 'a')).toBe(false);
    expect(keys.state('one')).toMatchObject({ kids: ['b'] });
    // What the old source answered, or would have, is nobody's any more.
    expect(events).not.toContainEqual(['fetched', 'one', 'aborted']);
  });

  it('is believed when it was made anew under a smaller revision', async () => {
    publish('one', ['a']);
    server.json('/other', { keys: [ecJwk('b')] });
    const keys = open();
    await keys.current(row({ keySourceRevision: 7 }));
    const anew = row({ jwksUrl: `${server.origin}/other`, keySourceRevision: 1, updatedAt: NOW });
    expect(kidsOf(await keys.current(anew))).toEqual(['b']);
  });
});

describe('several issuers', () => {
  it.each([
    ['A', 'B'],
    ['B', 'A'],
  ])('JWK-15: with one kid keep their own keys, whichever came first (%s, %s)', async (first, second) => {
    publish('A', ['1']);
    publish('B', ['1']);
    const keys = open();
    await keys.current(row({ id: first }));
    await keys.current(row({ id: second }));
    const thumbprints = await Promise.all(
      ['A', 'B'].map(async (id) => {
        const lookup = await keys.current(row({ id }));
        return lookup.available ? lookup.keySet.keys.map((key) => key.thumbprint) : [];
      }),
    );
    expect(thumbprints.map((list) => list.length)).toEqual([1, 1]);
    expect(thumbprints[0]).not.toEqual(thumbprints[1]);
  });
});

describe('pasted keys', () => {
  const pasted = (kids: readonly string[], change: Partial<TrustedIssuer> = {}) =>
    row({ keySourceType: 'static_jwks', jwks: JSON.stringify({ keys: kids.map((kid) => ecJwk(kid)) }), ...change });

  it('ROT-16: DSC-04: never expire, are dated by their storing, and nothing is fetched for an unknown kid', async () => {
    const keys = open();
    const issuer = pasted(['k1', 'k2']);
    expect(await knows(keys, issuer, 'provider-key-1')).toBe(false);
    clock.advance(100 * DAY);
    expect(await keys.refetch(issuer)).toMatchObject({
      available: true,
      keySet: {
        keys: [{ kid: 'k1' }, { kid: 'k2' }],
        origin: 'static',
        loadedAt: issuer.keySourceUpdatedAt,
        stale: false,
      },
    });
    await keys.refreshDue();
    expect(server.connections()).toBe(0);
    expect(events).toEqual([]);
    expect(await knows(keys, issuer, 'k2')).toBe(true);
    expect(keys.state('one')).toMatchObject({ kids: ['k1', 'k2'], nextTryAt: null, lastError: null });
  });

  it('are replaced when the row is', async () => {
    const keys = open();
    await keys.current(pasted(['k1']));
    expect(kidsOf(await keys.current(pasted(['k2'], { keySourceRevision: 2, updatedAt: NOW })))).toEqual(['k2']);
  });

  it('are those of the row that is asked about, whatever number its revision has', async () => {
    const keys = open();
    await keys.current(pasted(['k1'], { keySourceRevision: 9 }));
    expect(kidsOf(await keys.current(pasted(['k2'], { keySourceRevision: 3 })))).toEqual(['k2']);
  });

  it('that are broken make the issuer unavailable', async () => {
    expect(await open().current(pasted([], { jwks: '{' }))).toMatchObject({
      available: false,
      detail: 'the stored key set is not JSON',
    });
  });
});

describe('the admin’s view', () => {
  it('knows nothing of an issuer that neither a request nor the background has come to', () => {
    expect(open().state('one')).toBeNull();
  });

  it('a check fetches anew, and leaves the memory as it was', async () => {
    publish('one', ['k1']);
    const keys = open();
    const issuer = row();
    expect(await keys.check(issuer)).toMatchObject({ passed: true, keys: [{ kid: 'k1' }] });
    expect(keys.state('one')).toBeNull();
    await keys.current(issuer);
    publish('one', ['k2']);
    expect(await keys.check(issuer)).toMatchObject({ passed: true, keys: [{ kid: 'k2' }] });
    expect(kidsOf(await keys.current(issuer))).toEqual(['k1']);
    server.route('/one', (_request, response) => response.writeHead(500).end());
    expect(await keys.check(issuer)).toMatchObject({ passed: false, failure: { code: 'unexpected_status' } });
    expect(keys.state('one')).toEqual({
      loadedAt: NOW,
      kids: ['k1'],
      stale: false,
      lastError: null,
      nextTryAt: NOW + HOUR,
      sharedKeys: [],
    });
  });
});

describe('the end', () => {
  it('gives up what is under way, and leaves nothing open', async () => {
    const slow = hold('/one');
    const keys = open();
    const waiting = keys.current(row());
    await slow.arrived(1);
    await keys.close();
    expect(await waiting).toMatchObject({ available: false });
    await until(() => slow.waiting[0]?.destroyed === true);
    expect(await keys.current(row({ id: 'two' }))).toMatchObject({ available: false });
    expect(server.hits('/two')).toBe(0);
  });

  it('holds no process alive, not even when it was not closed', async () => {
    const moduleUrl = (name: string) =>
      JSON.stringify(new URL(`../../src/key-source/${name}.ts`, import.meta.url).href);
    const script = `
      import { createIssuerKeys } from ${moduleUrl('issuer-keys')};
      import { createOutboundFetch } from ${moduleUrl('outbound-fetch')};
      const keys = createIssuerKeys({
        fetchJson: createOutboundFetch({ privateNetworks: ['127.0.0.0/8'] }),
        trustedIssuers: { findById: async () => null },
        activeIssuers: {
          generation: async () => 1,
          list: async () => [${JSON.stringify(row())}],
          findById: async () => null,
          onMove() {},
        },
        isSelfIssued: () => false,
        clock: () => 1,
        stopwatch: () => 0,
        jitter: () => 0,
        frugally: (work) => work(),
        observer: { fetched() {}, staleUsed() {}, keyShared() {}, faulted() {} },
      });
      keys.start();
      console.log((await keys.current(${JSON.stringify(row())})).available);`;
    publish('one', ['k1']);
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--no-warnings', '--input-type=module', '-e', script],
      // The timer ticks every second, a fetch may take 3 s: neither is waited for.
      { timeout: 2500 },
    );
    expect(stdout).toBe('true\n');
  });
});
