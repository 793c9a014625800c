/**
 * What the registry asks of storage: rows of clients, trusted issuers and bindings, read and written. Each write is
 * one transaction that also moves the registry's revision, so that every replica drops what it has cached.
 */
import type { TrustedIssuer } from '../assertion/trusted-issuer.ts';
import type { WorkloadBinding } from '../assertion/workload-binding.ts';
import type { Client, ClientSecret } from '../issuance/client.ts';

/** What a unique index refused. Anything else that goes wrong is a fault and is thrown. */
export type WriteConflict = 'client_id' | 'issuer_url' | 'binding';

export type WriteOutcome = { readonly written: true } | { readonly written: false; readonly conflict: WriteConflict };

export type Page = { readonly limit: number; readonly offset: number };
export type Paged<T> = { readonly rows: readonly T[]; readonly total: number };

export type TrustedIssuerFilter = { readonly serviceAccountId?: string };
export type WorkloadBindingFilter = {
  readonly trustedIssuerId?: string;
  readonly clientRowId?: string;
  readonly subject?: string;
};

export type RegistryStore = {
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
  /** Deletes the issuer and its bindings. False when there was none. */
  deleteTrustedIssuer(id: string): Promise<boolean>;
  findTrustedIssuer(id: string): Promise<TrustedIssuer | null>;
  /** All issuer strings in use (main and additional) with the row that has them. */
  listIssuerUrls(): Promise<readonly { readonly url: string; readonly trustedIssuerId: string }[]>;
  listTrustedIssuers(page: Page, filter: TrustedIssuerFilter): Promise<Paged<TrustedIssuer>>;

  insertWorkloadBinding(binding: WorkloadBinding): Promise<WriteOutcome>;
  updateWorkloadBinding(binding: WorkloadBinding): Promise<WriteOutcome>;
  deleteWorkloadBinding(id: string): Promise<boolean>;
  findWorkloadBinding(id: string): Promise<WorkloadBinding | null>;
  listWorkloadBindings(page: Page, filter: WorkloadBindingFilter): Promise<Paged<WorkloadBinding>>;
};
