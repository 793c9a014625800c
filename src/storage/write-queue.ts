/**
 * Group commit: the hot writes (replay claims, audit records, revocations) that arrive in one turn of the event loop
 * share one transaction, and with it one flush to the disk. Knows nothing of what is written.
 */
import type { Database as SqliteClient } from 'better-sqlite3';
import { isStatementFault, StorageError } from './storage-error.ts';
import { writeTransaction } from './write-transaction.ts';

/** Keeps a transaction at a few milliseconds, so that neither requests nor other processes wait long for it. */
const MAX_BATCH = 256;
/** Some seconds of full load: whoever comes later gets an error now rather than a time-out. */
const MAX_WAITING = 10_000;

type Settle = () => void;
type Job = {
  /** Runs the statement; what it answers settles the job's promise and is called once the commit is durable. */
  run(): Settle;
  reject(fault: unknown): void;
};

export class WriteQueue {
  readonly #client: SqliteClient;
  readonly #maxWaiting: number;
  #waiting: Job[] = [];
  #flushing: Promise<void> | null = null;

  constructor(client: SqliteClient, maxWaiting = MAX_WAITING) {
    this.#client = client;
    this.#maxWaiting = maxWaiting;
  }

  /**
   * Runs `write` in the next transaction and answers what it returned, once that is durable. `write` changes rows with
   * one statement at most, so that its failure leaves nothing half done for its neighbours; it may run twice. A fault
   * of the statement rejects this promise only, a fault of the transaction those of all who shared it.
   */
  enqueue<T>(write: () => T): Promise<T> {
    if (this.#waiting.length >= this.#maxWaiting) {
      return Promise.reject(new StorageError(`the database is overloaded: ${this.#maxWaiting} writes are waiting`));
    }
    return new Promise((resolve, reject) => {
      const run = () => {
        const value = write();
        return () => resolve(value);
      };
      this.#waiting.push({ run, reject });
      this.#flushing ??= this.#flush();
    });
  }

  /** Resolves once nothing waits any more. */
  async drain(): Promise<void> {
    while (this.#flushing !== null) await this.#flushing;
  }

  async #flush(): Promise<void> {
    while (this.#waiting.length > 0) {
      // After the poll phase: requests that have come in together are in one batch.
      await new Promise((resolve) => setImmediate(resolve));
      await this.#commit(this.#waiting.splice(0, MAX_BATCH));
    }
    // In the same turn as the check above, so that no job is enqueued in between and forgotten.
    this.#flushing = null;
  }

  async #commit(batch: readonly Job[]): Promise<void> {
    let settles: readonly Settle[];
    try {
      settles = await writeTransaction(this.#client, () => batch.map(runJob));
    } catch (fault) {
      for (const job of batch) job.reject(fault);
      return;
    }
    for (const settle of settles) settle();
  }
}

function runJob(job: Job): Settle {
  try {
    return job.run();
  } catch (fault) {
    if (!isStatementFault(fault)) throw fault;
    return () => job.reject(fault);
  }
}
