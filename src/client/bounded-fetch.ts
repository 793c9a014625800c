/**
 * How a library of ours calls the authorization server: one deadline for the whole answer, a ceiling on its size, and
 * no redirect. It knows no OAuth; what a status means is for its callers.
 */

/** The platform's `fetch`, or one with its shape. */
export type Fetch = typeof globalThis.fetch;

export type FetchLimits = {
  /** For connecting, headers and body together. */
  readonly timeoutMilliseconds: number;
  readonly maxBytes: number;
};

/** The limits where the caller names none. Metadata, key sets and token answers have a few KiB. */
export const DEFAULT_FETCH_LIMITS: FetchLimits = { timeoutMilliseconds: 10_000, maxBytes: 256 * 1024 };

/** The answer was longer than the ceiling; asking again would not make it shorter. */
export class ResponseTooLargeError extends Error {
  override readonly name = 'ResponseTooLargeError';
  readonly maxBytes: number;

  constructor(maxBytes: number) {
    super(`the answer is longer than ${maxBytes} bytes`);
    this.maxBytes = maxBytes;
  }
}

/** Statuses that never have a body; a `Response` of theirs must not be made with one. */
const BODILESS_STATUSES: readonly number[] = [204, 205, 304];

/**
 * Wraps `fetch`. The answer comes with its body already read, so that a slow or endless body counts against the limits
 * as well. Rejects as `fetch` does, with a `TimeoutError` at the deadline, or with `ResponseTooLargeError`. A redirect
 * is an answer like any other: following one would hand the credential in the body to whoever is named there.
 */
export function boundedFetch(fetch: Fetch, limits: FetchLimits): (url: string, init: RequestInit) => Promise<Response> {
  return async (url, init) => {
    const response = await fetch(url, {
      ...init,
      redirect: 'manual',
      signal: AbortSignal.timeout(limits.timeoutMilliseconds),
    });
    const bytes = await readAtMost(response, limits.maxBytes);
    return new Response(BODILESS_STATUSES.includes(response.status) ? null : bytes, {
      status: response.status,
      headers: response.headers,
    });
  };
}

async function readAtMost(response: Response, maxBytes: number): Promise<Blob> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  for await (const chunk of response.body ?? []) {
    length += chunk.byteLength;
    if (length > maxBytes) throw new ResponseTooLargeError(maxBytes);
    chunks.push(chunk);
  }
  return new Blob(chunks);
}

/**
 * Why no answer came: a code such as `ECONNREFUSED`, or the kind of error. Never its text, which may hold what was sent.
 */
export function describeFetchFault(error: unknown): string {
  if (error instanceof ResponseTooLargeError) return error.message;
  if (!(error instanceof Error)) return 'unknown fault';
  for (const candidate of [error.cause, error]) {
    if (candidate instanceof Error && 'code' in candidate && typeof candidate.code === 'string') return candidate.code;
  }
  return error.name;
}
