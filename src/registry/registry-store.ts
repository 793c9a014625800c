/**
 * What the registry asks of storage: rows of clients, trusted issuers, bindings and the deny list, read and written.
 * Each write is one transaction that also moves the registry's revision, so that every replica drops what it has cached.
 */
import type { DenyListEntry } from '../assertion/deny-list.ts';
import type { ManagedBy, TrustedIssuer } from '../assertion/trusted-issuer.ts';
import type { WorkloadBinding } from '../assertion/workload-binding.ts';
import type { Client, ClientSecret } from '../issuance/client.ts';
import type { Result } from '../result.ts';

/** What a unique index refused. Anything else that goes wrong is a fault and is thrown. */
export type WriteConflict = 'client_id' | 'issuer_url' | 'binding' | 'deny_list_entry';

export type WriteOutcome = { readonly written: true } | { readonly written: false; readonly conflict: WriteConflict };

export type Page = { readonly limit: number; readonly offset: number };
export type Paged<T> = { readonly rows: readonly T[]; readonly total: number };

export type TrustedIssuerFilter = { readonly serviceAccountId?: string };
export type WorkloadBindingFilter = {
  readonly trustedIssuerId?: string;
  readonly clientRowId?: string;
  readonly subject?: string;
  readonly managedBy?: ManagedBy;
};
export type DenyListEntryFilter = { readonly trustedIssuerId?: string };

/** The rows that the declarative file is held against. */
export type RegistryRows = {
  readonly clients: readonly Client[];
  readonly trustedIssuers: readonly TrustedIssuer[];
  readonly workloadBindings: readonly WorkloadBinding[];
  readonly denyList: readonly DenyListEntry[];
};

export type RowChanges<R> = {
  readonly inserted: readonly R[];
  readonly updated: readonly { readonly from: R; readonly to: R }[];
  readonly deleted: readonly R[];
};

export type RegistryChanges = {
  readonly clients: RowChanges<Client>;
  readonly trustedIssuers: RowChanges<TrustedIssuer>;
  readonly workloadBindings: RowChanges<WorkloadBinding>;
  readonly denyList: RowChanges<DenyListEntry>;
};

export type RegistryStore = {
  /**
   * Reads all rows, has `plan` say what is to change, and writes that: one transaction, so that two processes that
   * apply one file at the same time come to one result. `plan` may run twice. Nothing is written when it refuses, and
   * the registry's revision stays when there is nothing to change.
   */
  rewrite<P>(plan: (rows: RegistryRows) => Result<RegistryChanges, P>): Promise<Result<RegistryChanges, P>>;
  /** The same look without the write. */
  readRows(): Promise<RegistryRows>;
  /** Whether any client or trusted issuer is `managed_by: file`. */
  hasDeclaredRows(): Promise<boolean>;

  /** Secrets, where given, are stored with the client. */
  insertClient(client: Client, secrets: readonly ClientSecret[]): Promise<WriteOutcome>;
  updateClient(client: Client): Promise<WriteOutcome>;
  /** Deletes the client, its secrets and its bindings. False when there was none. */
  deleteClient(id: string): Promise<boolean>;
  /** Replaces the client's secrets by these (at most two). */
  replaceClientSecrets(clientRowId: string, secrets: readonly ClientSecret[]): Promise<void>;
  /** By `id` or, where no row has that id, by `client_id`. */
  findClient(idOrClientId: string): Promise<Client | null>;
  findClientSecrets(clientRowId: string): Promise<readonly ClientSecret[]>;
  /** Ordered by creation, then id. */
  listClients(page: Page): Promise<Paged<Client>>;

  /** The bindings of the short form are inserted in the same transaction. */
  insertTrustedIssuer(issuer: TrustedIssuer, bindings: readonly WorkloadBinding[]): Promise<WriteOutcome>;
  /** `replaceBindings`, where given, are the bindings to `issuer.serviceAccountId` from now on; others stay. */
  updateTrustedIssuer(issuer: TrustedIssuer, replaceBindings: readonly WorkloadBinding[] | null): Promise<WriteOutcome>;
  /** Deletes the issuer, its bindings and its deny list. False when there was none. */
  deleteTrustedIssuer(id: string): Promise<boolean>;
  findTrustedIssuer(id: string): Promise<TrustedIssuer | null>;
  /** The row of the declarative file that has this name; there names are unique. */
  findDeclaredIssuerByName(name: string): Promise<TrustedIssuer | null>;
  /** All issuer strings in use (main and additional) with the row that has them. */
  listIssuerUrls(): Promise<readonly { readonly url: string; readonly trustedIssuerId: string }[]>;
  listTrustedIssuers(page: Page, filter: TrustedIssuerFilter): Promise<Paged<TrustedIssuer>>;

  insertWorkloadBinding(binding: WorkloadBinding): Promise<WriteOutcome>;
  updateWorkloadBinding(binding: WorkloadBinding): Promise<WriteOutcome>;
  deleteWorkloadBinding(id: string): Promise<boolean>;
  findWorkloadBinding(id: string): Promise<WorkloadBinding | null>;
  listWorkloadBindings(page: Page, filter: WorkloadBindingFilter): Promise<Paged<WorkloadBinding>>;

  insertDenyListEntry(entry: DenyListEntry): Promise<WriteOutcome>;
  updateDenyListEntry(entry: DenyListEntry): Promise<WriteOutcome>;
  deleteDenyListEntry(id: string): Promise<boolean>;
  findDenyListEntry(id: string): Promise<DenyListEntry | null>;
  /** The entry that names the same of the same issuer, kept by the same side: there is at most one. */
  findDenyListEntryOf(
    named: Pick<DenyListEntry, 'trustedIssuerId' | 'member' | 'value'>,
    managedBy: ManagedBy,
  ): Promise<DenyListEntry | null>;
  /** Ordered by creation, then id. */
  listDenyListEntries(page: Page, filter: DenyListEntryFilter): Promise<Paged<DenyListEntry>>;
};
