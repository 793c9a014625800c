import { randomBytes } from 'node:crypto';
import type { Clock } from '../../src/clock.ts';
import { openDatabase } from '../../src/storage/database.ts';
import { openStores } from '../../src/storage/open-stores.ts';
import { describeStores } from './conformance.ts';
import { temporaryFolder } from './temporary-folder.ts';

const folder = temporaryFolder();
const keyEncryptionKey = randomBytes(32);

const openSqlite = async (url: string, clock: Clock) =>
  openStores({ database: await openDatabase({ url }), keyEncryptionKey, clock });

describeStores('a SQLite file', (clock) => openSqlite(`sqlite:${folder.file()}`, clock));
describeStores('SQLite in memory', (clock) => openSqlite('sqlite::memory:', clock));
