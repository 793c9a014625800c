/** What happens to key sets without any request: after the start, when the registry changes, and hour by hour. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { TrustedIssuer } from '../../src/assertion/trusted-issuer.ts';
import type { FetchJson } from '../../src/key-source/outbound-fetch.ts';
import { ok } from '../../src/result.ts';
import type { IssuerServer } from '../fixtures/issuer-server.ts';
import { NOW, type SettableClock } from '../fixtures/settable-clock.ts';
import { answer, type IssuerWorld, kidsOf, knows, startIssuerWorld, until } from './issuer-world.ts';
import { ecJwk, rsaJwk } from './public-jwk.ts';

const MINUTE = 60;
const HOUR = 3600;
const DAY = 24 * HOUR;

let world: IssuerWorld;
let server: IssuerServer;
let clock: SettableClock;

beforeEach(async () => {
  world = await startIssuerWorld();
  ({ server, clock } = world);
});
afterEach(() => world.close());

/** A stored issuer that publishes one key. */
function publishing(id: string, change: Partial<TrustedIssuer> = {}): TrustedIssuer {
  world.publish(id, ['k1']);
  return world.row({ id, ...change });
}

describe('after the start', () => {
  it('the sets of all active issuers are loaded, pasted ones too, and nobody waits for it', async () => {
    publishing('one');
    publishing('two');
    publishing('inactive', { isActive: false });
    publishing('reviewed', { keySourceType: 'token_review' });
    world.row({ id: 'pasted', keySourceType: 'static_jwks', jwks: JSON.stringify({ keys: [ecJwk('p')] }) });
    const keys = world.open();
    keys.start();
    expect(server.connections()).toBe(0);
    await until(() => ['one', 'two', 'pasted'].every((id) => keys.state(id)?.loadedAt));
    expect(keys.state('pasted')).toMatchObject({ kids: ['p'], nextTryAt: null });
    expect(keys.state('inactive')).toBeNull();
    expect(keys.state('reviewed')).toBeNull();
    expect([server.hits('/inactive'), server.hits('/reviewed')]).toEqual([0, 0]);
  });

  it('a request for an issuer whose turn has not come fetches at once, and the background does not again', async () => {
    const slow = Array.from({ length: 8 }, (_, index) => `slow-${index}`);
    const held = slow.map((id) => {
      world.row({ id });
      return world.hold(`/${id}`);
    });
    const last = publishing('last');
    const keys = world.open();
    const done = keys.refreshDue();
    await Promise.all(held.map(({ arrived }) => arrived(1)));
    expect(server.hits('/last')).toBe(0);
    expect(kidsOf(await keys.current(last))).toEqual(['k1']);
    for (const [index, { waiting }] of held.entries()) answer(waiting[0], `slow-${index}`, ['k1']);
    await done;
    expect(server.hits('/last')).toBe(1);
    expect(slow.map((id) => server.hits(`/${id}`))).toEqual(slow.map(() => 1));
  });

  it('a request that comes while the background fetches shares that fetch', async () => {
    const one = publishing('one');
    const slow = world.hold('/one');
    const keys = world.open();
    const done = keys.refreshDue();
    await slow.arrived(1);
    const waiting = keys.current(one);
    answer(slow.waiting[0], 'one', ['k1']);
    expect(kidsOf(await waiting)).toEqual(['k1']);
    await done;
    expect(server.hits('/one')).toBe(1);
  });

  it('10,000 issuers are fetched eight at a time, each of them once', async () => {
    let running = 0;
    let most = 0;
    let fetches = 0;
    const counting: FetchJson = async (url) => {
      running += 1;
      fetches += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
      const document = { keys: [rsaJwk(url)] };
      return ok({ status: 200, document, cacheControlMaxAge: null, bytes: 100 });
    };
    for (let index = 0; index < 10_000; index += 1) world.row({ id: `issuer-${index}` });
    world.generation = 1;
    world.jitter = 0.5;
    const keys = world.open(counting);
    await keys.refreshDue();
    expect({ most, fetches, listings: world.listings }).toEqual({ most: 8, fetches: 10_000, listings: 1 });
    expect(keys.figures(0)).toMatchObject({ usable: 10_000, unavailable: 0, queued: 0 });
    // All were loaded in one second of this clock. Of an hour, half of the tenth that chance may take is 3 minutes.
    clock.advance(HOUR - 3 * MINUTE - 1);
    await keys.refreshDue();
    expect(fetches).toBe(10_000);
  }, 30_000);
});

