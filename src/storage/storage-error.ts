/**
 * The storage's own faults, and how SQLite's are told apart: by its result codes (https://sqlite.org/rescode.html),
 * never by the error's text.
 */
import SqliteDatabase from 'better-sqlite3';

/** A fault whose message is a sentence for the operator: it names the setting and the mend. */
export class StorageError extends Error {
  override readonly name = 'StorageError';
}

/** SQLite's result code of a fault, looked for through `cause` because drizzle wraps some; null for other faults. */
export function sqliteCode(fault: unknown): string | null {
  for (let error = fault; error instanceof Error; error = error.cause) {
    if (error instanceof SqliteDatabase.SqliteError) return error.code;
  }
  return null;
}

/** Another connection held the lock for longer than the busy timeout: the transaction did nothing, try again. */
export function isBusy(fault: unknown): boolean {
  return sqliteCode(fault)?.startsWith('SQLITE_BUSY') === true;
}

/**
 * Faults of one statement that leave its transaction as it was: a constraint, or a value that cannot be bound or
 * stored. After any other (disk full, I/O, corruption) nothing that the transaction did can be relied on.
 */
export function isStatementFault(fault: unknown): boolean {
  const code = sqliteCode(fault);
  return code === null || code.startsWith('SQLITE_CONSTRAINT') || code === 'SQLITE_TOOBIG';
}
