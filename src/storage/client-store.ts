/** Clients and their secrets at rest. Rows are `Client` and `ClientSecret` as they are: the columns do the parsing. */
import type { Client, ClientSecret } from '../issuance/client.ts';
import type { Clients } from '../issuance/ports.ts';
import type { Page, Paged } from '../registry/registry-store.ts';
import type { Database } from './database.ts';
import { asc, count, eq, sql } from './drizzle.ts';
import { clientSecrets, clients } from './schema.ts';
import { StorageError } from './storage-error.ts';
import { orConflict } from './unique-conflict.ts';

export type ClientStore = Clients & {
  list(page: Page): Promise<Paged<Client>>;
  /** Statements for inside a write transaction. */
  readonly write: {
    insert(client: Client, secrets: readonly ClientSecret[]): void;
    update(client: Client): void;
    /** With its secrets and bindings, which the foreign keys take along. */
    delete(id: string): boolean;
    replaceSecrets(clientRowId: string, secrets: readonly ClientSecret[]): void;
  };
};

export function createClientStore({ orm }: Database): ClientStore {
  const byClientId = orm
    .select()
    .from(clients)
    .where(eq(clients.clientId, sql.placeholder('clientId')))
    .prepare();
  const byId = orm
    .select()
    .from(clients)
    .where(eq(clients.id, sql.placeholder('id')))
    .prepare();
  const secretsOf = orm
    .select()
    .from(clientSecrets)
    .where(eq(clientSecrets.clientRowId, sql.placeholder('clientRowId')))
    .orderBy(asc(clientSecrets.createdAt), asc(clientSecrets.id))
    .prepare();
  const insertSecrets = (secrets: readonly ClientSecret[]) => {
    if (secrets.length > 0)
      orm
        .insert(clientSecrets)
        .values([...secrets])
        .run();
  };

  return {
    findByClientId: async (clientId) => (clientId.isWellFormed() ? (byClientId.get({ clientId }) ?? null) : null),
    findById: async (id) => byId.get({ id }) ?? null,
    findSecrets: async (clientRowId) => secretsOf.all({ clientRowId }),
    async list({ limit, offset }) {
      const rows = orm
        .select()
        .from(clients)
        .orderBy(asc(clients.createdAt), asc(clients.id))
        .limit(limit)
        .offset(offset)
        .all();
      return { rows, total: orm.select({ total: count() }).from(clients).get()?.total ?? 0 };
    },
    write: {
      insert(client, secrets) {
        orConflict('client_id', 'SQLITE_CONSTRAINT_UNIQUE', () => orm.insert(clients).values(client).run());
        insertSecrets(secrets);
      },
      update(client) {
        const { changes } = orConflict('client_id', 'SQLITE_CONSTRAINT_UNIQUE', () =>
          orm.update(clients).set(client).where(eq(clients.id, client.id)).run(),
        );
        if (changes === 0) throw new StorageError('the client was deleted meanwhile');
      },
      delete: (id) => orm.delete(clients).where(eq(clients.id, id)).run().changes === 1,
      replaceSecrets(clientRowId, secrets) {
        orm.delete(clientSecrets).where(eq(clientSecrets.clientRowId, clientRowId)).run();
        insertSecrets(secrets);
      },
    },
  };
}
