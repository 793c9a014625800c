/** Every port that the database serves, over one open and migrated database: the storage's one door for `app/`. */
import type { ActiveIssuers, DenyList, ReplayStore, TrustedIssuers, WorkloadBindings } from '../assertion/ports.ts';
import type { Clock } from '../clock.ts';
import type { Clients, RevokedTokens, SigningKeyStore } from '../issuance/ports.ts';
import type { AuditLog } from '../observe/audit-log.ts';
import type { RegistryStore } from '../registry/registry-store.ts';
import { createAuditStore } from './audit-store.ts';
import { createClientStore } from './client-store.ts';
import type { Database } from './database.ts';
import { createDenyListStore } from './deny-list-store.ts';
import { createPurger } from './purge.ts';
import { createRegistryCache } from './registry-cache.ts';
import { createRegistryRevision } from './registry-revision.ts';
import { createRegistryStore } from './registry-store.ts';
import { createReplayStore } from './replay-store.ts';
import { createRevokedTokenStore } from './revoked-token-store.ts';
import { createSigningKeyStore } from './signing-key-store.ts';
import { createTrustedIssuerStore } from './trusted-issuer-store.ts';
import { createWorkloadBindingStore } from './workload-binding-store.ts';
import { WriteQueue } from './write-queue.ts';

export type Stores = {
  /** These four answer from memory while the registry stays as it is; see `registry-cache.ts` for the bounds. */
  readonly trustedIssuers: TrustedIssuers;
  readonly denyList: DenyList;
  readonly workloadBindings: WorkloadBindings;
  readonly clients: Clients;
  /** For the care of all issuers' keys: straight from the database. */
  readonly activeIssuers: ActiveIssuers;
  readonly registryStore: RegistryStore;
  readonly replayStore: ReplayStore;
  readonly revokedTokens: RevokedTokens;
  readonly signingKeys: SigningKeyStore;
  readonly auditLog: AuditLog;
  /** Rejects unless the database can be written to right now. */
  ping(): Promise<void>;
  /**
   * Deletes expired replay claims and revocations from now on, in the background. The callbacks are told of each batch
   * of claims and of faults. Answers how to stop; that resolves when no batch is under way.
   */
  startPurging(onReplayClaimsPurged?: (rows: number) => void, onFault?: (fault: unknown) => void): () => Promise<void>;
  /** Waits for the writes that are queued, then closes the database. */
  close(): Promise<void>;
};

export type StoresOptions = {
  readonly database: Database;
  /** 32 bytes that seal the signing keys' private parts. */
  readonly keyEncryptionKey: Uint8Array;
  readonly clock: Clock;
};

/** The stores over `database`, which must be migrated: their statements are prepared here, once. */
export function openStores({ database, keyEncryptionKey, clock }: StoresOptions): Stores {
  const queue = new WriteQueue(database.client);
  const trustedIssuers = createTrustedIssuerStore(database);
  const denyList = createDenyListStore(database);
  const workloadBindings = createWorkloadBindingStore(database);
  const clients = createClientStore(database);
  const revision = createRegistryRevision(database);
  const cache = createRegistryCache({
    trustedIssuers,
    denyList,
    workloadBindings,
    clients,
    readRevision: () => revision.read(),
    clock,
  });
  const replayStore = createReplayStore(database, queue);
  const revokedTokens = createRevokedTokenStore(database, queue);

  return {
    trustedIssuers: cache.trustedIssuers,
    denyList: cache.denyList,
    workloadBindings: cache.workloadBindings,
    clients: cache.clients,
    activeIssuers: {
      generation: () => cache.generation(),
      list: () => trustedIssuers.listActive(),
      findById: (id) => trustedIssuers.findById(id),
      onMove: (listener) => cache.onMove(listener),
    },
    registryStore: createRegistryStore({
      database,
      trustedIssuers,
      denyList,
      workloadBindings,
      clients,
      revision,
      moved: (current) => cache.moved(current),
    }),
    replayStore,
    revokedTokens,
    signingKeys: createSigningKeyStore(database, keyEncryptionKey),
    auditLog: createAuditStore(database, queue),
    ping: () => database.ping(),
    startPurging(onReplayClaimsPurged, onFault) {
      const purger = createPurger({
        replayStore,
        revokedTokens,
        clock,
        ...(onReplayClaimsPurged !== undefined && { onReplayClaimsPurged }),
        ...(onFault !== undefined && { onFault }),
      });
      purger.start();
      return () => purger.stop();
    },
    async close() {
      await queue.drain();
      database.close();
    },
  };
}
