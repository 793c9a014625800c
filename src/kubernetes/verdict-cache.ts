/**
 * Verdicts of one cluster that said yes, for seconds: a workload that shows one assertion many times is asked about
 * once. A no is never kept. Off unless switched on: a deleted pod keeps its access for as long as this remembers it.
 */
import { createHash } from 'node:crypto';
import type { ReviewVerdict } from '../assertion/ports.ts';
import type { Stopwatch } from '../clock.ts';

/** The API server itself remembers a yes as long (TokenSuccessCacheTTL). */
export const MAX_CACHE_SECONDS = 10;
/** 16 in flight at 20 ms each make 800 a second: a few seconds of them. Beyond, the oldest go. */
export const MAX_VERDICTS = 4096;

type Authenticated = Extract<ReviewVerdict, { kind: 'authenticated' }>;

export type VerdictCache = {
  find(assertion: string): Authenticated | null;
  keep(assertion: string, verdict: Authenticated): void;
};

/**
 * `seconds`: 0 keeps nothing, more than `MAX_CACHE_SECONDS` is as much. It knows no `exp`: the caller checks that of
 * each assertion before it asks, so an expired one never gets as far as here.
 */
export function createVerdictCache(seconds: number, stopwatch: Stopwatch): VerdictCache {
  const lifetime = Math.min(seconds, MAX_CACHE_SECONDS);
  const verdicts = new Map<string, { readonly verdict: Authenticated; readonly until: number }>();
  if (lifetime <= 0) return { find: () => null, keep: () => {} };

  return {
    find(assertion) {
      const key = digest(assertion);
      const kept = verdicts.get(key);
      if (kept === undefined) return null;
      if (stopwatch() < kept.until) return kept.verdict;
      verdicts.delete(key);
      return null;
    },
    keep(assertion, verdict) {
      const now = stopwatch();
      const key = digest(assertion);
      verdicts.delete(key);
      verdicts.set(key, { verdict, until: now + lifetime });
      // All live equally long, so the first in is the first out.
      for (const [oldest, { until }] of verdicts) {
        if (until > now && verdicts.size <= MAX_VERDICTS) break;
        verdicts.delete(oldest);
      }
    },
  };
}

/** Assertions are credentials: not even memory holds one longer than its request. */
function digest(assertion: string): string {
  return createHash('sha256').update(assertion).digest('base64url');
}
