/**
 * One SQLite database: opened with the settings that the stores rely on, migrated, probed and closed. Knows no table
 * but the one that the readiness probe touches.
 */
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import SqliteDatabase from 'better-sqlite3';
import { retryWhileBusy } from './busy-retry.ts';
import { parseDatabaseUrl } from './database-url.ts';
import { type BetterSQLite3Database, drizzle } from './drizzle.ts';
import { migrate, pendingMigrations } from './migrate.ts';
import { readMigrationFiles } from './migration-files.ts';
import { StorageError } from './storage-error.ts';

export type Database = {
  readonly client: SqliteDatabase.Database;
  readonly orm: BetterSQLite3Database;
  /** Applies pending migrations under a lock; answers the tags that this call has applied. */
  migrate(): Promise<readonly string[]>;
  /** Tags of the migrations that are still to be applied. Throws where the database is newer than this version. */
  pendingMigrations(): readonly string[];
  isMigrated(): boolean;
  /** Rejects unless the database can be written to right now. Leaves nothing behind. */
  ping(): Promise<void>;
  /** Idempotent. Writes that wait in a queue must have been drained. */
  close(): void;
};

export type DatabaseOptions = {
  /** `sqlite:PATH` or `sqlite::memory:`. */
  readonly url: string;
  /** Where `drizzle-kit generate` writes; the package's own by default. */
  readonly migrationsFolder?: string;
  /** False: opens it as it is, for a look at what is pending. */
  readonly migrate?: boolean;
  /** How long a write waits for another process's lock. */
  readonly busyTimeoutMilliseconds?: number;
};

const MIGRATIONS_FOLDER = fileURLToPath(new URL('../../migrations', import.meta.url));
/** One attempt's wait for another process's lock. It stops the event loop, liveness included: many short ones instead. */
const BUSY_TIMEOUT_MILLISECONDS = 200;
/** A readiness probe must answer while another process writes, not wait with every request behind it. */
const PING_BUSY_TIMEOUT_MILLISECONDS = 250;
/** Negative: in KiB. The hot ends of the audit and replay indexes stay in memory at a million rows. */
const CACHE_SIZE = -32_768;
const WAL_ATTEMPTS = 250;

/**
 * Opens the database, making its folder (mode 0700) and file (0600) where they are missing, and migrates it.
 * Rejects with a `StorageError` that names the setting.
 */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const location = parseDatabaseUrl(options.url);
  if (!location.ok) throw new StorageError(location.error);
  const path = location.value.kind === 'memory' ? ':memory:' : location.value.path;
  const busyTimeout = options.busyTimeoutMilliseconds ?? BUSY_TIMEOUT_MILLISECONDS;

  let client: SqliteDatabase.Database;
  try {
    if (location.value.kind === 'file') createPrivateFile(path);
    client = await openClient(path, busyTimeout);
  } catch (cause) {
    const detail = cause instanceof Error ? cause.message : String(cause);
    throw new StorageError(
      `COUNTERSIGN_DATABASE_URL: ${path} cannot be opened (${detail}); name a SQLite file that this user may write`,
      { cause },
    );
  }

  const migrationFiles = () => readMigrationFiles(options.migrationsFolder ?? MIGRATIONS_FOLDER);
  const pendingTags = () => pendingMigrations(client, migrationFiles()).map((migration) => migration.tag);
  const database: Database = {
    client,
    orm: drizzle(client),
    migrate: () => migrate(client, migrationFiles()),
    pendingMigrations: pendingTags,
    isMigrated: () => pendingTags().length === 0,
    async ping() {
      ping(client, busyTimeout);
    },
    close: () => void client.close(),
  };
  try {
    if (options.migrate !== false) await database.migrate();
    return database;
  } catch (fault) {
    database.close();
    throw fault;
  }
}

/** SQLite gives its `-wal` and `-shm` files the mode of the database file. */
function createPrivateFile(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  closeSync(openSync(path, 'a', 0o600));
}

async function openClient(path: string, busyTimeout: number): Promise<SqliteDatabase.Database> {
  const client = new SqliteDatabase(path, { timeout: busyTimeout });
  try {
    await enterWalMode(client);
    // A power cut must not bring a used assertion or a withdrawn trust back to life.
    client.pragma('synchronous = full');
    client.pragma('foreign_keys = on');
    client.pragma(`cache_size = ${CACHE_SIZE}`);
    return client;
  } catch (fault) {
    client.close();
    throw fault;
  }
}

async function enterWalMode(client: SqliteDatabase.Database): Promise<void> {
  // Needs the file for itself for a moment, and SQLite does not wait for it: processes that start together collide.
  const mode = await retryWhileBusy(WAL_ATTEMPTS, () => client.pragma('journal_mode = wal', { simple: true }));
  if (mode !== 'wal' && mode !== 'memory') throw new Error(`its file system has no write-ahead log, only "${mode}"`);
}

function ping(client: SqliteDatabase.Database, busyTimeout: number): void {
  client.pragma(`busy_timeout = ${PING_BUSY_TIMEOUT_MILLISECONDS}`);
  try {
    client.exec('begin immediate');
    client.exec('insert into registry_revision (id, revision) values (0, 0)');
  } finally {
    if (client.inTransaction) client.exec('rollback');
    client.pragma(`busy_timeout = ${busyTimeout}`);
  }
}
