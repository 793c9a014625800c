import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generateSQLiteDrizzleJson, generateSQLiteMigration } from 'drizzle-kit/api';
import { describe, expect, it } from 'vitest';
import { openDatabase } from '../../src/storage/database.ts';
import { readMigrationFiles } from '../../src/storage/migration-files.ts';
import * as schema from '../../src/storage/schema.ts';
import { startChild } from './child-process.ts';
import { temporaryFolder } from './temporary-folder.ts';

const MIGRATIONS = join(import.meta.dirname, '../../migrations');
const folder = temporaryFolder();
const released = readMigrationFiles(MIGRATIONS);
const allTags = released.map(({ tag }) => tag);

/** A copy of the migrations with one more, as the next version might bring. */
function nextVersion(name: string, sql: string): string {
  const copy = join(folder.path, name);
  cpSync(MIGRATIONS, copy, { recursive: true });
  const journalPath = join(copy, 'meta/_journal.json');
  const journal = JSON.parse(readFileSync(journalPath, 'utf8'));
  journal.entries.push({ ...journal.entries.at(-1), tag: '9999_next', when: journal.entries.at(-1).when + 1 });
  writeFileSync(journalPath, JSON.stringify(journal));
  writeFileSync(join(copy, '9999_next.sql'), sql);
  return copy;
}

describe('the migrations', () => {
  it('are what drizzle-kit generates from the schema', async () => {
    const last = String(released.length - 1).padStart(4, '0');
    const snapshot = JSON.parse(readFileSync(join(MIGRATIONS, 'meta', `${last}_snapshot.json`), 'utf8'));
    const current = await generateSQLiteDrizzleJson(schema, snapshot.id);
    expect(await generateSQLiteMigration(snapshot, current)).toEqual([]);
    expect(current.tables).toEqual(snapshot.tables);
  });

  it('bring an empty file to the schema once, and find nothing to do on it again', async () => {
    const url = `sqlite:${folder.file()}`;
    const database = await openDatabase({ url, migrate: false });
    expect(database.isMigrated()).toBe(false);
    expect(database.pendingMigrations()).toEqual(allTags);
    expect(await database.migrate()).toEqual(allTags);
    expect(database.isMigrated()).toBe(true);
    expect(await database.migrate()).toEqual([]);
    expect(database.client.pragma('foreign_keys', { simple: true })).toBe(1);
    expect(database.client.pragma('integrity_check', { simple: true })).toBe('ok');
    database.close();

    const again = await openDatabase({ url });
    expect(again.pendingMigrations()).toEqual([]);
    again.close();
  });

  it('are applied by one of two processes that migrate at the same moment, and found applied by the other', async () => {
    const url = `sqlite:${folder.file()}`;
    const gate = await openDatabase({ url, migrate: false });
    const children = [startChild('migrate-in-child.ts', url), startChild('migrate-in-child.ts', url)];
    for (const child of children) expect(await child.line()).toBe('ready');
    // Both find an empty database and wait for the lock, which neither can have before the other waits too.
    gate.client.exec('begin immediate');
    for (const child of children) child.tell('go');
    for (const child of children) expect(await child.line()).toBe('migrating');
    await new Promise((resolve) => setTimeout(resolve, 20));
    gate.client.exec('rollback');
    const answers = await Promise.all(children.map(async (child) => JSON.parse(await child.line())));
    expect(answers.map(({ isMigrated }) => isMigrated)).toEqual([true, true]);
    expect(answers.map(({ applied }) => applied.length).sort()).toEqual([0, released.length]);
    expect(await Promise.all(children.map((child) => child.exit()))).toEqual([0, 0]);
    gate.close();
  });

  it('let several processes open a file that none of them has made yet', async () => {
    const url = `sqlite:${folder.file()}`;
    const children = Array.from({ length: 4 }, () => startChild('open-in-child.ts', url));
    expect(await Promise.all(children.map((child) => child.line()))).toEqual(Array(4).fill('true'));
    expect(await Promise.all(children.map((child) => child.exit()))).toEqual([0, 0, 0, 0]);
  });

  it('refuse a database that a newer version has written, and leave it as it is', async () => {
    const url = `sqlite:${folder.file()}`;
    const newer = nextVersion('newer', 'create table from_the_future (id integer primary key)');
    (await openDatabase({ url, migrationsFolder: newer })).close();

    await expect(openDatabase({ url })).rejects.toThrow(/newer version of Countersign.*COUNTERSIGN_DATABASE_URL/);
    const database = await openDatabase({ url, migrate: false });
    expect(() => database.isMigrated()).toThrow('newer version');
    expect(database.client.prepare('select count(*) from from_the_future').pluck().get()).toBe(0);
    database.close();
  });

  it('refuse a database to which an altered file was applied', async () => {
    const url = `sqlite:${folder.file()}`;
    const altered = nextVersion('altered', 'create table t (id integer)');
    (await openDatabase({ url, migrationsFolder: altered })).close();
    writeFileSync(join(altered, '9999_next.sql'), 'create table t (id text)');
    await expect(openDatabase({ url, migrationsFolder: altered })).rejects.toThrow('migration 9999_next was applied');
  });

  it.each([
    ['a statement fails', 'create table t (id integer);--> statement-breakpoint\nselect no_such_function();'],
    ['rows are left that refer to nothing', "insert into issuer_urls (url, trusted_issuer_id) values ('u', 'none');"],
  ])('are undone together when %s', async (name, sql) => {
    const url = `sqlite:${folder.file()}`;
    await expect(openDatabase({ url, migrationsFolder: nextVersion(name, sql) })).rejects.toThrow();
    const database = await openDatabase({ url, migrate: false });
    expect(database.client.prepare('select count(*) from sqlite_schema').pluck().get()).toBe(0);
    database.close();
  });

  it('that cannot be read are named, with the mend', async () => {
    const migrationsFolder = join(folder.path, 'nowhere');
    await expect(openDatabase({ url: 'sqlite::memory:', migrationsFolder })).rejects.toThrow(
      `the migrations in ${migrationsFolder} cannot be read: install Countersign again`,
    );
  });
});
