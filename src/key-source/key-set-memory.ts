/**
 * All key sets of this process: one memory per row and key-source revision, one fetch at a time for each, so that an
 * answer that comes late never stands where a newer one was. When to fetch is others' matter: `issuer-keys.ts` for
 * requests, `key-set-refresher.ts` for the background.
 */
import type { ActiveIssuer } from '../assertion/ports.ts';
import type { TrustedIssuer } from '../assertion/trusted-issuer.ts';
import type { Clock, Stopwatch } from '../clock.ts';
import type { Result } from '../result.ts';
import {
  type CachedIssuer,
  essenceOf,
  isReplacedBy,
  newCachedIssuer,
  recordFailure,
  recordKeys,
} from './cached-issuer.ts';
import type { KeyFetchObserver, KeyHolder } from './key-fetch-observer.ts';
import { type KeyLoadFailure, type LoadedKeys, loadIssuerKeys } from './key-source.ts';
import type { FetchJson } from './outbound-fetch.ts';
import { createSharedKeys, type SharedKeys } from './shared-keys.ts';

export type KeySetMemoryDependencies = {
  readonly fetchJson: FetchJson;
  /** The row as it is now. */
  readonly findRow: (id: string) => Promise<TrustedIssuer | null>;
  /**
   * Whether this is a client that vouches for itself (`private_key_jwt`). It is one identity by construction and speaks
   * for no other, so its keys close no issuer; a key of its own that an issuer also publishes closes the client.
   */
  readonly isSelfIssued: (issuer: Pick<TrustedIssuer, 'id'>) => boolean;
  readonly clock: Clock;
  readonly stopwatch: Stopwatch;
  /** From 0 up to 1, like `Math.random`. */
  readonly jitter: () => number;
  readonly observer: KeyFetchObserver;
};

export type KeySetMemory = {
  readonly entries: ReadonlyMap<string, CachedIssuer>;
  readonly sharedKeys: SharedKeys;
  /** The memory of this row; a new and empty one where the key source is another than before. */
  entryOf(row: ActiveIssuer): CachedIssuer;
  drop(entry: CachedIssuer): void;
  /** Loads the keys, or joins the load under way. Never rejects: a failure is recorded in the entry. */
  load(entry: CachedIssuer, row: TrustedIssuer | null): Promise<void>;
  /** Gives up the loads under way and waits for their end. */
  close(): Promise<void>;
};

/** Starts empty. */
export function createKeySetMemory(dependencies: KeySetMemoryDependencies): KeySetMemory {
  const { fetchJson, findRow, isSelfIssued, clock, stopwatch, jitter, observer } = dependencies;
  const entries = new Map<string, CachedIssuer>();
  const underWay = new Set<Promise<void>>();
  let isClosed = false;

  const holder = (id: string): KeyHolder => ({ id, name: entries.get(id)?.issuer.name ?? 'unknown' });
  const sharedKeys = createSharedKeys(({ thumbprint, issuerIds }) =>
    observer.keyShared(thumbprint, issuerIds.map(holder)),
  );

  function entryOf(row: ActiveIssuer): CachedIssuer {
    const known = entries.get(row.id);
    if (known !== undefined && !isReplacedBy(known.issuer, row)) return known;
    if (known !== undefined) drop(known);
    const entry = newCachedIssuer(essenceOf(row), known?.isListed ?? false, clock());
    entries.set(row.id, entry);
    return entry;
  }

  function drop(entry: CachedIssuer): void {
    const { id } = entry.issuer;
    entry.isDiscarded = true;
    entry.loading?.abort.abort();
    if (entries.get(id) !== entry) return;
    sharedKeys.remove(id);
    entries.delete(id);
  }

  function load(entry: CachedIssuer, row: TrustedIssuer | null): Promise<void> {
    if (entry.loading !== null) return entry.loading.done;
    const abort = new AbortController();
    if (isClosed || entry.isDiscarded) abort.abort();
    const done = loadOnce(entry, row, abort.signal).finally(() => {
      entry.loading = null;
      underWay.delete(done);
    });
    entry.loading = { done, abort };
    underWay.add(done);
    return done;
  }

  async function loadOnce(entry: CachedIssuer, given: TrustedIssuer | null, signal: AbortSignal): Promise<void> {
    const startedAt = stopwatch();
    const outcome = await outcomeOf(entry, given, signal);
    // An answer that comes after the key source has changed must not touch what the new one brought.
    if (outcome === null || signal.aborted || entry.isDiscarded) return;
    const { issuer, lastError } = entry;
    const { id, keySourceType } = issuer;
    const code = outcome.ok ? 'ok' : outcome.error.code;
    if (outcome.ok) {
      recordKeys(entry, outcome.value, clock(), jitter());
      if (!isSelfIssued(issuer)) sharedKeys.replace(id, thumbprintsOf(outcome.value));
    } else {
      recordFailure(entry, outcome.error, clock(), jitter());
    }
    if (keySourceType === 'static_jwks') return;
    observer.fetched({
      issuer: { id, name: issuer.name },
      outcome: code,
      seconds: stopwatch() - startedAt,
      isNews: code !== (lastError?.code ?? 'ok'),
    });
  }

  /** Null where there is nothing to load any more: the row is gone, or is another one. */
  async function outcomeOf(
    entry: CachedIssuer,
    given: TrustedIssuer | null,
    signal: AbortSignal,
  ): Promise<Result<LoadedKeys, KeyLoadFailure> | null> {
    const { id, keySourceRevision } = entry.issuer;
    try {
      const isAsGiven = given?.keySourceRevision === keySourceRevision;
      const row = isAsGiven ? given : await findRow(id);
      if (row === null || (!isAsGiven && !row.isActive)) {
        drop(entry);
        return null;
      }
      if (row.keySourceRevision !== keySourceRevision) {
        drop(entry);
        entryOf(row);
        return null;
      }
      return (await loadIssuerKeys(row, fetchJson, signal)).outcome;
    } catch (error) {
      observer.faulted(id, error);
      return { ok: false, error: { code: 'fault', detail: 'an internal fault; the log has it' } };
    }
  }

  return {
    entries,
    sharedKeys,
    entryOf,
    drop,
    load,
    async close() {
      isClosed = true;
      for (const { loading } of entries.values()) loading?.abort.abort();
      await Promise.all(underWay);
    },
  };
}

function thumbprintsOf({ keys }: LoadedKeys): readonly string[] {
  return keys.map(({ thumbprint }) => thumbprint);
}
