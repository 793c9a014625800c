/**
 * The registry read as a whole and rewritten in one transaction, for the declarative file: nothing is half applied,
 * and what was read still holds when it is written.
 */
import type { RegistryChanges, RegistryRows, RegistryStore } from '../registry/registry-store.ts';
import { eq } from './drizzle.ts';
import type { RegistryStoreParts } from './registry-store-parts.ts';
import { clients, denyListEntries, trustedIssuers, workloadBindings } from './schema.ts';
import { writeTransaction } from './write-transaction.ts';

export function createRegistryRewrite(
  parts: RegistryStoreParts,
): Pick<RegistryStore, 'readRows' | 'hasDeclaredRows' | 'rewrite'> {
  const { orm, client } = parts.database;
  const readRows = (): RegistryRows => ({
    clients: orm.select().from(clients).all(),
    trustedIssuers: orm.select().from(trustedIssuers).all(),
    workloadBindings: orm.select().from(workloadBindings).all(),
    denyList: orm.select().from(denyListEntries).all(),
  });
  return {
    readRows: async () => readRows(),
    hasDeclaredRows: async () =>
      [clients, trustedIssuers].some(
        (table) => orm.select({ id: table.id }).from(table).where(eq(table.managedBy, 'file')).get() !== undefined,
      ),
    async rewrite(plan) {
      const { changes, revision } = await writeTransaction(client, () => {
        const planned = plan(readRows());
        if (!planned.ok || isEmpty(planned.value)) return { changes: planned, revision: null };
        write(parts, planned.value);
        return { changes: planned, revision: parts.revision.advance() };
      });
      if (revision !== null) parts.moved(revision);
      return changes;
    },
  };
}

/**
 * Deletions first, so that what is free can be taken again; issuer strings of changed issuers are let go together, so
 * that two issuers can exchange theirs; clients and issuers before what names them.
 */
function write(parts: RegistryStoreParts, changes: RegistryChanges): void {
  const { write: client } = parts.clients;
  const { write: issuer } = parts.trustedIssuers;
  const { write: binding } = parts.workloadBindings;
  const { write: denial } = parts.denyList;
  for (const { id } of changes.denyList.deleted) denial.delete(id);
  for (const { id } of changes.workloadBindings.deleted) binding.delete(id);
  for (const { id } of changes.trustedIssuers.deleted) issuer.delete(id);
  for (const { id } of changes.clients.deleted) client.delete(id);
  for (const { from } of changes.trustedIssuers.updated) issuer.releaseUrls(from.id);
  for (const { to } of changes.clients.updated) client.update(to);
  for (const row of changes.clients.inserted) client.insert(row, []);
  for (const { to } of changes.trustedIssuers.updated) issuer.update(to);
  for (const row of changes.trustedIssuers.inserted) issuer.insert(row);
  for (const { to } of changes.workloadBindings.updated) binding.update(to);
  for (const row of changes.workloadBindings.inserted) binding.insert(row);
  for (const { to } of changes.denyList.updated) denial.update(to);
  for (const row of changes.denyList.inserted) denial.insert(row);
}

function isEmpty(changes: RegistryChanges): boolean {
  return Object.values(changes).every(
    ({ inserted, updated, deleted }) => inserted.length + updated.length + deleted.length === 0,
  );
}
