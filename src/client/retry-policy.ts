/**
 * When to try again: `Retry-After` as the server wrote it, exponential back-off with jitter where it wrote nothing. Pure.
 */

/** First wait after a fault, in milliseconds; it doubles from there. */
const FIRST_BACKOFF_MILLISECONDS = 250;
const MAX_BACKOFF_MILLISECONDS = 5_000;
/** After a whole series of attempts has failed. */
const FIRST_COOLDOWN_SECONDS = 2;
const MAX_COOLDOWN_SECONDS = 60;
/** A proxy that says "come back in a year" must not silence a workload for a year. */
const MAX_RETRY_AFTER_SECONDS = 900;

/** `IMF-fixdate` of RFC 9110 §5.6.7, the only date form that may be generated. */
const IMF_FIXDATE = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/**
 * `Retry-After` (RFC 9110 §10.2.3), seconds or HTTP-date, as seconds from `now`: never negative, at most
 * `MAX_RETRY_AFTER_SECONDS`. Null where there is none that can be read.
 */
export function parseRetryAfter(value: string | null, now: number): number | null {
  if (value === null) return null;
  if (/^\d+$/.test(value)) return Math.min(Number(value), MAX_RETRY_AFTER_SECONDS);
  if (!IMF_FIXDATE.test(value)) return null;
  const seconds = Math.ceil(Date.parse(value) / 1000 - now);
  return Number.isNaN(seconds) ? null : Math.min(Math.max(seconds, 0), MAX_RETRY_AFTER_SECONDS);
}

/**
 * Milliseconds to wait before the attempt after `failedAttempts` failed ones. Half of the back-off is random, so that
 * workloads that lost the server together do not come back together.
 *
 * @param random in [0, 1)
 */
export function retryDelayMilliseconds(
  failedAttempts: number,
  retryAfterSeconds: number | null,
  random: number,
): number {
  const backoff = Math.min(FIRST_BACKOFF_MILLISECONDS * 2 ** (failedAttempts - 1), MAX_BACKOFF_MILLISECONDS);
  return Math.round((retryAfterSeconds ?? 0) * 1000 + backoff * (0.5 + random / 2));
}

/** Whole seconds without a request after `failedSeries` series of attempts have failed in a row. */
export function cooldownSeconds(failedSeries: number, retryAfterSeconds: number | null, random: number): number {
  const backoff = Math.min(FIRST_COOLDOWN_SECONDS * 2 ** (failedSeries - 1), MAX_COOLDOWN_SECONDS);
  return Math.ceil((retryAfterSeconds ?? 0) + backoff * (0.5 + random / 2));
}
