/** What the registry at rest is made of: the stores of its four tables, over one database and one revision. */
import type { ClientStore } from './client-store.ts';
import type { Database } from './database.ts';
import type { DenyListStore } from './deny-list-store.ts';
import type { RegistryRevision } from './registry-revision.ts';
import type { TrustedIssuerStore } from './trusted-issuer-store.ts';
import type { WorkloadBindingStore } from './workload-binding-store.ts';

export type RegistryStoreParts = {
  readonly database: Database;
  readonly clients: ClientStore;
  readonly trustedIssuers: TrustedIssuerStore;
  readonly denyList: DenyListStore;
  readonly workloadBindings: WorkloadBindingStore;
  readonly revision: RegistryRevision;
  /** Told the new revision after each commit. */
  readonly moved: (revision: number) => void;
};
