/**
 * The one door to drizzle-orm, by its CommonJS build: its ES modules cost every start 0.4 s and 220 MB, since Node
 * reads the package's large `package.json` anew for each of several hundred files.
 */
import { createRequire } from 'node:module';

// drizzle-kit runs the schema as CommonJS, where there is no `import.meta`.
const load = createRequire(import.meta.url ?? `${process.cwd()}/`);

const orm: typeof import('drizzle-orm') = load('drizzle-orm');
const sqliteCore: typeof import('drizzle-orm/sqlite-core') = load('drizzle-orm/sqlite-core');
const betterSqlite3: typeof import('drizzle-orm/better-sqlite3') = load('drizzle-orm/better-sqlite3');

export const { and, asc, count, desc, eq, getTableColumns, gt, gte, isNull, lt, lte, or, sql } = orm;
export const { check, customType, index, integer, sqliteTable, text, uniqueIndex } = sqliteCore;
export const { drizzle } = betterSqlite3;
export type { SQL } from 'drizzle-orm';
export type { BetterSQLite3Database } from 'drizzle-orm/better-sqlite3';
export type { SQLiteTable } from 'drizzle-orm/sqlite-core';