describe('when the registry changes', () => {
  it('a new issuer is loaded, and a changed, disabled or deleted one is dropped at once', async () => {
    const keys = world.open();
    for (const id of ['gone', 'disabled', 'changed', 'same']) publishing(id);
    await keys.refreshDue();
    const held = world.hold('/changed');
    world.rows.delete('gone');
    world.row({ id: 'disabled', isActive: false });
    world.row({ id: 'changed', keySourceRevision: 2 });
    world.row({ id: 'same', name: 'renamed', updatedAt: NOW });
    publishing('new');
    const done = keys.refreshDue();
    await held.arrived(1);
    expect(['gone', 'disabled', 'changed', 'same'].map((id) => keys.state(id)?.kids)).toEqual([
      undefined,
      undefined,
      [],
      ['k1'],
    ]);
    answer(held.waiting[0], 'changed', ['k2']);
    await done;
    expect(keys.state('changed')).toMatchObject({ kids: ['k2'] });
    expect(keys.state('new')).toMatchObject({ kids: ['k1'] });
    expect(['gone', 'disabled', 'changed', 'same', 'new'].map((id) => server.hits(`/${id}`))).toEqual([1, 1, 2, 1, 1]);
    expect(keys.figures(9).issuers.map(({ name }) => name)).toEqual(['renamed', 'issuer changed', 'issuer new']);
  });

  it('it is read only then', async () => {
    world.generation = 7;
    publishing('one');
    const keys = world.open();
    await keys.refreshDue();
    await keys.refreshDue();
    expect(world.listings).toBe(1);
    world.generation = 6;
    await keys.refreshDue();
    expect(world.listings).toBe(2);
  });

  it('a write of this process is followed without a wait for the timer', async () => {
    const keys = world.open();
    keys.start();
    await until(() => world.listings === 1);
    publishing('one');
    await until(() => {
      world.moved();
      return keys.state('one')?.loadedAt === NOW;
    });
  });

  it('an issuer that a request knows already is taken up, and one that is gone again is dropped', async () => {
    world.generation = 1;
    const keys = world.open();
    await keys.refreshDue();
    await keys.current(publishing('known'));
    await keys.current(publishing('gone'));
    world.rows.delete('gone');
    await keys.refreshDue();
    await keys.refreshDue();
    expect([keys.state('known'), keys.state('gone')]).toEqual([expect.objectContaining({ kids: ['k1'] }), null]);
    clock.advance(HOUR);
    await keys.refreshDue();
    expect([server.hits('/known'), server.hits('/gone')]).toEqual([2, 1]);
  });

  it('an answer for a dropped issuer that comes late changes nothing, also when the same row is back', async () => {
    publishing('one');
    const slow = world.hold('/one');
    const keys = world.open();
    const first = keys.refreshDue();
    await slow.arrived(1);
    world.row({ id: 'one', isActive: false });
    // The queue ends only with the fetch that is given up here.
    await Promise.all([first, keys.refreshDue()]);
    expect(keys.state('one')).toBeNull();
    world.row({ id: 'one' });
    world.publish('one', ['k2']);
    await keys.refreshDue();
    slow.waiting[0]?.on('error', () => {});
    answer(slow.waiting[0], 'one', ['k1']);
    await keys.refreshDue();
    expect(keys.state('one')).toMatchObject({ kids: ['k2'] });
  });

  it('while it can’t be read what is there stays, and the fault is told once', async () => {
    const one = publishing('one');
    const keys = world.open();
    await keys.refreshDue();
    world.isRegistryDown = true;
    clock.advance(HOUR);
    world.events.length = 0;
    for (let times = 0; times < 3; times += 1) await keys.refreshDue();
    expect(world.events).toEqual([['faulted', null, new Error('the database is away')]]);
    expect(keys.state('one')).toMatchObject({ kids: ['k1'], loadedAt: NOW });
    world.isRegistryDown = false;
    await keys.refreshDue();
    expect(keys.state('one')).toMatchObject({ kids: ['k1'], loadedAt: clock() });
    expect(await knows(keys, one, 'k1')).toBe(true);
  });
});

