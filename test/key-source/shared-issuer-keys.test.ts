/** One signing key in the sets of several issuers: all of them are closed, until the key is only one's again. */
import { calculateJwkThumbprint } from 'jose';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { TrustedIssuer } from '../../src/assertion/trusted-issuer.ts';
import type { CachedIssuerKeys } from '../../src/key-source/issuer-keys.ts';
import type { IssuerServer } from '../fixtures/issuer-server.ts';
import { NOW, type SettableClock } from '../fixtures/settable-clock.ts';
import { type IssuerWorld, startIssuerWorld, until } from './issuer-world.ts';
import { ecJwk } from './public-jwk.ts';

const HOUR = 3600;
const DAY = 24 * HOUR;
const SHARED = ecJwk('shared');

let world: IssuerWorld;
let server: IssuerServer;
let clock: SettableClock;
let keys: CachedIssuerKeys;
let thumbprint: string;

beforeEach(async () => {
  world = await startIssuerWorld();
  ({ server, clock } = world);
  keys = world.open();
  thumbprint = await calculateJwkThumbprint(SHARED);
});
afterEach(() => world.close());

/** A stored issuer that publishes the shared key, and one of its own. */
function sharing(id: string, change: Partial<TrustedIssuer> = {}): TrustedIssuer {
  server.json(`/${id}`, { keys: [ecJwk(`own of ${id}`), { ...SHARED, kid: `as ${id} calls it` }] });
  return world.row({ id, ...change });
}

const pasted = (id: string, change: Partial<TrustedIssuer> = {}) =>
  world.row({ id, keySourceType: 'static_jwks', jwks: JSON.stringify({ keys: [SHARED] }), ...change });

const isAvailable = async (issuer: TrustedIssuer) => (await keys.current(issuer)).available;
const sharedEvents = () => world.events.filter(([name]) => name === 'keyShared');

describe('a key that two issuers publish', () => {
  it.each([
    ['A', 'B'],
    ['B', 'A'],
  ])('closes both, with %s loaded first and then %s', async (first, second) => {
    const one = sharing(first);
    const two = sharing(second);
    expect(await isAvailable(one)).toBe(true);
    for (const [asked, other] of [
      [two, one],
      [one, two],
    ] as const) {
      expect(await keys.current(asked)).toEqual({
        available: false,
        cause: 'key_shared',
        detail: `signing key ${thumbprint} is published by several trusted issuers: "issuer ${asked.id}" (${asked.id}), "issuer ${other.id}" (${other.id})`,
        retryAfterSeconds: 60,
      });
      // An unknown kid is no way around it.
      expect(await keys.refetch(asked)).toMatchObject({ available: false, cause: 'key_shared' });
      expect(keys.state(asked.id)?.sharedKeys).toEqual([
        { thumbprint, otherIssuers: [{ id: other.id, name: `issuer ${other.id}` }] },
      ]);
    }
    expect(sharedEvents()).toEqual([['keyShared', first, second]]);
    expect(keys.figures(9)).toMatchObject({
      sharing: 2,
      sharedKeys: 1,
      issuers: [{ isShared: true }, { isShared: true }],
    });
  });

  it('closes both when one of them has it pasted, and nobody has asked for either yet', async () => {
    const [fetched, static_] = [sharing('A'), pasted('B')];
    await keys.refreshDue();
    expect(await Promise.all([fetched, static_].map(isAvailable))).toEqual([false, false]);
  });

  it('closes all three that have it, and the last one is free again', async () => {
    const [a, b, c] = [sharing('A'), sharing('B'), pasted('C')];
    await keys.refreshDue();
    expect(await Promise.all([a, b, c].map(isAvailable))).toEqual([false, false, false]);
    world.rows.delete('A');
    expect(await Promise.all([b, c].map(isAvailable))).toEqual([false, false]);
    world.rows.delete('C');
    expect(await isAvailable(b)).toBe(true);
  });

  it('names five issuers at most', async () => {
    const fleet = Array.from({ length: 20 }, (_, index) => pasted(`clone-${index}`));
    await keys.refreshDue();
    const lookup = await keys.current(fleet[19] ?? pasted('none'));
    expect(lookup).toMatchObject({
      available: false,
      detail: expect.stringMatching(
        /: "issuer clone-19" \(clone-19\)(, "issuer clone-\d+" \(clone-\d+\)){4} and 15 more$/,
      ),
    });
  });

  it('is one key, whatever kid and order of members each of them gives it', async () => {
    const { kty, crv, x, y } = SHARED;
    const a = pasted('A', { jwks: JSON.stringify({ keys: [{ y, x, use: 'sig', crv, kty, alg: 'ES256' }] }) });
    const b = pasted('B', { jwks: JSON.stringify({ keys: [{ kid: 'b', kty, crv, x, y }] }) });
    await keys.refreshDue();
    expect(await Promise.all([a, b].map(isAvailable))).toEqual([false, false]);
  });

  it('is no matter within one issuer: a recipe that lists its key twice goes on working', async () => {
    const a = pasted('A', {
      jwks: JSON.stringify({ keys: [SHARED, { ...SHARED, kid: '' }, { ...SHARED, kid: '2' }] }),
    });
    await keys.refreshDue();
    expect(await isAvailable(a)).toBe(true);
    expect(sharedEvents()).toEqual([]);
  });
});

