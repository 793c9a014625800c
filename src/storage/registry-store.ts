/**
 * The registry at rest: `RegistryStore` over the stores of its four tables. Owns the transactions: each write is one,
 * moves the registry's revision with it, and says so before it answers.
 */
import type { RegistryStore } from '../registry/registry-store.ts';
import { createRegistryRewrite } from './registry-rewrite.ts';
import type { RegistryStoreParts } from './registry-store-parts.ts';
import { writeOutcome } from './unique-conflict.ts';
import { writeTransaction } from './write-transaction.ts';

export function createRegistryStore(parts: RegistryStoreParts): RegistryStore {
  const { database, clients, trustedIssuers, denyList, workloadBindings, revision, moved } = parts;

  const transaction = async <T>(work: () => T): Promise<T> => {
    const committed = await writeTransaction(database.client, () => ({ answer: work(), revision: revision.advance() }));
    moved(committed.revision);
    return committed.answer;
  };

  return {
    ...createRegistryRewrite(parts),

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
    findDeclaredIssuerByName: (name) => trustedIssuers.findDeclaredByName(name),
    listIssuerUrls: () => trustedIssuers.listUrls(),
    listTrustedIssuers: (page, filter) => trustedIssuers.list(page, filter),

    insertWorkloadBinding: (binding) => writeOutcome(transaction(() => workloadBindings.write.insert(binding))),
    updateWorkloadBinding: (binding) => writeOutcome(transaction(() => workloadBindings.write.update(binding))),
    deleteWorkloadBinding: (id) => transaction(() => workloadBindings.write.delete(id)),
    findWorkloadBinding: (id) => workloadBindings.findById(id),
    listWorkloadBindings: (page, filter) => workloadBindings.list(page, filter),

    insertDenyListEntry: (entry) => writeOutcome(transaction(() => denyList.write.insert(entry))),
    updateDenyListEntry: (entry) => writeOutcome(transaction(() => denyList.write.update(entry))),
    deleteDenyListEntry: (id) => transaction(() => denyList.write.delete(id)),
    findDenyListEntry: (id) => denyList.findById(id),
    findDenyListEntryOf: async ({ trustedIssuerId, member, value }, managedBy) => {
      const entries = await denyList.find(trustedIssuerId, [{ member, value }]);
      return entries.find((entry) => entry.managedBy === managedBy) ?? null;
    },
    listDenyListEntries: (page, filter) => denyList.list(page, filter),
  };
}
