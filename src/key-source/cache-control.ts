/** The one thing we take from a `Cache-Control` answer header (RFC 9111 §5.2.2.1): how long a set is said to be good. */

/**
 * `max-age` in seconds, or null where there is none. `no-store` and `no-cache` are not taken as zero: key endpoints
 * carry them by habit, and an unknown `kid` makes us look again anyway.
 */
export function cacheControlMaxAge(header: string | undefined): number | null {
  const match = /(?:^|,)\s*max-age\s*=\s*"?(\d{1,10})"?\s*(?:,|$)/i.exec(header ?? '');
  return match?.[1] === undefined ? null : Number(match[1]);
}
