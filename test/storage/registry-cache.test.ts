import { beforeEach, describe, expect, it } from 'vitest';
import type { DenyListEntry } from '../../src/assertion/deny-list.ts';
import type { TrustedIssuer } from '../../src/assertion/trusted-issuer.ts';
import { openDatabase } from '../../src/storage/database.ts';
import { openStores } from '../../src/storage/open-stores.ts';
import { createRegistryCache } from '../../src/storage/registry-cache.ts';
import { BINDING, CLIENT, CLUSTER, DENIAL } from '../fixtures/rows.ts';
import { type SettableClock, settableClock } from '../fixtures/settable-clock.ts';
import { temporaryFolder } from './temporary-folder.ts';

const folder = temporaryFolder();
const DISABLED: TrustedIssuer = { ...CLUSTER, isActive: false };
const { issuerUrl } = CLUSTER;

/** A registry of one issuer, in memory, whose answers can be held back; with a count of what was asked of it. */
function world() {
  const state = {
    issuer: CLUSTER as TrustedIssuer | null,
    revision: 1,
    denied: [] as DenyListEntry[],
    lookups: [] as string[],
    revisionReads: 0,
    isDown: false,
    hold: Promise.resolve(),
  };
  const look = async <T>(what: string, answer: () => T): Promise<T> => {
    state.lookups.push(what);
    const read = answer();
    await state.hold;
    return read;
  };
  const clock = settableClock();
  const cache = createRegistryCache({
    trustedIssuers: {
      findByIssuerUrl: (iss) => look(iss, () => (state.issuer?.issuerUrl === iss ? state.issuer : null)),
      findById: (id) => look(id, () => (state.issuer?.id === id ? state.issuer : null)),
    },
    denyList: {
      hasEntries: (id) => look(`entries of ${id}`, () => state.denied.length > 0 && id === CLUSTER.id),
      find: (id) => look(`denials of ${id}`, () => state.denied),
    },
    workloadBindings: {
      findBySubject: (id, subject) =>
        look(`${id} ${subject}`, () => (id === CLUSTER.id && subject === BINDING.subject ? [BINDING] : [])),
    },
    clients: {
      findByClientId: (clientId) => look(clientId, () => (clientId === CLIENT.clientId ? CLIENT : null)),
      findById: (id) => look(id, () => (id === CLIENT.id ? CLIENT : null)),
      findSecrets: (id) => look(`secrets of ${id}`, () => []),
    },
    readRevision: async () => {
      state.revisionReads += 1;
      if (state.isDown) throw new Error('the database is away');
      return state.revision;
    },
    clock,
    maxEntries: 3,
  });
  return { state, clock, cache, find: () => cache.trustedIssuers.findByIssuerUrl(issuerUrl) };
}

