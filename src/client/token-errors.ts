/**
 * How getting a token can fail, for those who call the token client. None of these carries a token, an assertion, or
 * anything else that the server sent but its error code and request id.
 */

/** What the server said about the request: enough to find its audit record. */
type ServerAnswer = {
  readonly status: number;
  /** The `error` member of RFC 6749 §5.2; null where the answer was not an OAuth error. */
  readonly error: string | null;
  /** From `x-request-id`; the server's audit record with this id has the reason. */
  readonly requestId: string | null;
};

/** The server looked at the request and said no. The same assertion will get the same answer. */
export class TokenRequestRefused extends Error {
  override readonly name = 'TokenRequestRefused';
  readonly status: number;
  readonly error: string | null;
  readonly requestId: string | null;

  constructor({ status, error, requestId }: ServerAnswer) {
    super(`the token request was refused: ${status} ${error ?? 'without an OAuth error'}${requestNote(requestId)}`);
    this.status = status;
    this.error = error;
    this.requestId = requestId;
  }
}

/** There is no usable answer right now: no connection, overload, a server fault, or not an OAuth server at all. */
export class TokenEndpointUnavailable extends Error {
  override readonly name = 'TokenEndpointUnavailable';
  /** A phrase such as `ECONNREFUSED` or `answered with 503`. */
  readonly detail: string;
  readonly status: number | null;
  readonly requestId: string | null;
  /** Until then the token client answers from its memory, without a request. */
  readonly retryAfterSeconds: number;

  constructor(fault: {
    readonly detail: string;
    readonly status: number | null;
    readonly requestId: string | null;
    readonly retryAfterSeconds: number;
  }) {
    super(`the token endpoint is unavailable: ${fault.detail}${requestNote(fault.requestId)}`);
    this.detail = fault.detail;
    this.status = fault.status;
    this.requestId = fault.requestId;
    this.retryAfterSeconds = fault.retryAfterSeconds;
  }
}

function requestNote(requestId: string | null): string {
  return requestId === null ? '' : ` (request ${requestId})`;
}
