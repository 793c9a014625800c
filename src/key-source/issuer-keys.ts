/**
 * The keys of all trusted issuers, as requests ask for them. With a set at hand nobody waits for a newer one; without
 * one a request fetches at once, ahead of the background, and all who ask meanwhile share that fetch. What a set may be
 * used for is decided in `assertion/`; how it is fetched, in `key-source.ts`.
 */
import type { ActiveIssuers, IssuerKeys, KeySetLookup, TrustedIssuers } from '../assertion/ports.ts';
import type { TrustedIssuer } from '../assertion/trusted-issuer.ts';
import { type CachedIssuer, isRefreshDue, isStale, mayRefetch, usableKeySet } from './cached-issuer.ts';
import { checkIssuer, type IssuerCheck } from './issuer-check.ts';
import { type IssuerKeysState, type KeySetFigures, keySetFigures, stateOf } from './issuer-keys-state.ts';
import type { KeyHolder } from './key-fetch-observer.ts';
import { SHARED_KEY_RETRY_SECONDS } from './key-set-life.ts';
import { createKeySetMemory, type KeySetMemoryDependencies } from './key-set-memory.ts';
import { createKeySetRefresher } from './key-set-refresher.ts';
import { confirmedSharedKey, describeSharedKey, otherHolders } from './shared-key-check.ts';

export type IssuerKeysDependencies = Omit<KeySetMemoryDependencies, 'findRow'> & {
  readonly trustedIssuers: Pick<TrustedIssuers, 'findById'>;
  readonly activeIssuers: ActiveIssuers;
  /** Does a large piece of work that leaves little behind, and sees to it that the process stays small. */
  readonly frugally: (work: () => Promise<void>) => Promise<void>;
};

export type CachedIssuerKeys = IssuerKeys & {
  /**
   * From now on the keys of all active issuers are loaded and kept fresh in the background. Without it only those that
   * requests ask for are loaded: for commands.
   */
  start(): void;
  /** How an issuer's keys stand in this process; null when it is not active, or not known here yet. */
  state(issuerId: string): IssuerKeysState | null;
  /** How the keys of all active issuers stand in this process, of `maxIssuers` of them one by one. */
  figures(maxIssuers: number): KeySetFigures;
  /** Other issuers, a few at most, that publish one of these keys, as far as this process has loaded their sets. */
  otherHolders(issuerId: string, keys: readonly { readonly thumbprint: string }[]): Promise<readonly KeyHolder[]>;
  /** Loads an issuer's keys now and reports; the cache neither helps nor learns. */
  check(issuer: TrustedIssuer): Promise<IssuerCheck>;
  /** Follows the registry and fetches what is due, to the end; called by the timer. */
  refreshDue(): Promise<void>;
  /** Stops the timer, gives up the fetches under way and waits for their end. For after the last request. */
  close(): Promise<void>;
};

/** Starts empty, and does nothing before `start` or the first question. */
export function createIssuerKeys(dependencies: IssuerKeysDependencies): CachedIssuerKeys {
  const { trustedIssuers, activeIssuers, isSelfIssued, fetchJson, clock, observer } = dependencies;
  const findRow = (id: string) => (isSelfIssued({ id }) ? trustedIssuers.findById(id) : activeIssuers.findById(id));
  const memory = createKeySetMemory({ ...dependencies, findRow });
  const refresher = createKeySetRefresher({ ...dependencies, memory });
  const { entries, sharedKeys } = memory;
  const sharedKeyCheck = { memory, trustedIssuers, isSelfIssued, clock };

  function entryOf(issuer: TrustedIssuer): CachedIssuer {
    const entry = memory.entryOf(issuer);
    entry.askedAt = clock();
    return entry;
  }

  async function current(issuer: TrustedIssuer): Promise<KeySetLookup> {
    const entry = entryOf(issuer);
    const now = clock();
    if (usableKeySet(entry, now) !== null) {
      if (isRefreshDue(entry, sharedKeys.isShared(issuer.id), now)) void memory.load(entry, issuer);
    } else if (entry.loading !== null || now >= entry.nextTryAt) {
      await memory.load(entry, issuer);
    }
    return answer(entry);
  }

  async function refetch(issuer: TrustedIssuer): Promise<KeySetLookup> {
    const entry = entryOf(issuer);
    const isFetched = usableKeySet(entry, clock())?.origin === 'fetched';
    if (!isFetched) return current(issuer);
    if (mayRefetch(entry, clock())) {
      entry.refetching = loadAfresh(entry, issuer).finally(() => {
        entry.refetching = null;
      });
    }
    if (entry.refetching !== null) await entry.refetching;
    // When the newest set can't be had, an unknown kid may well be a new key: come back later, not "bad credentials".
    return entry.failures > 0 && entries.get(issuer.id) === entry ? unavailable(entry) : answer(entry);
  }

  /** A fetch under way may have been answered before the issuer published the new key: only a later one counts. */
  async function loadAfresh(entry: CachedIssuer, issuer: TrustedIssuer): Promise<void> {
    const startedAt = clock();
    await entry.loading?.done;
    if (clock() < entry.nextTryAt) return;
    await memory.load(entry, issuer);
    // A failed fetch has its own, shorter pause.
    if (entry.failures === 0) entry.refetchedAt = startedAt;
  }

  async function answer(entry: CachedIssuer): Promise<KeySetLookup> {
    const { id } = entry.issuer;
    const latest = entries.get(id);
    if (latest !== undefined && latest !== entry) {
      const row = await findRow(id);
      return row === null ? unavailable(entry) : current(row);
    }
    const keySet = usableKeySet(entry, clock());
    if (latest === undefined || keySet === null) return unavailable(entry);
    const shared = await confirmedSharedKey(entry, sharedKeyCheck);
    if (shared !== null) {
      return {
        available: false,
        cause: 'key_shared',
        detail: describeSharedKey(shared),
        retryAfterSeconds: SHARED_KEY_RETRY_SECONDS,
      };
    }
    if (!isStale(entry, clock())) return { available: true, keySet };
    observer.staleUsed(id);
    return { available: true, keySet: { ...keySet, stale: true } };
  }

  function unavailable(entry: CachedIssuer): KeySetLookup {
    return {
      available: false,
      cause: 'not_loaded',
      detail: entry.lastError?.detail ?? 'the issuer was changed or removed, or the server stops',
      retryAfterSeconds: Math.max(1, entry.nextTryAt - clock()),
    };
  }

  return {
    current,
    refetch,
    start: () => refresher.start(),
    refreshDue: () => refresher.refreshDue(),
    state(issuerId) {
      const entry = entries.get(issuerId);
      return entry === undefined ? null : stateOf(entry, memory, clock());
    },
    figures: (maxIssuers) =>
      keySetFigures(memory, { isSelfIssued, queued: refresher.queueLength, maxIssuers, now: clock() }),
    async otherHolders(issuerId, keys) {
      const known = new Map<string, KeyHolder>();
      for (const { thumbprint } of keys) {
        const { holders } = await otherHolders(issuerId, thumbprint, sharedKeyCheck);
        for (const holder of holders) known.set(holder.id, holder);
      }
      return [...known.values()];
    },
    check: (issuer) => checkIssuer(issuer, fetchJson),
    async close() {
      await refresher.stop();
      await memory.close();
    },
  };
}
