/**
 * The life of all trusted issuers' key sets: one memory per row and key-source revision, one fetch at a time for each,
 * and one shared timer that refreshes in the background. Issuers never wait for one another. What a set may be used
 * for is decided in `assertion/`; how it is fetched, in `key-source.ts`.
 */
import type { IssuerKeys, KeySetLookup, TrustedIssuers } from '../assertion/ports.ts';
import type { TrustedIssuer } from '../assertion/trusted-issuer.ts';
import type { Clock, Stopwatch } from '../clock.ts';
import {
  type CachedIssuer,
  type IssuerKeysState,
  isRefreshDue,
  isReplacedBy,
  isStale,
  mayRefetch,
  newCachedIssuer,
  recordFailure,
  recordKeys,
  stateOf,
  usableKeySet,
} from './cached-issuer.ts';
import { checkIssuer, type IssuerCheck } from './issuer-check.ts';
import type { KeyFetchObserver } from './key-fetch-observer.ts';
import { IDLE_SECONDS } from './key-set-life.ts';
import { loadIssuerKeys } from './key-source.ts';
import type { FetchJson } from './outbound-fetch.ts';
import { createSharedKeys, type SharedKey } from './shared-keys.ts';

/** How often the shared timer looks for sets that are due; a small part of the shortest life of a set. */
const REFRESH_TICK_MS = 10_000;
/** Background fetches at a time: ten thousand sets that fall due together must not become as many connections. */
const REFRESH_CONCURRENCY = 8;
/** Two issuers with one key is a matter for an admin: soon enough to see the mend, no reason to hurry. */
const SHARED_KEY_RETRY_SECONDS = 60;

export type IssuerKeysDependencies = {
  readonly fetchJson: FetchJson;
  /** The rows as they are now, so that removed issuers are neither fetched nor count as holders of a key. */
  readonly trustedIssuers: Pick<TrustedIssuers, 'findById'>;
  readonly clock: Clock;
  readonly stopwatch: Stopwatch;
  /** From 0 up to 1, like `Math.random`. */
  readonly jitter: () => number;
  readonly observer: KeyFetchObserver;
};

export type CachedIssuerKeys = IssuerKeys & {
  /** How an issuer's keys stand in this process; null when nobody has asked for them yet. */
  state(issuerId: string): IssuerKeysState | null;
  /** Loads an issuer's keys now and reports; the cache neither helps nor learns. */
  check(issuer: TrustedIssuer): Promise<IssuerCheck>;
  /** Refreshes what is due and forgets what nobody uses; called by the timer. */
  refreshDue(): Promise<void>;
  /** Stops the timer, gives up the fetches under way and waits for their end. For after the last request. */
  close(): Promise<void>;
};

