import { chmodSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { type Database, type DatabaseOptions, openDatabase } from '../../src/storage/database.ts';
import { StorageError } from '../../src/storage/storage-error.ts';
import { temporaryFolder } from './temporary-folder.ts';

const folder = temporaryFolder();
const open: Database[] = [];
afterEach(() => {
  for (const database of open.splice(0)) database.close();
});
const openAt = async (path: string, options: Partial<DatabaseOptions> = {}) => {
  const database = await openDatabase({ url: `sqlite:${path}`, ...options });
  open.push(database);
  return database;
};

describe('opening a database', () => {
  it('makes its folder and its files for this user alone', async () => {
    const path = join(folder.path, 'new', 'data', 'x.db');
    await openAt(path);
    const modes = [path, `${path}-wal`, `${path}-shm`].map((file) => statSync(file).mode & 0o777);
    expect(modes).toEqual([0o600, 0o600, 0o600]);
    expect(statSync(join(folder.path, 'new', 'data')).mode & 0o777).toBe(0o700);
    expect(statSync(join(folder.path, 'new')).mode & 0o777).toBe(0o700);
  });

  it('leaves the mode of a folder that is there already as it is', async () => {
    const parent = join(folder.path, 'shared');
    mkdirSync(parent);
    chmodSync(parent, 0o755);
    await openAt(join(parent, 'x.db'));
    expect(statSync(parent).mode & 0o777).toBe(0o755);
  });

  it.each([
    ['journal_mode', 'wal'],
    ['synchronous', 2],
    ['foreign_keys', 1],
    ['busy_timeout', 200],
  ])('DBS-01: sets %s to %j', async (pragma, value) => {
    const { client } = await openAt(folder.file());
    expect(client.pragma(pragma, { simple: true })).toBe(value);
  });

  it('refuses what is no database, naming the setting and the file', async () => {
    const path = folder.file();
    writeFileSync(path, 'this is a text file, and a long one at that\n'.repeat(100));
    await expect(openAt(path)).rejects.toThrow(StorageError);
    await expect(openAt(path)).rejects.toThrow(`COUNTERSIGN_DATABASE_URL: ${path} cannot be opened`);
  });

  it('refuses a path below a file, naming the setting', async () => {
    const path = folder.file();
    writeFileSync(path, '');
    await expect(openAt(join(path, 'x.db'))).rejects.toThrow('COUNTERSIGN_DATABASE_URL: ');
  });

  it('refuses a URL that it cannot use with the sentence of the parser', async () => {
    await expect(openDatabase({ url: 'postgres://db/x' })).rejects.toThrow('not supported by this version yet');
  });
});

describe('the readiness probe', () => {
  it('passes on a database that can be written to, and leaves nothing behind', async () => {
    const { client, ping } = await openAt(folder.file());
    const before = client.serialize();
    await ping();
    await ping();
    expect(client.serialize()).toEqual(before);
    expect(client.inTransaction).toBe(false);
    expect(client.pragma('busy_timeout', { simple: true })).toBe(200);
  });

  it('DBS-03: fails on a database that can only be read', async () => {
    const { client, ping } = await openAt(folder.file());
    client.pragma('query_only = on');
    await expect(ping()).rejects.toThrow();
    client.pragma('query_only = off');
    await ping();
  });

  it('fails soon, and not only after the busy timeout, while another process holds the lock', async () => {
    const path = folder.file();
    const [database, other] = [await openAt(path), await openAt(path)];
    other.client.exec('begin immediate');
    const start = performance.now();
    await expect(database.ping()).rejects.toThrow();
    expect(performance.now() - start).toBeLessThan(3000);
    other.client.exec('rollback');
    await database.ping();
  });

  it('fails before the database is migrated, and after it was closed', async () => {
    const database = await openAt(folder.file(), { migrate: false });
    await expect(database.ping()).rejects.toThrow();
    await database.migrate();
    await database.ping();
    database.close();
    database.close();
    await expect(database.ping()).rejects.toThrow();
  });
});
