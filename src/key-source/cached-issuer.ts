/**
 * What is remembered of one trusted issuer's keys, and the questions asked of it. Plain state and functions of `now`:
 * fetching and sharing are `issuer-keys.ts`.
 */
import type { KeySet } from '../assertion/key-set.ts';
import type { TrustedIssuer } from '../assertion/trusted-issuer.ts';
import {
  backoffSeconds,
  MAX_BACKOFF_SECONDS,
  MAX_BACKOFF_WITHOUT_KEYS_SECONDS,
  MAX_STALE_SECONDS,
  refreshDelaySeconds,
  UNKNOWN_KID_COOLDOWN_SECONDS,
} from './key-set-life.ts';
import type { KeyLoadFailure, LoadedKeys } from './key-source.ts';

export type CachedIssuer = {
  /** The row as it was when this memory began; its key source never changes under one revision. */
  readonly issuer: TrustedIssuer;
  /** Aborted when this memory is replaced or dropped: what is still on its way then belongs to nobody. */
  readonly discarded: AbortController;
  /** The last good set. */
  keySet: KeySet | null;
  refreshAt: number;
  /** Failures since the last success, and when the next try may be. */
  failures: number;
  nextTryAt: number;
  lastError: string | null;
  /** When an unknown `kid` last made us fetch, if that fetch succeeded. */
  refetchedAt: number | null;
  askedAt: number;
  /** The one fetch under way, and the one that an unknown `kid` is waiting for. */
  loading: Promise<void> | null;
  refetching: Promise<void> | null;
};

/** For admins: how an issuer's keys stand in this process. */
export type IssuerKeysState = {
  readonly loadedAt: number | null;
  readonly kids: readonly (string | null)[];
  readonly stale: boolean;
  /** Null after a success. */
  readonly lastError: string | null;
  /** When the issuer is asked again at the earliest; null for pasted keys. */
  readonly nextTryAt: number | null;
};

export function newCachedIssuer(issuer: TrustedIssuer, now: number): CachedIssuer {
  return {
    issuer,
    discarded: new AbortController(),
    keySet: null,
    refreshAt: 0,
    failures: 0,
    nextTryAt: 0,
    lastError: null,
    refetchedAt: null,
    askedAt: now,
    loading: null,
    refetching: null,
  };
}

/**
 * Whether `row` makes what we remember of `known` worthless. A request that still carries an older row does not: it
 * must not bring an old address back. Pasted keys come with the row itself: whichever row is asked about counts.
 */
export function isReplacedBy(known: TrustedIssuer, row: TrustedIssuer): boolean {
  const isOlderRow =
    row.keySourceType !== 'static_jwks' &&
    row.keySourceRevision < known.keySourceRevision &&
    row.updatedAt <= known.updatedAt;
  return row.keySourceRevision !== known.keySourceRevision && !isOlderRow;
}

/** Replaces the set as a whole: a key that is not in the new one is gone at once. */
export function recordKeys(entry: CachedIssuer, { keys, skipped, maxAgeSeconds }: LoadedKeys, now: number): void {
  const isPasted = entry.issuer.keySourceType === 'static_jwks';
  entry.keySet = {
    keys,
    skipped,
    loadedAt: isPasted ? entry.issuer.keySourceUpdatedAt : now,
    origin: isPasted ? 'static' : 'fetched',
    stale: false,
  };
  entry.refreshAt = isPasted ? Number.POSITIVE_INFINITY : now + refreshDelaySeconds(maxAgeSeconds);
  entry.failures = 0;
  entry.nextTryAt = 0;
  entry.lastError = null;
}

/** The last good set stays. */
export function recordFailure(entry: CachedIssuer, failure: KeyLoadFailure, now: number, jitter: number): void {
  entry.failures += 1;
  const maxSeconds = usableKeySet(entry, now) === null ? MAX_BACKOFF_WITHOUT_KEYS_SECONDS : MAX_BACKOFF_SECONDS;
  entry.nextTryAt = now + backoffSeconds(entry.failures, jitter, maxSeconds);
  entry.lastError = failure.detail;
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

/** There is a set, it is old enough, and neither a fetch nor a back-off stands in the way. */
export function isRefreshDue(entry: CachedIssuer, now: number): boolean {
  return entry.keySet !== null && entry.loading === null && now >= entry.refreshAt && now >= entry.nextTryAt;
}

/** Whether an unknown `kid` may make us fetch now. */
export function mayRefetch(entry: CachedIssuer, now: number): boolean {
  const isCoolingDown = entry.refetchedAt !== null && now - entry.refetchedAt < UNKNOWN_KID_COOLDOWN_SECONDS;
  return entry.refetching === null && !isCoolingDown && now >= entry.nextTryAt;
}

export function stateOf(entry: CachedIssuer, now: number): IssuerKeysState {
  const nextTryAt = Math.max(entry.refreshAt, entry.nextTryAt);
  return {
    loadedAt: entry.keySet?.loadedAt ?? null,
    kids: entry.keySet?.keys.map((key) => key.kid) ?? [],
    stale: isStale(entry, now),
    lastError: entry.lastError,
    nextTryAt: Number.isFinite(nextTryAt) ? nextTryAt : null,
  };
}
