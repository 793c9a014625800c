/** Opens the database and everything that lives in it, with the key-encryption key that its signing keys are sealed by. */
import { randomBytes } from 'node:crypto';
import { dirname, join } from 'node:path';
import type { Clock } from '../clock.ts';
import type { Config } from '../config.ts';
import { decodeKey, readOrMakeSecretFile, readSecretFile } from '../secret-file.ts';
import { openDatabase } from '../storage/database.ts';
import { openStores, type Stores } from '../storage/open-stores.ts';

export type AppStores = Stores & AsyncDisposable;

/** Folder of the SQLite database, where the server keeps what it makes for itself; null for one in memory. */
export function dataFolder({ databaseUrl }: Config): string | null {
  const path = databaseUrl.replace(/^sqlite:/, '');
  return path === ':memory:' ? null : dirname(path);
}

/** The stores of a configuration, migrated. Disposing them closes the database. */
export async function openAppStores(config: Config, clock: Clock): Promise<AppStores> {
  const keyEncryptionKey = await readKeyEncryptionKey(config);
  const database = await openDatabase({ url: config.databaseUrl });
  const stores = openStores({ database, keyEncryptionKey, clock });
  return {
    ...stores,
    [Symbol.asyncDispose]: () => stores.close(),
  };
}

/** What `serve` would find in the database, without changing anything in it. Rejects when it could not start. */
export async function inspectDatabase(config: Config): Promise<{ readonly pendingMigrations: readonly string[] }> {
  if (config.keyFile !== null) decodeKey(await readSecretFile(config.keyFile), config.keyFile);
  const database = await openDatabase({ url: config.databaseUrl, migrate: false });
  try {
    const pendingMigrations = database.pendingMigrations();
    if (pendingMigrations.length === 0) await database.ping();
    return { pendingMigrations };
  } finally {
    database.close();
  }
}

async function readKeyEncryptionKey(config: Config): Promise<Buffer> {
  if (config.keyFile !== null) return decodeKey(await readSecretFile(config.keyFile), config.keyFile);
  const folder = dataFolder(config);
  if (folder === null) return randomBytes(32);
  const path = join(folder, 'key-encryption-key');
  const { text } = await readOrMakeSecretFile(path);
  return decodeKey(text, path);
}
