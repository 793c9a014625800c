/**
 * One scheduler for the keys of all active issuers: it follows the registry, fetches the sets of those that are new,
 * and refreshes what is due. One timer, no matter how many issuers: each second looks at every memory once. For 10,000
 * of them that was measured as about 1 ms, a thousandth of the time, so no order among them is kept.
 */
import type { ActiveIssuers } from '../assertion/ports.ts';
import type { TrustedIssuer } from '../assertion/trusted-issuer.ts';
import type { Clock, Stopwatch } from '../clock.ts';
import { type CachedIssuer, essenceOf, isBackgroundFetchDue, usableKeySet } from './cached-issuer.ts';
import type { KeyFetchObserver } from './key-fetch-observer.ts';
import { IDLE_SECONDS } from './key-set-life.ts';
import type { KeySetMemory } from './key-set-memory.ts';
import { createRefreshQueue } from './refresh-queue.ts';

/** How soon a change by another process is noticed, give or take the second in which the revision was last read. */
const TICK_MS = 1000;
/**
 * Of the time at most, when many writes follow one another: each makes us read the list of active issuers, about 20 ms
 * for 10,000 of them. The next tick comes in any case.
 */
const MAX_SHARE_OF_TIME = 0.05;
/** Issuers that wait at once, from which on their fetches are a large piece of work: a start, not an hourly refresh. */
const LARGE_QUEUE = 500;
/** Fetches that such a piece of work is cut into: each leaves about 20 KB of garbage, which is to be cleared meanwhile. */
const LARGE_PIECE = 2000;

export type KeySetRefresherDependencies = {
  readonly memory: KeySetMemory;
  readonly activeIssuers: ActiveIssuers;
  readonly isSelfIssued: (issuer: Pick<TrustedIssuer, 'id'>) => boolean;
  readonly clock: Clock;
  readonly stopwatch: Stopwatch;
  readonly observer: KeyFetchObserver;
  /** Does a large piece of work that leaves little behind, and sees to it that the process stays small. */
  readonly frugally: (work: () => Promise<void>) => Promise<void>;
};

export type KeySetRefresher = {
  /** Begins; nobody waits for it. */
  start(): void;
  /** Follows the registry and fetches all that is due now. */
  refreshDue(): Promise<void>;
  /** How many issuers wait for a background fetch. */
  readonly queueLength: number;
  stop(): Promise<void>;
};

export function createKeySetRefresher(dependencies: KeySetRefresherDependencies): KeySetRefresher {
  const { memory, activeIssuers, isSelfIssued, clock, stopwatch, observer, frugally } = dependencies;
  const queue = createRefreshQueue<CachedIssuer>(refresh);
  let timer: NodeJS.Timeout | undefined;
  let ticking: Promise<void> | null = null;
  let isStopped = false;
  let isBlind = false;
  let listedGeneration: number | null = null;
  let isListWanted = false;
  let isWorkLarge = false;
  /** Seconds of the stopwatch. */
  let restedAt = 0;

  function tick(): Promise<void> {
    ticking ??= tickOnce().finally(() => {
      ticking = null;
    });
    return ticking;
  }

  async function tickOnce(): Promise<void> {
    if (isStopped) return;
    const startedAt = stopwatch();
    try {
      await follow();
      isBlind = false;
    } catch (error) {
      // Requests fail as well while the registry can't be read. Said once, not each second.
      if (!isBlind) observer.faulted(null, error);
      isBlind = true;
      return;
    }
    offerDue();
    if (queue.length >= LARGE_QUEUE && !isWorkLarge) void workFrugally();
    const endedAt = stopwatch();
    restedAt = endedAt + (endedAt - startedAt) / MAX_SHARE_OF_TIME;
  }

  /** Makes the memories those of the issuers that are active now. What is gone or changed is dropped at once. */
  async function follow(): Promise<void> {
    const generation = await activeIssuers.generation();
    if (generation === listedGeneration && !isListWanted) return;
    const active = await activeIssuers.list();
    // Read before the list: a change between the two is seen the next time.
    listedGeneration = generation;
    isListWanted = false;
    const ids = new Set<string>();
    for (const issuer of active) {
      // Has no keys: its cluster is asked about each token.
      if (issuer.keySourceType === 'token_review') continue;
      ids.add(issuer.id);
      const known = memory.entries.get(issuer.id);
      // The list is the registry as it is: any other revision counts, a lower one too.
      if (known !== undefined && known.issuer.keySourceRevision !== issuer.keySourceRevision) memory.drop(known);
      const entry = memory.entryOf(issuer);
      if (entry.issuer.updatedAt !== issuer.updatedAt || entry.issuer.name !== issuer.name) {
        entry.issuer = essenceOf(issuer);
      }
      entry.isListed = true;
    }
    for (const [id, entry] of memory.entries) {
      if (!ids.has(id) && !isSelfIssued(entry.issuer)) memory.drop(entry);
    }
  }

  function offerDue(): void {
    const now = clock();
    const { entries, sharedKeys } = memory;
    for (const [id, entry] of entries) {
      if (isSelfIssued(entry.issuer)) {
        if (now - entry.askedAt > IDLE_SECONDS) memory.drop(entry);
        continue;
      }
      // A request brought a row that the list does not have yet, or no longer.
      if (!entry.isListed) isListWanted = true;
      // A set that is too old to be used is no current one, and closes no other issuer. It counts again when it is
      // loaded again; until then its issuer speaks for nobody.
      if (entry.keySet !== null && usableKeySet(entry, now) === null) sharedKeys.remove(id);
      if (isBackgroundFetchDue(entry, sharedKeys.isShared(id), now)) queue.offer(entry, entry.failures > 0);
    }
  }

  async function workFrugally(): Promise<void> {
    isWorkLarge = true;
    while (queue.length > 0 && !isStopped) await frugally(() => queue.idle(LARGE_PIECE));
    isWorkLarge = false;
  }

  async function refresh(entry: CachedIssuer): Promise<void> {
    // A request may have been quicker, and the row may be gone.
    if (isStopped || entry.isDiscarded) return;
    if (!isBackgroundFetchDue(entry, memory.sharedKeys.isShared(entry.issuer.id), clock())) return;
    await memory.load(entry, null);
  }

  return {
    start() {
      timer = setInterval(() => void tick(), TICK_MS).unref();
      activeIssuers.onMove(() => {
        if (stopwatch() >= restedAt) setImmediate(() => void tick());
      });
      setImmediate(() => void tick());
    },
    async refreshDue() {
      await ticking;
      await tick();
      await queue.idle();
    },
    get queueLength() {
      return queue.length;
    },
    async stop() {
      isStopped = true;
      clearInterval(timer);
      queue.clear();
      await ticking;
    },
  };
}
