/** What any outbound request must say, and the shape of the one that carries a credential. */
import type { Result } from '../result.ts';
import type { FetchFailure } from './fetch-failure.ts';

export type OutboundRequest = {
  /** Certificates that replace the system's roots (and `NODE_EXTRA_CA_CERTS`); null for those. */
  readonly caPem: string | null;
  /** The row's consent to private addresses; the operator's list must have them too. */
  readonly allowPrivateNetwork: boolean;
  readonly signal?: AbortSignal;
};

export type PostJsonRequest = OutboundRequest & {
  readonly body: unknown;
  /** For the `Authorization` header; null for none. */
  readonly bearerToken: string | null;
  readonly clientCertificate: { readonly certPem: string; readonly keyPem: string } | null;
  /** At most the deadline of the whole. */
  readonly deadlineMs: number;
};

export type PostedJson = {
  /** Anything but a redirect. */
  readonly status: number;
  /** Of 200 and 201; null for any other status, whose body is not read. */
  readonly document: unknown;
  /** Seconds; null where the answer names none. */
  readonly retryAfterSeconds: number | null;
};

/**
 * One POST of one JSON document, over https alone and to this URL alone: the credential goes nowhere else. It is sent
 * once. Every expected failure is a value, and neither the body nor the credential is in it.
 */
export type PostJson = (url: string, request: PostJsonRequest) => Promise<Result<PostedJson, FetchFailure>>;
