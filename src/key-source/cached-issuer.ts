/**
 * What is remembered of one trusted issuer's keys, and the questions asked of it. Plain state and functions of `now`:
 * fetching and sharing are `key-set-memory.ts`. There may be 10,000 of these, so none keeps its issuer's whole row.
 */
import type { KeySet } from '../assertion/key-set.ts';
import type { ActiveIssuer } from '../assertion/ports.ts';
import {
  backgroundBackoffSeconds,
  backoffSeconds,
  MAX_BACKOFF_SECONDS,
  MAX_BACKOFF_WITHOUT_KEYS_SECONDS,
  MAX_STALE_SECONDS,
  refreshDelaySeconds,
  SHARED_KEY_RETRY_SECONDS,
  UNKNOWN_KID_COOLDOWN_SECONDS,
} from './key-set-life.ts';
import type { KeyLoadFailure, LoadedKeys } from './key-source.ts';
import { RememberedKey } from './remembered-key.ts';

export type CachedIssuer = {
  /** The row's essence; its key source never changes under one revision. */
  issuer: ActiveIssuer;
  /** Whether the registry listed it as active when it was last asked. */
  isListed: boolean;
  /** True once this memory is replaced or dropped: what is still on its way then belongs to nobody. */
  isDiscarded: boolean;
  /** The last good set. */
  keySet: KeySet | null;
  refreshAt: number;
  /** Failures since the last success, when a request may try again, and when the background does. */
  failures: number;
  nextTryAt: number;
  backgroundTryAt: number;
  lastError: KeyLoadFailure | null;
  /** When an unknown `kid` last made us fetch, if that fetch succeeded. */
  refetchedAt: number | null;
  askedAt: number;
  /** The one fetch under way with the way to end it, and the one that an unknown `kid` is waiting for. */
  loading: { readonly done: Promise<void>; readonly abort: AbortController } | null;
  refetching: Promise<void> | null;
};

export function newCachedIssuer(issuer: ActiveIssuer, isListed: boolean, now: number): CachedIssuer {
  return {
    issuer,
    isListed,
    isDiscarded: false,
    keySet: null,
    refreshAt: 0,
    failures: 0,
    nextTryAt: 0,
    backgroundTryAt: 0,
    lastError: null,
    refetchedAt: null,
    askedAt: now,
    loading: null,
    refetching: null,
  };
}

/** What is kept of a row. */
export function essenceOf(row: ActiveIssuer): ActiveIssuer {
  const { id, name, keySourceType, keySourceRevision, keySourceUpdatedAt, updatedAt } = row;
  return { id, name, keySourceType, keySourceRevision, keySourceUpdatedAt, updatedAt };
}

/**
 * Whether `row` makes what we remember of `known` worthless. A request that still carries an older row does not: it
 * must not bring an old address back. Pasted keys come with the row itself: whichever row is asked about counts.
 */
export function isReplacedBy(known: ActiveIssuer, row: ActiveIssuer): boolean {
  const isOlderRow =
    row.keySourceType !== 'static_jwks' &&
    row.keySourceRevision < known.keySourceRevision &&
    row.updatedAt <= known.updatedAt;
  return row.keySourceRevision !== known.keySourceRevision && !isOlderRow;
}

/** Replaces the set as a whole: a key that is not in the new one is gone at once. */
export function recordKeys(entry: CachedIssuer, loaded: LoadedKeys, now: number, jitter: number): void {
  const isPasted = entry.issuer.keySourceType === 'static_jwks';
  entry.keySet = {
    keys: loaded.keys.map((key) => new RememberedKey(key)),
    skipped: loaded.skipped,
    loadedAt: isPasted ? entry.issuer.keySourceUpdatedAt : now,
    origin: isPasted ? 'static' : 'fetched',
    stale: false,
  };
  entry.refreshAt = isPasted ? Number.POSITIVE_INFINITY : now + refreshDelaySeconds(loaded.maxAgeSeconds, jitter);
  entry.failures = 0;
  entry.nextTryAt = 0;
  entry.backgroundTryAt = 0;
  entry.lastError = null;
}

/** The last good set stays. */
export function recordFailure(entry: CachedIssuer, failure: KeyLoadFailure, now: number, jitter: number): void {
  entry.failures += 1;
  const maxSeconds = usableKeySet(entry, now) === null ? MAX_BACKOFF_WITHOUT_KEYS_SECONDS : MAX_BACKOFF_SECONDS;
  entry.nextTryAt = now + backoffSeconds(entry.failures, jitter, maxSeconds);
  // Pasted text gets no better by being read again.
  entry.backgroundTryAt =
    entry.issuer.keySourceType === 'static_jwks'
      ? Number.POSITIVE_INFINITY
      : now + backgroundBackoffSeconds(entry.failures, jitter);
  entry.lastError = failure;
}

/** The set that may verify signatures now; null when there is none or the last success is too long ago. */
export function usableKeySet({ keySet }: CachedIssuer, now: number): KeySet | null {
  if (keySet === null || keySet.origin === 'static') return keySet;
  return now - keySet.loadedAt <= MAX_STALE_SECONDS ? keySet : null;
}

/** Newer keys were due and could not be had. */
export function isStale(entry: CachedIssuer, now: number): boolean {
  return entry.keySet !== null && entry.failures > 0 && now >= entry.refreshAt;
}

/** There is a set, it is old enough, and neither a fetch nor a back-off stands in the way: for requests. */
export function isRefreshDue(entry: CachedIssuer, isShared: boolean, now: number): boolean {
  return entry.keySet !== null && entry.loading === null && isOldEnough(entry, isShared, now) && now >= entry.nextTryAt;
}

/** The same for the background, which also fetches what was never fetched, and is in less of a hurry after failures. */
export function isBackgroundFetchDue(entry: CachedIssuer, isShared: boolean, now: number): boolean {
  return entry.loading === null && isOldEnough(entry, isShared, now) && now >= entry.backgroundTryAt;
}

function isOldEnough({ keySet, refreshAt }: CachedIssuer, isShared: boolean, now: number): boolean {
  if (now >= refreshAt) return true;
  return isShared && keySet?.origin === 'fetched' && now - keySet.loadedAt >= SHARED_KEY_RETRY_SECONDS;
}

/** Whether an unknown `kid` may make us fetch now. */
export function mayRefetch(entry: CachedIssuer, now: number): boolean {
  const isCoolingDown = entry.refetchedAt !== null && now - entry.refetchedAt < UNKNOWN_KID_COOLDOWN_SECONDS;
  return entry.refetching === null && !isCoolingDown && now >= entry.nextTryAt;
}
