/**
 * How long a fetched key set lives, and when an issuer is asked again: the numbers and the arithmetic, pure functions
 * of time. All values are seconds.
 */

/** Refreshed at least hourly, whatever the issuer's `max-age` says: a long one must not hide a removed key. */
export const MAX_REFRESH_SECONDS = 3600;
/** And at most once a minute: key endpoints of clouds are throttled. */
export const MIN_REFRESH_SECONDS = 60;
/** Largest part of a refresh's time that chance takes away: sets that were loaded together must not fall due together. */
const REFRESH_JITTER = 0.1;
/** The last good set is used this long after the last success while newer ones cannot be had. */
export const MAX_STALE_SECONDS = 24 * 3600;
/**
 * An unknown `kid` fetches again at most once in this time: made-up ones must not become a flood of fetches.
 *
 * The worst case: anyone who knows an issuer string can spend the budget with an invented `kid`, just before the issuer
 * publishes a new key and signs with it at once. Tokens of that key are then refused (`kid_unknown`) until the budget
 * is there again or the set is refreshed, whichever comes first: at most 5 minutes, per process. While the one fetch
 * fails it is 503 instead, and its pause is that of a failed fetch. A key that was published a refresh (1 hour) before
 * it signs anything is in every set by then, and meets none of this.
 */
export const UNKNOWN_KID_COOLDOWN_SECONDS = 300;
/** Keys that belong to no registered issuer, those of a client, are forgotten after this time without use. */
export const IDLE_SECONDS = 24 * 3600;
/**
 * While two issuers publish one key, both are asked this often: nobody can use either, so the mend must not wait for
 * the hourly refresh. It is the `Retry-After` of the refusal too.
 */
export const SHARED_KEY_RETRY_SECONDS = 60;

/** A failure is remembered for seconds only: long enough to fail fast, short enough to notice the issuer's return. */
const FIRST_BACKOFF_SECONDS = 2;
export const MAX_BACKOFF_SECONDS = 60;
/** While there is no set at all every request is refused: an issuer that is up again must be noticed at once. */
export const MAX_BACKOFF_WITHOUT_KEYS_SECONDS = 5;
/**
 * Without a request nobody is in a hurry: thousands of issuers that are away together must fill neither the network
 * nor the log.
 */
const FIRST_BACKGROUND_BACKOFF_SECONDS = 60;
const MAX_BACKGROUND_BACKOFF_SECONDS = 300;

/**
 * How long a set just fetched is left alone: `max-age` within its bounds, of which `jitter` (0 up to 1) takes away up to
 * a tenth; it never adds any.
 */
export function refreshDelaySeconds(maxAgeSeconds: number | null, jitter: number): number {
  const full = Math.min(Math.max(maxAgeSeconds ?? MAX_REFRESH_SECONDS, MIN_REFRESH_SECONDS), MAX_REFRESH_SECONDS);
  return Math.max(MIN_REFRESH_SECONDS, Math.round(full * (1 - jitter * REFRESH_JITTER)));
}

/**
 * How long a request must wait for the next try after the given number of failures in a row (1 or more): 2, 4, 8 …
 * `maxSeconds`, of which `jitter` (0 up to 1) takes away up to a half, so that replicas that failed together do not
 * come back together.
 */
export function backoffSeconds(failures: number, jitter: number, maxSeconds: number): number {
  return halvedAtMost(Math.min(FIRST_BACKOFF_SECONDS * 2 ** Math.min(failures - 1, 10), maxSeconds), jitter);
}

/** The same for a try that no request asks for: 60, 120, 240, 300 …. */
export function backgroundBackoffSeconds(failures: number, jitter: number): number {
  const full = FIRST_BACKGROUND_BACKOFF_SECONDS * 2 ** Math.min(failures - 1, 10);
  return halvedAtMost(Math.min(full, MAX_BACKGROUND_BACKOFF_SECONDS), jitter);
}

function halvedAtMost(seconds: number, jitter: number): number {
  return Math.max(1, Math.round(seconds * (1 - jitter / 2)));
}
