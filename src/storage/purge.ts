/**
 * Deletes what has expired, a little at a time: each batch is short enough that no request waits for it, and between
 * two of them requests have their turn. Knows the two ports, not the tables; audit records are kept.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { ReplayStore } from '../assertion/ports.ts';
import type { Clock } from '../clock.ts';
import type { RevokedTokens } from '../issuance/ports.ts';

/** Deleting 500 rows takes a few milliseconds. */
const BATCH_ROWS = 500;
const PAUSE_BETWEEN_BATCHES_MILLISECONDS = 20;
const PAUSE_BETWEEN_ROUNDS_MILLISECONDS = 60_000;

export type PurgerOptions = {
  readonly replayStore: Pick<ReplayStore, 'purge'>;
  readonly revokedTokens: Pick<RevokedTokens, 'purge'>;
  readonly clock: Clock;
  /** Told of every batch of replay claims that was deleted. */
  readonly onReplayClaimsPurged?: (rows: number) => void;
  /** A round that failed; the next one comes all the same. */
  readonly onFault?: (fault: unknown) => void;
  readonly batchPauseMilliseconds?: number;
  readonly roundPauseMilliseconds?: number;
};

export type Purger = {
  /** Rounds from now on, the first one at once. They do not keep the process alive. */
  start(): void;
  /** Resolves when no batch is under way any more; none follows. */
  stop(): Promise<void>;
};

export function createPurger(options: PurgerOptions): Purger {
  const { replayStore, revokedTokens, clock, onReplayClaimsPurged, onFault } = options;
  const batchPause = options.batchPauseMilliseconds ?? PAUSE_BETWEEN_BATCHES_MILLISECONDS;
  const roundPause = options.roundPauseMilliseconds ?? PAUSE_BETWEEN_ROUNDS_MILLISECONDS;
  const stopping = new AbortController();
  let running: Promise<void> | null = null;

  /** False once stopped. */
  const wait = async (milliseconds: number): Promise<boolean> => {
    if (stopping.signal.aborted) return false;
    // Rejects when it is cut short by `stop`.
    await pause(milliseconds, undefined, { ref: false, signal: stopping.signal }).catch(() => {});
    return !stopping.signal.aborted;
  };
  const purgeAll = async (purge: (now: number, limit: number) => Promise<number>): Promise<void> => {
    while ((await purge(clock(), BATCH_ROWS)) === BATCH_ROWS && (await wait(batchPause)));
  };
  const rounds = async (): Promise<void> => {
    do {
      try {
        await purgeAll(async (now, limit) => {
          const rows = await replayStore.purge(now, limit);
          if (rows > 0) onReplayClaimsPurged?.(rows);
          return rows;
        });
        await purgeAll((now, limit) => revokedTokens.purge(now, limit));
      } catch (fault) {
        onFault?.(fault);
      }
    } while (await wait(roundPause));
  };

  return {
    start() {
      running ??= rounds();
    },
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
