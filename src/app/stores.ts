/** Opens the database and everything that lives in it, with the key-encryption key that its signing keys are sealed by. */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Clock } from '../clock.ts';
import type { Config } from '../config.ts';
import type { RegistryRows } from '../registry/registry-store.ts';
import { decodeKey, readOrMakeSecretFile, readSecretFile } from '../secret-file.ts';
import { openDatabase } from '../storage/database.ts';
import { openStores, type Stores } from '../storage/open-stores.ts';

export type AppStores = Stores & AsyncDisposable;

/** The SQLite file; null for a database in memory. */
function databaseFile({ databaseUrl }: Config): string | null {
  const path = databaseUrl.replace(/^sqlite:/, '');
  return path === ':memory:' ? null : path;
}

/** Folder of the SQLite database, where the server keeps what it makes for itself; null for one in memory. */
export function dataFolder(config: Config): string | null {
  const file = databaseFile(config);
  return file === null ? null : dirname(file);
}

/** The file of the key-encryption key, given or made; null for a database in memory, which needs none. */
export function keyEncryptionKeyFile(config: Config): string | null {
  const folder = dataFolder(config);
  return config.keyFile ?? (folder === null ? null : join(folder, 'key-encryption-key'));
}

/** The stores of a configuration, migrated. Disposing them closes the database. */
export async function openAppStores(config: Config, clock: Clock): Promise<AppStores> {
  const keyEncryptionKey = await readOrMakeKey(config);
  const database = await openDatabase({ url: config.databaseUrl });
  const stores = openStores({ database, keyEncryptionKey, clock });
  return {
    ...stores,
    [Symbol.asyncDispose]: () => stores.close(),
  };
}

export type DatabaseInspection =
  | { readonly state: 'absent' }
  | { readonly state: 'present'; readonly pendingMigrations: readonly string[] };

/** What `serve` would find, without making or changing anything. Rejects when it could not start. */
export async function inspectDatabase(config: Config, clock: Clock): Promise<DatabaseInspection> {
  const keyFile = keyEncryptionKeyFile(config);
  const isKeyThere = config.keyFile !== null || (keyFile !== null && existsSync(keyFile));
  const keyEncryptionKey = isKeyThere && keyFile !== null ? await readKey(keyFile) : null;
  const file = databaseFile(config);
  if (file === null || !existsSync(file)) return { state: 'absent' };
  const database = await openDatabase({ url: config.databaseUrl, migrate: false });
  try {
    const pendingMigrations = database.pendingMigrations();
    if (pendingMigrations.length === 0) {
      await database.ping();
      // Opens what is sealed: with another key the server would not start.
      if (keyEncryptionKey !== null) await openStores({ database, keyEncryptionKey, clock }).signingKeys.list(clock());
    }
    return { state: 'present', pendingMigrations };
  } finally {
    database.close();
  }
}

/** The registry of a database that is there and migrated; changes nothing. */
export async function readRegistryRows(config: Config, clock: Clock): Promise<RegistryRows> {
  const database = await openDatabase({ url: config.databaseUrl, migrate: false });
  try {
    // Nothing that is sealed is read.
    return await openStores({ database, keyEncryptionKey: randomBytes(32), clock }).registryStore.readRows();
  } finally {
    database.close();
  }
}

async function readOrMakeKey(config: Config): Promise<Buffer> {
  const file = keyEncryptionKeyFile(config);
  if (file === null) return randomBytes(32);
  if (config.keyFile === null) await readOrMakeSecretFile(file);
  return readKey(file);
}

async function readKey(file: string): Promise<Buffer> {
  const name = `COUNTERSIGN_KEY_FILE ${file}`;
  return decodeKey(await readSecretFile(file, name), name);
}