export function createIssuerKeys(dependencies: IssuerKeysDependencies): CachedIssuerKeys {
  const { fetchJson, trustedIssuers, clock, stopwatch, jitter, observer } = dependencies;
  const entries = new Map<string, CachedIssuer>();
  const sharedKeys = createSharedKeys();
  const background = new Set<Promise<void>>();
  let isClosed = false;
  let isTicking = false;

  function entryOf(issuer: TrustedIssuer): CachedIssuer {
    const known = entries.get(issuer.id);
    if (known !== undefined && !isReplacedBy(known.issuer, issuer)) {
      known.askedAt = clock();
      return known;
    }
    if (known !== undefined) drop(known);
    const entry = newCachedIssuer(issuer, clock());
    if (isClosed) entry.discarded.abort();
    entries.set(issuer.id, entry);
    return entry;
  }

  function drop(entry: CachedIssuer): void {
    entry.discarded.abort();
    entries.delete(entry.issuer.id);
    sharedKeys.remove(entry.issuer.id);
  }

  /** Never rejects: a failure is recorded and then forgotten after a short back-off. */
  function load(entry: CachedIssuer): Promise<void> {
    if (entry.loading === null) {
      const loading = loadOnce(entry).finally(() => {
        entry.loading = null;
        background.delete(loading);
      });
      entry.loading = loading;
      background.add(loading);
    }
    return entry.loading;
  }

  async function loadOnce(entry: CachedIssuer): Promise<void> {
    const { issuer, discarded } = entry;
    const startedAt = stopwatch();
    const outcome = await outcomeOf(entry);
    // An answer that comes after the key source has changed must not touch what the new one brought.
    if (discarded.signal.aborted) return;
    if (outcome.ok) {
      recordKeys(entry, outcome.value, clock());
      sharedKeys.replace(
        issuer.id,
        outcome.value.keys.map((key) => key.thumbprint),
      );
    } else {
      recordFailure(entry, outcome.error, clock(), jitter());
    }
    if (issuer.keySourceType !== 'static_jwks') {
      observer.fetched(issuer.id, outcome.ok ? 'ok' : outcome.error.code, stopwatch() - startedAt);
    }
  }

  async function outcomeOf({ issuer, discarded }: CachedIssuer) {
    try {
      return (await loadIssuerKeys(issuer, fetchJson, discarded.signal)).outcome;
    } catch (error) {
      observer.faulted(issuer.id, error);
      return { ok: false, error: { code: 'fault', detail: 'an internal fault; the log has it' } } as const;
    }
  }

  async function current(issuer: TrustedIssuer): Promise<KeySetLookup> {
    const entry = entryOf(issuer);
    const now = clock();
    if (usableKeySet(entry, now) !== null) {
      // With a set at hand nobody waits for a newer one.
      if (isRefreshDue(entry, now)) void load(entry);
    } else if (entry.loading !== null || now >= entry.nextTryAt) {
      await load(entry);
    }
    return answer(entry);
  }

  async function refetch(issuer: TrustedIssuer): Promise<KeySetLookup> {
    const entry = entryOf(issuer);
    const isFetched = usableKeySet(entry, clock())?.origin === 'fetched';
    if (!isFetched) return current(issuer);
    if (mayRefetch(entry, clock())) {
      entry.refetching = loadAfresh(entry).finally(() => {
        entry.refetching = null;
      });
    }
    if (entry.refetching !== null) await entry.refetching;
    // When the newest set can't be had, an unknown kid may well be a new key: come back later, not "bad credentials".
    return entry.failures > 0 && entries.get(issuer.id) === entry ? unavailable(entry) : answer(entry);
  }

  /** A fetch under way may have been answered before the issuer published the new key: only a later one counts. */
  async function loadAfresh(entry: CachedIssuer): Promise<void> {
    const startedAt = clock();
    await entry.loading;
    if (clock() < entry.nextTryAt) return;
    await load(entry);
    // A failed fetch has its own, shorter pause.
    if (entry.failures === 0) entry.refetchedAt = startedAt;
  }

  async function answer(entry: CachedIssuer): Promise<KeySetLookup> {
    const latest = entries.get(entry.issuer.id);
    if (latest !== undefined && latest !== entry) return current(latest.issuer);
    const keySet = usableKeySet(entry, clock());
    if (latest === undefined || keySet === null) return unavailable(entry);
    const shared = await sharedKeyOf(entry.issuer.id);
    if (shared !== null) {
      return {
        available: false,
        detail: `key ${shared.thumbprint} is also in the set of trusted issuer ${shared.otherIssuerId}`,
        retryAfterSeconds: SHARED_KEY_RETRY_SECONDS,
      };
    }
    if (!isStale(entry, clock())) return { available: true, keySet };
    observer.staleUsed(entry.issuer.id);
    return { available: true, keySet: { ...keySet, stale: true } };
  }

  function unavailable(entry: CachedIssuer): KeySetLookup {
    return {
      available: false,
      detail: entry.lastError ?? 'the issuer was changed or removed, or the server stops',
      retryAfterSeconds: Math.max(1, entry.nextTryAt - clock()),
    };
  }

  /** Only issuers that are still trusted can hold a key. */
  async function sharedKeyOf(issuerId: string): Promise<SharedKey | null> {
    for (;;) {
      const shared = sharedKeys.find(issuerId);
      if (shared === null) return null;
      const other = await trustedIssuers.findById(shared.otherIssuerId);
      if (other?.isActive) return shared;
      const entry = entries.get(shared.otherIssuerId);
      if (entry === undefined) sharedKeys.remove(shared.otherIssuerId);
      else drop(entry);
    }
  }

  async function refreshDue(): Promise<void> {
    const now = clock();
    for (const entry of entries.values()) if (now - entry.askedAt > IDLE_SECONDS) drop(entry);
    // Healthy issuers first: many that hang must not hold up those that answer.
    const due = [...entries.values()].filter((entry) => isRefreshDue(entry, now));
    const queue = due.sort((a, b) => a.failures - b.failures).values();
    const worker = async () => {
      for (const entry of queue) await refresh(entry);
    };
    await Promise.all(Array.from({ length: REFRESH_CONCURRENCY }, worker));
  }

  async function refresh(entry: CachedIssuer): Promise<void> {
    const row = await currentRow(entry);
    if (entry.discarded.signal.aborted) return;
    if (row === null || !row.isActive || isReplacedBy(entry.issuer, row)) drop(entry);
    else await load(entry);
  }

  /** The row as it is now, or as we knew it where the database can't say. */
  async function currentRow({ issuer }: CachedIssuer): Promise<TrustedIssuer | null> {
    try {
      return await trustedIssuers.findById(issuer.id);
    } catch (error) {
      observer.faulted(issuer.id, error);
      return issuer;
    }
  }

  const timer = setInterval(async () => {
    if (isTicking) return;
    isTicking = true;
    await refreshDue();
    isTicking = false;
  }, REFRESH_TICK_MS).unref();

  return {
    current,
    refetch,
    refreshDue,
    state(issuerId) {
      const entry = entries.get(issuerId);
      return entry === undefined ? null : stateOf(entry, clock());
    },
    check: (issuer) => checkIssuer(issuer, fetchJson),
    async close() {
      isClosed = true;
      clearInterval(timer);
      for (const entry of entries.values()) entry.discarded.abort();
      await Promise.all(background);
    },
  };
}
