/** A write that a unique index refused: thrown inside a transaction, so that it is undone, and a value outside of it. */
import type { WriteConflict, WriteOutcome } from '../registry/registry-store.ts';
import { sqliteCode } from './storage-error.ts';

class UniqueConflict extends Error {
  readonly conflict: WriteConflict;

  constructor(conflict: WriteConflict) {
    super(conflict);
    this.conflict = conflict;
  }
}

/** Which kind of index of the table is the one that can refuse: SQLite's code tells the two apart. */
type UniqueIndex = 'SQLITE_CONSTRAINT_UNIQUE' | 'SQLITE_CONSTRAINT_PRIMARYKEY';

/** Runs one statement; when `index` refuses it, that is `conflict`. Every other fault is passed on as it is. */
export function orConflict<T>(conflict: WriteConflict, index: UniqueIndex, statement: () => T): T {
  try {
    return statement();
  } catch (fault) {
    if (sqliteCode(fault) === index) throw new UniqueConflict(conflict);
    throw fault;
  }
}

/** What became of a transaction whose statements ran under `orConflict`. */
export async function writeOutcome(transaction: Promise<unknown>): Promise<WriteOutcome> {
  try {
    await transaction;
    return { written: true };
  } catch (fault) {
    if (fault instanceof UniqueConflict) return { written: false, conflict: fault.conflict };
    throw fault;
  }
}