describe('both are open again', () => {
  let a: TrustedIssuer;
  let b: TrustedIssuer;
  beforeEach(async () => {
    a = sharing('A');
    b = sharing('B');
    await keys.refreshDue();
    expect(await Promise.all([a, b].map(isAvailable))).toEqual([false, false]);
    world.events.length = 0;
  });

  it('when one has dropped the key, which is noticed within a minute, though sets are good for an hour', async () => {
    server.json('/B', { keys: [ecJwk('new key of B')] });
    clock.advance(59);
    await keys.refreshDue();
    expect(await Promise.all([a, b].map(isAvailable))).toEqual([false, false]);
    clock.advance(1);
    await keys.refreshDue();
    expect(await Promise.all([a, b].map(isAvailable))).toEqual([true, true]);
    expect(sharedEvents()).toEqual([['keyShared', 'A']]);
    expect(keys.figures(0)).toMatchObject({ sharing: 0, sharedKeys: 0 });
    // From here on the hour counts again.
    const asked = server.requests.length;
    clock.advance(HOUR - 1);
    await keys.refreshDue();
    expect(server.requests).toHaveLength(asked);
  });

  it('when a request after that minute makes us look', async () => {
    server.json('/B', { keys: [ecJwk('new key of B')] });
    clock.advance(60);
    expect(await isAvailable(b)).toBe(false);
    await until(() => keys.state('B')?.loadedAt === clock());
    expect(await Promise.all([a, b].map(isAvailable))).toEqual([true, true]);
  });

  it.each<[string, () => void]>([
    ['disabled', () => world.row({ id: 'B', isActive: false })],
    ['deleted', () => world.rows.delete('B')],
    ['given another key source', () => world.row({ id: 'B', keySourceRevision: 2, jwksUrl: `${server.origin}/else` })],
  ])('at the next request when one is %s', async (_what, change) => {
    change();
    expect(await isAvailable(a)).toBe(true);
    expect(sharedEvents()).toEqual([['keyShared', 'A']]);
  });

  it('and closed again when it is enabled again', async () => {
    world.row({ id: 'B', isActive: false });
    await keys.refreshDue();
    expect(await isAvailable(a)).toBe(true);
    world.row({ id: 'B' });
    await keys.refreshDue();
    expect(await Promise.all([a, b].map(isAvailable))).toEqual([false, false]);
    expect(sharedEvents()).toEqual([
      ['keyShared', 'A'],
      ['keyShared', 'A', 'B'],
    ]);
  });

  it('when one can’t be reached for a day: a set that nobody may use is no current one, until it is loaded again', async () => {
    server.route('/B', (_request, response) => response.destroy());
    clock.set(NOW + DAY);
    await keys.refreshDue();
    expect(await Promise.all([a, b].map(isAvailable))).toEqual([false, false]);
    clock.set(NOW + DAY + 1);
    expect(await isAvailable(a)).toBe(true);
    expect(await keys.current(b)).toMatchObject({ available: false, cause: 'not_loaded' });
    sharing('B');
    clock.advance(300);
    await keys.refreshDue();
    expect(await Promise.all([a, b].map(isAvailable))).toEqual([false, false]);
  });
});

describe('a client’s own key (private_key_jwt)', () => {
  const clientRow = (id: string) => {
    const row = pasted(`client:${id}`);
    world.rows.delete(row.id);
    return row;
  };

  it.each([
    ['the client', true],
    ['the issuer', false],
  ])(
    'that an issuer publishes closes the client and not the issuer, with %s loaded first',
    async (_who, isClientFirst) => {
      const client = clientRow('1');
      const issuer = sharing('A');
      for (const row of isClientFirst ? [client, issuer] : [issuer, client]) await keys.current(row);
      expect(await keys.current(client)).toMatchObject({
        available: false,
        cause: 'key_shared',
        detail: expect.stringContaining('"issuer A" (A)'),
      });
      expect(await isAvailable(issuer)).toBe(true);
      world.row({ id: 'A', isActive: false });
      expect(await isAvailable(client)).toBe(true);
    },
  );

  it('may be that of two clients: each of them was given it by an admin, and speaks for itself alone', async () => {
    const [one, two] = [clientRow('1'), clientRow('2')];
    expect(await Promise.all([one, two].map(isAvailable))).toEqual([true, true]);
    expect(await isAvailable(one)).toBe(true);
  });
});
