/**
 * The lookups of every token request, kept in memory for as long as the registry does not change: a decorator over the
 * ports, for any database. Writes of this process count from the next request on, those of others within a second.
 */
import type { DenyList, TrustedIssuers, WorkloadBindings } from '../assertion/ports.ts';
import type { TrustedIssuer } from '../assertion/trusted-issuer.ts';
import type { WorkloadBinding } from '../assertion/workload-binding.ts';
import type { Clock } from '../clock.ts';
import type { Client, ClientSecret } from '../issuance/client.ts';
import type { Clients } from '../issuance/ports.ts';
import type { DenyListStore } from './deny-list-store.ts';
import { LookupCache } from './lookup-cache.ts';
import { RevisionWatch } from './revision-watch.ts';

/** Per kind of lookup: twice what the largest measured installation registers. */
const MAX_ENTRIES = 20_000;

export type RegistryCacheOptions = {
  readonly trustedIssuers: TrustedIssuers;
  readonly denyList: Pick<DenyListStore, 'find' | 'hasEntries'>;
  readonly workloadBindings: WorkloadBindings;
  readonly clients: Clients;
  readonly readRevision: () => Promise<number>;
  readonly clock: Clock;
  readonly maxEntries?: number;
};

export type RegistryCache = {
  readonly trustedIssuers: TrustedIssuers;
  readonly denyList: DenyList;
  readonly workloadBindings: WorkloadBindings;
  readonly clients: Clients;
  /** Another number when what was read from the registry may no longer hold. */
  generation(): Promise<number>;
  /** Calls the listener when a new generation begins. */
  onMove(listener: () => void): void;
  /** To be told of each registry write of this process, after its commit. */
  moved(revision: number): void;
};

export function createRegistryCache(options: RegistryCacheOptions): RegistryCache {
  const { trustedIssuers, denyList, workloadBindings, clients, maxEntries = MAX_ENTRIES } = options;
  const watch = new RevisionWatch(options.readRevision, options.clock);
  const forRows = <T>() => new LookupCache<T | null>(maxEntries, (row) => row === null);
  const forLists = <T>() => new LookupCache<readonly T[]>(maxEntries, (rows) => rows.length === 0);

  const issuersByUrl = forRows<TrustedIssuer>();
  const issuersById = forRows<TrustedIssuer>();
  const denyingIssuers = new LookupCache<boolean>(maxEntries, (hasEntries) => !hasEntries);
  const bindingsBySubject = forLists<WorkloadBinding>();
  const clientsByClientId = forRows<Client>();
  const clientsById = forRows<Client>();
  const secretsByClient = forLists<ClientSecret>();

  const lookUp = async <V>(cache: LookupCache<V>, key: string, load: () => Promise<V>): Promise<V> => {
    await watch.refresh();
    const { generation } = watch;
    const kept = cache.get(key, generation);
    if (kept !== undefined) return kept.value;
    const value = await load();
    // What was read while the registry moved may be from before: good for this request, not for the next.
    if (watch.generation === generation) cache.set(key, value, generation);
    return value;
  };

  return {
    trustedIssuers: {
      findByIssuerUrl: (iss) => lookUp(issuersByUrl, iss, () => trustedIssuers.findByIssuerUrl(iss)),
      findById: (id) => lookUp(issuersById, id, () => trustedIssuers.findById(id)),
    },
    denyList: {
      // Most issuers have no entries, which is kept. Otherwise the database is asked: entries name pods, and keeping an
      // answer for each pod of a fleet would cost more than the look-up.
      async find(issuerId, members) {
        const hasEntries = await lookUp(denyingIssuers, issuerId, () => denyList.hasEntries(issuerId));
        return hasEntries ? denyList.find(issuerId, members) : [];
      },
    },
    workloadBindings: {
      findBySubject: (issuerId, subject) =>
        lookUp(bindingsBySubject, `${issuerId.length}:${issuerId}${subject}`, () =>
          workloadBindings.findBySubject(issuerId, subject),
        ),
    },
    clients: {
      findByClientId: (clientId) => lookUp(clientsByClientId, clientId, () => clients.findByClientId(clientId)),
      findById: (id) => lookUp(clientsById, id, () => clients.findById(id)),
      findSecrets: (clientRowId) => lookUp(secretsByClient, clientRowId, () => clients.findSecrets(clientRowId)),
    },
    async generation() {
      await watch.refresh();
      return watch.generation;
    },
    onMove: (listener) => watch.onMove(listener),
    moved: (revision) => watch.moved(revision),
  };
}