describe('the registry cache', () => {
  it.each([
    ['an issuer by its string', (cache: Cache) => cache.trustedIssuers.findByIssuerUrl(issuerUrl), CLUSTER],
    ['an issuer by its id', (cache: Cache) => cache.trustedIssuers.findById(CLUSTER.id), CLUSTER],
    ['bindings', (cache: Cache) => cache.workloadBindings.findBySubject(CLUSTER.id, BINDING.subject), [BINDING]],
    ['a client by its client_id', (cache: Cache) => cache.clients.findByClientId(CLIENT.clientId), CLIENT],
    ['a client by its id', (cache: Cache) => cache.clients.findById(CLIENT.id), CLIENT],
    ['an unknown issuer', (cache: Cache) => cache.trustedIssuers.findByIssuerUrl('https://unknown'), null],
    ['an unknown client', (cache: Cache) => cache.clients.findByClientId('nobody'), null],
    ['a subject without bindings', (cache: Cache) => cache.workloadBindings.findBySubject(CLUSTER.id, 'x'), []],
    ['an issuer with an empty deny list', (cache: Cache) => cache.denyList.find(CLUSTER.id, MEMBERS), []],
    ['a client without secrets', (cache: Cache) => cache.clients.findSecrets(CLIENT.id), []],
  ])('asks the store once for %s', async (_, find, expected) => {
    const { cache, state } = world();
    expect(await find(cache)).toEqual(expected);
    expect(await find(cache)).toEqual(expected);
    expect(state.lookups).toHaveLength(1);
  });

  it('ADM-03: drops what it has at the first check after a change, however often it was used meanwhile', async () => {
    const { state, clock, find } = world();
    await find();
    state.issuer = DISABLED;
    state.revision = 2;
    for (let use = 0; use < 100; use += 1) expect(await find()).toEqual(CLUSTER);
    clock.advance(1);
    expect(await find()).toEqual(DISABLED);
  });

  it('reads the revision once a second, also when many ask at once', async () => {
    const { state, clock, find } = world();
    await Promise.all(Array.from({ length: 50 }, find));
    await find();
    expect(state.revisionReads).toBe(1);
    clock.advance(1);
    await Promise.all(Array.from({ length: 50 }, find));
    expect(state.revisionReads).toBe(2);
  });

  it('checks again when the clock was set back', async () => {
    const { state, clock, find } = world();
    await find();
    state.issuer = null;
    state.revision = 2;
    clock.advance(-3600);
    expect(await find()).toBeNull();
  });

  it('takes a lower revision for a change too: the database may be a restored one', async () => {
    const { state, clock, find } = world();
    state.revision = 9;
    await find();
    state.issuer = null;
    state.revision = 3;
    clock.advance(1);
    expect(await find()).toBeNull();
  });

  it('keeps what it has while the revision stays', async () => {
    const { state, clock, find } = world();
    for (let second = 0; second < 10; second += 1) {
      await find();
      clock.advance(1);
    }
    expect(state.lookups).toHaveLength(1);
  });

  it('drops what it has as soon as it is told of a write', async () => {
    const { state, cache, find } = world();
    await find();
    state.issuer = DISABLED;
    cache.moved(2);
    expect(await find()).toEqual(DISABLED);
  });

  it('does not keep what was read while the registry moved', async () => {
    const { state, cache, find } = world();
    const held = Promise.withResolvers<void>();
    state.hold = held.promise;
    const early = find();
    while (state.lookups.length === 0) await Promise.resolve();
    state.issuer = DISABLED;
    state.hold = Promise.resolve();
    cache.moved(2);
    expect(await find()).toEqual(DISABLED);
    held.resolve();
    expect(await early).toEqual(CLUSTER);
    expect(await find()).toEqual(DISABLED);
    expect(state.lookups).toHaveLength(2);
  });

  it('finds an issuer that was unknown a moment ago once it is registered', async () => {
    const { state, cache, find } = world();
    state.issuer = null;
    expect(await find()).toBeNull();
    state.issuer = CLUSTER;
    cache.moved(2);
    expect(await find()).toEqual(CLUSTER);
  });

  it('trusts nothing that it has when the revision cannot be read, and recovers', async () => {
    const { state, clock, find } = world();
    await find();
    state.isDown = true;
    clock.advance(1);
    await expect(find()).rejects.toThrow('the database is away');
    await expect(find()).rejects.toThrow('the database is away');
    state.isDown = false;
    expect(await find()).toEqual(CLUSTER);
  });

  it('is not emptied of registered issuers by a flood of invented ones', async () => {
    const { state, cache, find } = world();
    await find();
    for (let index = 0; index < 50; index += 1) await cache.trustedIssuers.findByIssuerUrl(`https://${index}`);
    state.lookups.length = 0;
    await find();
    await cache.trustedIssuers.findByIssuerUrl('https://49');
    expect(state.lookups).toEqual([]);
    await cache.trustedIssuers.findByIssuerUrl('https://46');
    expect(state.lookups).toEqual(['https://46']);
  });

  it('keeps no invented name that is longer than any registered one', async () => {
    const { state, cache } = world();
    const long = `https://${'x'.repeat(16_000)}`;
    await cache.trustedIssuers.findByIssuerUrl(long);
    await cache.trustedIssuers.findByIssuerUrl(long);
    expect(state.lookups).toEqual([long, long]);
  });

  it('tells subjects of different issuers apart when their texts run together', async () => {
    const { state, cache } = world();
    await cache.workloadBindings.findBySubject('1', '2:ab');
    await cache.workloadBindings.findBySubject('12', ':ab');
    await cache.workloadBindings.findBySubject('12:', 'ab');
    expect(state.lookups).toHaveLength(3);
  });
});

