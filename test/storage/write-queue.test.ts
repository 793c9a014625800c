import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Database, openDatabase } from '../../src/storage/database.ts';
import { sqliteCode } from '../../src/storage/storage-error.ts';
import { WriteQueue } from '../../src/storage/write-queue.ts';
import { temporaryFolder } from './temporary-folder.ts';

const folder = temporaryFolder();
const BUSY_TIMEOUT = 40;
let database: Database;
let other: Database;
let commits = 0;

beforeEach(async () => {
  const url = `sqlite:${folder.file()}`;
  database = await openDatabase({ url, busyTimeoutMilliseconds: BUSY_TIMEOUT });
  other = await openDatabase({ url, busyTimeoutMilliseconds: BUSY_TIMEOUT });
  database.client.exec('create table things (id integer primary key, word text not null unique)');
  commits = 0;
  const { client } = database;
  const transaction = client.transaction.bind(client);
  client.transaction = (work) => {
    commits += 1;
    return transaction(work);
  };
});
afterEach(() => {
  database.close();
  other.close();
});

const insert = (word: string | null) => () =>
  Number(database.client.prepare('insert into things (word) values (?)').run(word).lastInsertRowid);
const words = () => other.client.prepare('select word from things order by id').pluck().all();

describe('the write queue', () => {
  it('commits what arrives in one turn of the event loop together, and answers each its own', async () => {
    const queue = new WriteQueue(database.client);
    const answers = await Promise.all([queue.enqueue(insert('a')), queue.enqueue(insert('b'))]);
    expect(answers).toEqual([1, 2]);
    expect(commits).toBe(1);
  });

  it('answers only once another connection sees the row', async () => {
    const queue = new WriteQueue(database.client);
    const seen = queue.enqueue(insert('a')).then(words);
    expect(words()).toEqual([]);
    expect(await seen).toEqual(['a']);
  });

  it('takes at most 256 writes into one transaction', async () => {
    const queue = new WriteQueue(database.client);
    await Promise.all(Array.from({ length: 600 }, (_, index) => queue.enqueue(insert(`w${index}`))));
    expect(commits).toBe(3);
    expect(words()).toHaveLength(600);
  });

  it('fails a statement that a constraint refused, and none of its neighbours', async () => {
    const queue = new WriteQueue(database.client);
    const settled = await Promise.allSettled(['a', null, 'a', 'b'].map((word) => queue.enqueue(insert(word))));
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'fulfilled']);
    expect(words()).toEqual(['a', 'b']);
    expect(commits).toBe(1);
  });

  it('fails a write that throws something of its own, and none of its neighbours', async () => {
    const queue = new WriteQueue(database.client);
    const broken = () => {
      throw new TypeError('a bug');
    };
    const settled = await Promise.allSettled([queue.enqueue(insert('a')), queue.enqueue(broken)]);
    expect(settled).toEqual([
      { status: 'fulfilled', value: 1 },
      { status: 'rejected', reason: new TypeError('a bug') },
    ]);
  });

  it('fails all who shared a transaction that could not be completed, and keeps nothing of it', async () => {
    const queue = new WriteQueue(database.client);
    database.client.pragma(`max_page_count = ${database.client.pragma('page_count', { simple: true })}`);
    const large = insert('x'.repeat(1_000_000));
    const settled = await Promise.allSettled([queue.enqueue(insert('a')), queue.enqueue(large)]);
    expect(settled.map((one) => one.status === 'rejected' && sqliteCode(one.reason))).toEqual([
      'SQLITE_FULL',
      'SQLITE_FULL',
    ]);
    expect(words()).toEqual([]);
    expect(await queue.enqueue(insert('b'))).toBe(1);
  });

  it('DBS-04: tries again when another process kept the lock for longer than the busy timeout', async () => {
    const queue = new WriteQueue(database.client);
    other.client.exec('begin immediate');
    const written = queue.enqueue(insert('a'));
    // Runs in the pause between the two attempts: the first one has held up this thread for the busy timeout.
    setTimeout(() => other.client.exec('rollback'), BUSY_TIMEOUT);
    expect(await written).toBe(1);
  });

  it('gives up after two attempts, and works again once the lock is free', async () => {
    const queue = new WriteQueue(database.client);
    other.client.exec('begin immediate');
    const fault = await queue.enqueue(insert('a')).catch((error: unknown) => error);
    expect(sqliteCode(fault)).toMatch(/^SQLITE_BUSY/);
    other.client.exec('rollback');
    expect(await queue.enqueue(insert('b'))).toBe(1);
  });

  it('refuses more than it may hold, at once', async () => {
    const queue = new WriteQueue(database.client, 3);
    const settled = await Promise.allSettled(['a', 'b', 'c', 'd'].map((word) => queue.enqueue(insert(word))));
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled', 'rejected']);
    expect(await queue.enqueue(insert('e'))).toBe(4);
  });

  it('drains everything, what is added meanwhile included', async () => {
    const queue = new WriteQueue(database.client);
    await queue.drain();
    void queue.enqueue(insert('a')).then(() => queue.enqueue(insert('b')));
    await queue.drain();
    expect(words()).toEqual(['a', 'b']);
  });

  it('forgets no write that is added by those it has just answered', async () => {
    const queue = new WriteQueue(database.client);
    for (let index = 0; index < 50; index += 1) await queue.enqueue(insert(`w${index}`));
    expect(words()).toHaveLength(50);
  });
});
