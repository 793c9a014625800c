/** Trying again when another process held SQLite's lock for longer than the busy timeout; nothing else is retried. */
import { setTimeout as pause } from 'node:timers/promises';
import { isBusy } from './storage-error.ts';

/** Lets what only reads have a turn: the busy timeout itself is waited for on the event loop's thread. */
const PAUSE_MILLISECONDS = 20;

/** Runs `work` at most `attempts` times; passes on any fault but SQLITE_BUSY, and that one after the last attempt. */
export async function retryWhileBusy<T>(attempts: number, work: () => T): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return work();
    } catch (fault) {
      if (!isBusy(fault) || attempt >= attempts) throw fault;
    }
    await pause(PAUSE_MILLISECONDS);
  }
}
