/**
 * How long a fetched key set lives, and when an issuer is asked again: the numbers and the arithmetic, pure functions
 * of time. All values are seconds.
 */

/** Refreshed at least hourly, whatever the issuer's `max-age` says: a long one must not hide a removed key. */
export const MAX_REFRESH_SECONDS = 3600;
/** And at most once a minute: key endpoints of clouds are throttled. */
export const MIN_REFRESH_SECONDS = 60;
/** The last good set is used this long after the last success while newer ones cannot be had. */
export const MAX_STALE_SECONDS = 24 * 3600;
/** An unknown `kid` fetches again at most once in this time: made-up ones must not become a flood of fetches. */
export const UNKNOWN_KID_COOLDOWN_SECONDS = 300;
/** An issuer nobody asked for in this time is forgotten, and no longer refreshed. */
export const IDLE_SECONDS = 24 * 3600;

/** A failure is remembered for seconds only: long enough to fail fast, short enough to notice the issuer's return. */
const FIRST_BACKOFF_SECONDS = 2;
export const MAX_BACKOFF_SECONDS = 60;
/** While there is no set at all every request is refused: an issuer that is up again must be noticed at once. */
export const MAX_BACKOFF_WITHOUT_KEYS_SECONDS = 5;

/** How long a set just fetched is left alone. */
export function refreshDelaySeconds(maxAgeSeconds: number | null): number {
  return Math.min(Math.max(maxAgeSeconds ?? MAX_REFRESH_SECONDS, MIN_REFRESH_SECONDS), MAX_REFRESH_SECONDS);
}

/**
 * How long to wait after the given number of failures in a row (1 or more): 2, 4, 8 … `maxSeconds`, of which `jitter`
 * (0 up to 1) takes away up to a half, so that replicas that failed together do not come back together.
 */
export function backoffSeconds(failures: number, jitter: number, maxSeconds: number): number {
  const full = Math.min(FIRST_BACKOFF_SECONDS * 2 ** Math.min(failures - 1, 10), maxSeconds);
  return Math.max(1, Math.round(full * (1 - jitter / 2)));
}
