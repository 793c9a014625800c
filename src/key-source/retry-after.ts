/** The `Retry-After` answer header (RFC 9110 §10.2.3) as API servers send it: in seconds. */

/** Seconds, or null where there is none. A date is not taken: it would be read by a clock that is not its sender's. */
export function retryAfterSeconds(header: string | undefined): number | null {
  return header !== undefined && /^\d{1,9}$/.test(header.trim()) ? Number(header) : null;
}
