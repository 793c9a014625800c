/** How key sets stand in this process, as plain data for admins and for metrics. It changes nothing. */
import type { TrustedIssuer } from '../assertion/trusted-issuer.ts';
import { type CachedIssuer, isStale, usableKeySet } from './cached-issuer.ts';
import type { KeyHolder } from './key-fetch-observer.ts';
import type { KeySetMemory } from './key-set-memory.ts';
import type { KeyLoadFailure } from './key-source.ts';

/** Holders of one key that are listed at most. */
const MAX_HOLDERS = 20;

export type IssuerKeysState = {
  /** When the last good set was loaded; a pasted one: when it was stored. */
  readonly loadedAt: number | null;
  readonly kids: readonly (string | null)[];
  readonly stale: boolean;
  /** Null after a success. */
  readonly lastError: string | null;
  /** When the issuer is asked again at the earliest; null for pasted keys. */
  readonly nextTryAt: number | null;
  /** Keys that other issuers publish too, which closes all of them; others alone are listed. */
  readonly sharedKeys: readonly { readonly thumbprint: string; readonly otherIssuers: readonly KeyHolder[] }[];
};

export type IssuerKeyFigures = KeyHolder & {
  /** Null where there is no set. */
  readonly ageSeconds: number | null;
  readonly keys: number;
  readonly failures: number;
  readonly lastError: KeyLoadFailure['code'] | null;
  /** Null for pasted keys, which are not fetched. */
  readonly nextTrySeconds: number | null;
  readonly isShared: boolean;
};

/** All issuers are the active ones that this process knows. */
export type KeySetFigures = {
  /** With a set that may verify signatures, shared or not. */
  readonly usable: number;
  /** Without one: not loaded yet, or not to be had. */
  readonly unavailable: number;
  /** Newer keys were due and could not be had. */
  readonly stale: number;
  /** Whose last fetch failed. */
  readonly failing: number;
  /** Closed because of a shared key. */
  readonly sharing: number;
  readonly sharedKeys: number;
  /** Of the fetched sets that may be used. */
  readonly oldestAgeSeconds: number;
  readonly queued: number;
  /** Some of the issuers, those with trouble first. */
  readonly issuers: readonly IssuerKeyFigures[];
};

/** One issuer's state. */
export function stateOf(entry: CachedIssuer, { entries, sharedKeys }: KeySetMemory, now: number): IssuerKeysState {
  const { id } = entry.issuer;
  const holder = (other: string): KeyHolder => ({ id: other, name: entries.get(other)?.issuer.name ?? 'unknown' });
  return {
    loadedAt: entry.keySet?.loadedAt ?? null,
    kids: entry.keySet?.keys.map((key) => key.kid) ?? [],
    stale: isStale(entry, now),
    lastError: entry.lastError?.detail ?? null,
    nextTryAt: nextTryAt(entry),
    sharedKeys: sharedKeys.of(id).map(({ thumbprint, issuerIds }) => ({
      thumbprint,
      otherIssuers: issuerIds
        .filter((other) => other !== id)
        .slice(0, MAX_HOLDERS)
        .map(holder),
    })),
  };
}

/** All issuers' figures, of which `maxIssuers` one by one. */
export function keySetFigures(
  { entries, sharedKeys }: KeySetMemory,
  options: {
    readonly isSelfIssued: (issuer: Pick<TrustedIssuer, 'id'>) => boolean;
    readonly queued: number;
    readonly maxIssuers: number;
    readonly now: number;
  },
): KeySetFigures {
  const { isSelfIssued, queued, maxIssuers, now } = options;
  const counts = { usable: 0, unavailable: 0, stale: 0, failing: 0, sharing: 0, oldestAgeSeconds: 0 };
  const troubled: CachedIssuer[] = [];
  const others: CachedIssuer[] = [];
  for (const entry of entries.values()) {
    if (isSelfIssued(entry.issuer)) continue;
    const keySet = usableKeySet(entry, now);
    const isSharing = sharedKeys.isShared(entry.issuer.id);
    counts[keySet === null ? 'unavailable' : 'usable'] += 1;
    if (isStale(entry, now)) counts.stale += 1;
    if (entry.failures > 0) counts.failing += 1;
    if (isSharing) counts.sharing += 1;
    if (keySet?.origin === 'fetched')
      counts.oldestAgeSeconds = Math.max(counts.oldestAgeSeconds, now - keySet.loadedAt);
    (entry.failures > 0 || isSharing ? troubled : others).push(entry);
  }
  const issuers = [...troubled, ...others].slice(0, maxIssuers).map((entry) => figuresOf(entry, sharedKeys, now));
  return { ...counts, sharedKeys: sharedKeys.size, queued, issuers };
}

function figuresOf(entry: CachedIssuer, sharedKeys: KeySetMemory['sharedKeys'], now: number): IssuerKeyFigures {
  const { issuer, keySet, failures, lastError } = entry;
  const nextTry = nextTryAt(entry);
  return {
    id: issuer.id,
    name: issuer.name,
    ageSeconds: keySet === null ? null : now - keySet.loadedAt,
    keys: keySet?.keys.length ?? 0,
    failures,
    lastError: lastError?.code ?? null,
    nextTrySeconds: nextTry === null ? null : Math.max(0, nextTry - now),
    isShared: sharedKeys.isShared(issuer.id),
  };
}

function nextTryAt({ refreshAt, nextTryAt }: CachedIssuer): number | null {
  const at = Math.max(refreshAt, nextTryAt);
  return Number.isFinite(at) ? at : null;
}
