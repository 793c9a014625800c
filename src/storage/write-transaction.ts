/**
 * One write transaction: takes SQLite's write lock before it reads, so that it never has to give way half way through,
 * and is tried again when another process kept the lock.
 */
import type { Database as SqliteClient } from 'better-sqlite3';
import { retryWhileBusy } from './busy-retry.ts';

/** With the busy timeout of each attempt and the pauses between them: more than five seconds of patience. */
const MAX_ATTEMPTS = 25;

/**
 * Runs `work` in `BEGIN IMMEDIATE` … `COMMIT` and answers what it returned, once that is durable. A fault that `work`
 * throws rolls everything back and is passed on. `work` may run twice: its only effects are SQL.
 */
export function writeTransaction<T>(client: SqliteClient, work: () => T): Promise<T> {
  const transaction = client.transaction(work);
  return retryWhileBusy(MAX_ATTEMPTS, () => transaction.immediate());
}