const MEMBERS = [{ member: 'node_name', value: 'node-1' }] as const;

describe('the deny list in the registry cache', () => {
  it('is asked for each workload of an issuer that has entries, and for no other', async () => {
    const { state, cache } = world();
    state.denied = [DENIAL];
    for (let time = 0; time < 2; time += 1) {
      expect(await cache.denyList.find(CLUSTER.id, MEMBERS)).toEqual([DENIAL]);
      expect(await cache.denyList.find('issuer-2', MEMBERS)).toEqual([]);
    }
    expect(state.lookups).toEqual([
      `entries of ${CLUSTER.id}`,
      `denials of ${CLUSTER.id}`,
      'entries of issuer-2',
      `denials of ${CLUSTER.id}`,
    ]);
  });

  it('has a first entry of another process within a second', async () => {
    const { state, clock, cache } = world();
    expect(await cache.denyList.find(CLUSTER.id, MEMBERS)).toEqual([]);
    state.denied = [DENIAL];
    state.revision += 1;
    clock.advance(1);
    expect(await cache.denyList.find(CLUSTER.id, MEMBERS)).toEqual([DENIAL]);
  });

  it('lets nobody through when the revision can not be read', async () => {
    const { state, clock, cache } = world();
    await cache.denyList.find(CLUSTER.id, MEMBERS);
    state.isDown = true;
    clock.advance(1);
    await expect(cache.denyList.find(CLUSTER.id, MEMBERS)).rejects.toThrow('the database is away');
  });
});

type Cache = ReturnType<typeof world>['cache'];

describe('two replicas on one database', () => {
  const open = async (url: string, clock: SettableClock) =>
    openStores({ database: await openDatabase({ url }), keyEncryptionKey: Buffer.alloc(32), clock });
  let url: string;
  beforeEach(() => {
    url = `sqlite:${folder.file()}`;
  });

  it('ROT-09: see a change of the other within a second, and their own at once', async () => {
    const clock = settableClock();
    const [one, two] = [await open(url, clock), await open(url, clock)];
    await one.registryStore.insertTrustedIssuer(CLUSTER, []);
    expect(await one.trustedIssuers.findByIssuerUrl(issuerUrl)).toEqual(CLUSTER);
    expect(await two.trustedIssuers.findByIssuerUrl(issuerUrl)).toEqual(CLUSTER);

    const moved = { ...CLUSTER, jwks: '{"keys":[]}', keySourceRevision: 2 };
    await one.registryStore.updateTrustedIssuer(moved, null);
    expect(await one.trustedIssuers.findByIssuerUrl(issuerUrl)).toEqual(moved);
    clock.advance(1);
    expect(await two.trustedIssuers.findByIssuerUrl(issuerUrl)).toEqual(moved);
    await Promise.all([one.close(), two.close()]);
  });

  it.each<[string, (stores: Awaited<ReturnType<typeof open>>) => Promise<unknown>]>([
    ['disabled', ({ registryStore }) => registryStore.updateClient({ ...CLIENT, isActive: false })],
    ['deleted', ({ registryStore }) => registryStore.deleteClient(CLIENT.id)],
  ])('ADM-03: stop a client that the other has %s within a second of steady use', async (_, change) => {
    const clock = settableClock();
    const [one, two] = [await open(url, clock), await open(url, clock)];
    await one.registryStore.insertClient(CLIENT, []);
    const isActive = async () => (await two.clients.findByClientId(CLIENT.clientId))?.isActive === true;
    for (let second = 0; second < 5; second += 1) {
      expect(await isActive()).toBe(true);
      clock.advance(1);
    }
    await change(one);
    clock.advance(1);
    expect(await isActive()).toBe(false);
    await Promise.all([one.close(), two.close()]);
  });
});
