/**
 * Brings a database to the schema of this version, under SQLite's write lock: of two processes that start at once one
 * applies the migrations and the other finds them applied. What has been applied is kept in drizzle's own table.
 */
import type { Database as SqliteClient } from 'better-sqlite3';
import { retryWhileBusy } from './busy-retry.ts';
import type { MigrationFile } from './migration-files.ts';
import { StorageError } from './storage-error.ts';

/** As in drizzle-orm's migrator, so that its tools see the same state. */
const CREATE_TABLE =
  'create table if not exists __drizzle_migrations (id serial primary key, hash text not null, created_at numeric)';

/** Each waits for the busy timeout: another process's migration may copy large tables, so two minutes in all. */
const LOCK_ATTEMPTS = 550;

/**
 * The migrations that `client` has not seen, in order. Throws a `StorageError` when it has seen one that we do not know
 * (a newer version was here) or that differs from ours: then nothing may be assumed about its tables.
 */
export function pendingMigrations(client: SqliteClient, known: readonly MigrationFile[]): readonly MigrationFile[] {
  const applied = appliedMigrations(client);
  for (const [generatedAt, hash] of applied) {
    const migration = known.find((candidate) => candidate.generatedAt === generatedAt);
    if (migration === undefined) {
      throw new StorageError(
        'the database was written by a newer version of Countersign: run that version, or set ' +
          'COUNTERSIGN_DATABASE_URL to a copy from before the upgrade',
      );
    }
    if (migration.hash !== hash) {
      throw new StorageError(
        `migration ${migration.tag} was applied to this database with other contents: restore the released file`,
      );
    }
  }
  return known.filter((migration) => !applied.has(migration.generatedAt));
}

function appliedMigrations(client: SqliteClient): ReadonlyMap<number, string> {
  const table = client.prepare("select 1 from sqlite_schema where type = 'table' and name = '__drizzle_migrations'");
  if (table.get() === undefined) return new Map();
  const rows = client
    .prepare<[], { hash: string; created_at: number }>('select hash, created_at from __drizzle_migrations')
    .all();
  return new Map(rows.map((row) => [Number(row.created_at), row.hash]));
}

/** Applies what is pending, all of it or nothing. Answers the tags that this call has applied. */
export async function migrate(client: SqliteClient, known: readonly MigrationFile[]): Promise<readonly string[]> {
  if (pendingMigrations(client, known).length === 0) return [];
  // A migration that rebuilds a table drops the old one, which would cascade; the setting is ignored in a transaction.
  client.pragma('foreign_keys = off');
  try {
    const apply = client.transaction(() => applyPending(client, known));
    return await retryWhileBusy(LOCK_ATTEMPTS, () => apply.immediate());
  } finally {
    client.pragma('foreign_keys = on');
  }
}

function applyPending(client: SqliteClient, known: readonly MigrationFile[]): readonly string[] {
  client.exec(CREATE_TABLE);
  // Read again under the lock: another process may have applied them since.
  const pending = pendingMigrations(client, known);
  const record = client.prepare('insert into __drizzle_migrations (hash, created_at) values (?, ?)');
  for (const migration of pending) {
    for (const statement of migration.statements) client.exec(statement);
    record.run(migration.hash, migration.generatedAt);
  }
  const dangling = client.pragma('foreign_key_check');
  if (Array.isArray(dangling) && dangling.length > 0) {
    throw new StorageError(`the migrations left ${dangling.length} rows that refer to nothing; nothing was changed`);
  }
  return pending.map((migration) => migration.tag);
}
