/**
 * The registry at rest: `RegistryStore` over the stores of its three tables. Owns the transactions: each write is one,
 * moves the registry's revision with it, and says so before it answers.
 */
import type { RegistryStore } from '../registry/registry-store.ts';
import type { ClientStore } from './client-store.ts';
import type { Database } from './database.ts';
import type { RegistryRevision } from './registry-revision.ts';
import type { TrustedIssuerStore } from './trusted-issuer-store.ts';
import { writeOutcome } from './unique-conflict.ts';
import type { WorkloadBindingStore } from './workload-binding-store.ts';
import { writeTransaction } from './write-transaction.ts';

export type RegistryStoreParts = {
  readonly database: Database;
  readonly clients: ClientStore;
  readonly trustedIssuers: TrustedIssuerStore;
  readonly workloadBindings: WorkloadBindingStore;
  readonly revision: RegistryRevision;
  /** Told the new revision after each commit. */
  readonly moved: (revision: number) => void;
};

export function createRegistryStore(parts: RegistryStoreParts): RegistryStore {
  const { database, clients, trustedIssuers, workloadBindings, revision, moved } = parts;

  const transaction = async <T>(work: () => T): Promise<T> => {
    const committed = await writeTransaction(database.client, () => ({ answer: work(), revision: revision.advance() }));
    moved(committed.revision);
    return committed.answer;
  };

  return {
    insertClient: (client, secrets) => writeOutcome(transaction(() => clients.write.insert(client, secrets))),
    updateClient: (client) => writeOutcome(transaction(() => clients.write.update(client))),
    deleteClient: (id) => transaction(() => clients.write.delete(id)),
    replaceClientSecrets: (clientRowId, secrets) =>
      transaction(() => clients.write.replaceSecrets(clientRowId, secrets)),
    findClient: async (idOrClientId) =>
      (await clients.findById(idOrClientId)) ?? (await clients.findByClientId(idOrClientId)),
    findClientSecrets: (clientRowId) => clients.findSecrets(clientRowId),
    listClients: (page) => clients.list(page),

    insertTrustedIssuer: (issuer, bindings) =>
      writeOutcome(
        transaction(() => {
          trustedIssuers.write.insert(issuer);
          for (const binding of bindings) workloadBindings.write.insert(binding);
        }),
      ),
    updateTrustedIssuer: (issuer, replaceBindings) =>
      writeOutcome(
        transaction(() => {
          trustedIssuers.write.update(issuer);
          if (replaceBindings === null) return;
          if (issuer.serviceAccountId !== null) {
            workloadBindings.write.deleteBetween(issuer.id, issuer.serviceAccountId);
          }
          for (const binding of replaceBindings) workloadBindings.write.insert(binding);
        }),
      ),
    deleteTrustedIssuer: (id) => transaction(() => trustedIssuers.write.delete(id)),
    findTrustedIssuer: (id) => trustedIssuers.findById(id),
    listIssuerUrls: () => trustedIssuers.listUrls(),
    listTrustedIssuers: (page, filter) => trustedIssuers.list(page, filter),

    insertWorkloadBinding: (binding) => writeOutcome(transaction(() => workloadBindings.write.insert(binding))),
    updateWorkloadBinding: (binding) => writeOutcome(transaction(() => workloadBindings.write.update(binding))),
    deleteWorkloadBinding: (id) => transaction(() => workloadBindings.write.delete(id)),
    findWorkloadBinding: (id) => workloadBindings.findById(id),
    listWorkloadBindings: (page, filter) => workloadBindings.list(page, filter),
  };
}