describe('hour by hour', () => {
  it('sets are refreshed without any request, however long nobody has asked for them', async () => {
    publishing('one');
    publishing('two');
    const keys = world.open();
    await keys.refreshDue();
    clock.advance(HOUR - 1);
    await keys.refreshDue();
    expect(server.requests).toHaveLength(2);
    for (let hour = 1; hour <= 50; hour += 1) {
      clock.set(NOW + hour * HOUR);
      world.publish('one', [`k${hour}`]);
      await keys.refreshDue();
      expect(keys.state('one')).toMatchObject({ kids: [`k${hour}`], loadedAt: clock(), stale: false });
    }
    expect(server.requests).toHaveLength(102);
  });

  it('earlier than the hour by up to a tenth', async () => {
    publishing('one');
    world.jitter = 1;
    const keys = world.open();
    await keys.refreshDue();
    clock.advance(0.9 * HOUR - 1);
    await keys.refreshDue();
    expect(server.hits('/one')).toBe(1);
    clock.advance(1);
    await keys.refreshDue();
    expect(server.hits('/one')).toBe(2);
  });

  it('at most eight at a time', async () => {
    const ids = Array.from({ length: 20 }, (_, index) => `issuer-${index}`);
    for (const id of ids) publishing(id);
    const keys = world.open();
    await keys.refreshDue();
    const held = ids.map((id) => world.hold(`/${id}`));
    clock.advance(HOUR);
    const done = keys.refreshDue();
    const arrived = () => held.filter(({ waiting }) => waiting.length > 0);
    for (let ended = 0; ended < ids.length; ended += 1) {
      await until(() => arrived().length === Math.min(ended + 8, ids.length));
      expect(keys.figures(0).queued).toBe(Math.max(0, ids.length - ended - 8));
      answer(held[ended]?.waiting[0], `issuer-${ended}`, ['k1']);
    }
    await done;
    expect(server.requests).toHaveLength(40);
  });

  it('the healthy ones first; issuers that hang again never take all places', async () => {
    const hanging = Array.from({ length: 12 }, (_, index) => `hanging-${index}`);
    for (const id of hanging) {
      world.row({ id });
      server.route(`/${id}`, (_request, response) => response.writeHead(500).end());
    }
    for (const id of ['good-1', 'good-2']) publishing(id);
    const keys = world.open();
    await keys.refreshDue();
    for (const id of hanging) world.hold(`/${id}`);
    clock.advance(HOUR);
    const before = server.requests.length;
    void keys.refreshDue();
    await until(() => ['good-1', 'good-2'].every((id) => keys.state(id)?.loadedAt === clock()));
    const asked = server.requests.slice(before).map(({ path }) => path);
    expect(asked.filter((path) => path.startsWith('/hanging')).length).toBeLessThanOrEqual(2);
    expect(asked.filter((path) => path.startsWith('/good'))).toHaveLength(2);
  });

  it('an issuer that can’t be reached is asked again after a minute, and rarely when that goes on', async () => {
    world.row({ id: 'one' });
    const keys = world.open();
    await keys.refreshDue();
    const pauses: number[] = [];
    for (let last = clock(); pauses.length < 5; ) {
      clock.advance(10);
      await keys.refreshDue();
      if (server.hits('/one') === pauses.length + 1) continue;
      pauses.push(clock() - last);
      last = clock();
    }
    expect(pauses).toEqual([60, 120, 240, 300, 300]);
    world.publish('one', ['k1']);
    clock.advance(300);
    await keys.refreshDue();
    expect(keys.state('one')).toMatchObject({ kids: ['k1'], lastError: null });
  });

  it('pasted keys that are broken are not read again before they are changed', async () => {
    world.row({ id: 'one', keySourceType: 'static_jwks', jwks: '{' });
    const keys = world.open();
    await keys.refreshDue();
    clock.advance(DAY);
    await keys.refreshDue();
    expect(keys.figures(1).issuers).toMatchObject([{ failures: 1, lastError: 'jwk_set_unusable' }]);
    world.row({
      id: 'one',
      keySourceType: 'static_jwks',
      jwks: JSON.stringify({ keys: [ecJwk('k1')] }),
      keySourceRevision: 2,
    });
    await keys.refreshDue();
    expect(keys.state('one')).toMatchObject({ kids: ['k1'], lastError: null });
  });

  it('a client’s own keys are not loaded by the background, and forgotten after a day without use', async () => {
    const client: TrustedIssuer = {
      ...world.row({ id: 'client:1', keySourceType: 'static_jwks', jwks: JSON.stringify({ keys: [ecJwk('c')] }) }),
    };
    world.rows.delete('client:1');
    const keys = world.open();
    await keys.current(client);
    clock.advance(DAY);
    await keys.refreshDue();
    expect(keys.state('client:1')).toMatchObject({ kids: ['c'] });
    expect(keys.figures(9)).toMatchObject({ usable: 0, issuers: [] });
    clock.advance(1);
    await keys.refreshDue();
    expect(keys.state('client:1')).toBeNull();
  });
});

describe('the figures', () => {
  it('count all issuers, and show those with trouble first', async () => {
    const stale = publishing('stale');
    publishing('good', { createdAt: NOW });
    world.row({ id: 'down' });
    const keys = world.open();
    await keys.refreshDue();
    server.route('/stale', (_request, response) => response.writeHead(500).end());
    clock.advance(HOUR);
    await keys.refreshDue();
    clock.advance(5);
    expect(keys.figures(2)).toEqual({
      usable: 2,
      unavailable: 1,
      stale: 1,
      failing: 2,
      sharing: 0,
      sharedKeys: 0,
      oldestAgeSeconds: HOUR + 5,
      queued: 0,
      issuers: [
        {
          id: 'stale',
          name: 'issuer stale',
          ageSeconds: HOUR + 5,
          keys: 1,
          failures: 1,
          lastError: 'unexpected_status',
          nextTrySeconds: 0,
          isShared: false,
        },
        expect.objectContaining({ id: 'down', ageSeconds: null, keys: 0, failures: 2 }),
      ],
    });
    clock.set(NOW + DAY + 1);
    expect(await keys.current(stale)).toMatchObject({ available: false, cause: 'not_loaded' });
    expect(keys.figures(0)).toMatchObject({ usable: 1, unavailable: 2 });
  });
});
