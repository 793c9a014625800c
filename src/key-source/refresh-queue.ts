/**
 * Who is fetched next in the background, a few at a time: ten thousand sets that fall due together must not become as
 * many connections. What failed last time waits behind all others and never gets every place, so that issuers that
 * hang do not hold up those that answer.
 */
import { setImmediate } from 'node:timers/promises';

/** Background fetches at a time. */
export const REFRESH_CONCURRENCY = 8;
/** And of those that failed last time. */
export const FAILING_CONCURRENCY = 2;

export type RefreshQueue<T> = {
  /** Puts an item in, unless it waits already. */
  offer(item: T, isFailing: boolean): void;
  /** How many wait. */
  readonly length: number;
  /** Resolves when nothing waits and nothing runs, or when `count` more have been done. */
  idle(count?: number): Promise<void>;
  /** Forgets all that wait. */
  clear(): void;
};

type Lane<T> = { readonly items: T[]; readonly limit: number; running: number };

/** `run` must not reject; it is called for each item when its turn has come. */
export function createRefreshQueue<T>(run: (item: T) => Promise<void>): RefreshQueue<T> {
  const healthy: Lane<T> = { items: [], limit: REFRESH_CONCURRENCY, running: 0 };
  const failing: Lane<T> = { items: [], limit: FAILING_CONCURRENCY, running: 0 };
  const lanes = [healthy, failing];
  const waiting = new Set<T>();
  let waiters: { left: number; readonly resolve: () => void }[] = [];
  const isIdle = () => waiting.size === 0 && healthy.running + failing.running === 0;

  function fill(): void {
    while (healthy.running + failing.running < REFRESH_CONCURRENCY) {
      const lane = lanes.find(({ items, limit, running }) => items.length > 0 && running < limit);
      const item = lane?.items.shift();
      if (lane === undefined || item === undefined) break;
      waiting.delete(item);
      void work(lane, item);
    }
  }

  async function work(lane: Lane<T>, item: T): Promise<void> {
    lane.running += 1;
    await run(item);
    // Reading pasted keys never waits for anything: without this, thousands of them would keep requests waiting.
    await setImmediate();
    lane.running -= 1;
    fill();
    for (const waiter of waiters) {
      waiter.left -= 1;
      if (waiter.left <= 0 || isIdle()) waiter.resolve();
    }
    waiters = isIdle() ? [] : waiters.filter(({ left }) => left > 0);
  }

  return {
    offer(item, isFailing) {
      if (waiting.has(item)) return;
      waiting.add(item);
      (isFailing ? failing : healthy).items.push(item);
      fill();
    },
    get length() {
      return waiting.size;
    },
    idle(count = Number.POSITIVE_INFINITY) {
      if (isIdle()) return Promise.resolve();
      const { promise, resolve } = Promise.withResolvers<void>();
      waiters.push({ left: count, resolve });
      return promise;
    },
    clear() {
      waiting.clear();
      for (const { items } of lanes) items.length = 0;
    },
  };
}
