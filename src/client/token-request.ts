/**
 * One token request (RFC 6749 §4.4 with the client authentication of RFC 7523 §2.2) and what came of it, as a value.
 * It remembers nothing but where the token endpoint is; when to ask, and whether to ask again, is `token-client.ts`'s.
 */
import {
  type AuthorizationServer,
  allowInsecureRequests,
  type Client,
  type ClientAuth,
  clientCredentialsGrantRequest,
  customFetch,
  processClientCredentialsResponse,
} from 'oauth4webapi';
import type { Clock } from '../clock.ts';
import { err, ok, type Result } from '../result.ts';
import { isIdClaim, readAssignedId } from './assigned-id.ts';
import {
  boundedFetch,
  DEFAULT_FETCH_LIMITS,
  describeFetchFault,
  type Fetch,
  ResponseTooLargeError,
} from './bounded-fetch.ts';
import { parseEndpointAddress, requireEndpointAddress } from './endpoint-address.ts';
import { parseRetryAfter } from './retry-policy.ts';
import { fetchServerMetadata } from './server-metadata.ts';

export type AccessToken = {
  readonly accessToken: string;
  /** Seconds since the epoch, by this machine's clock. */
  readonly expiresAt: number;
  /** Space-separated, as granted (RFC 6749 §3.3). */
  readonly scope: string;
  /** The name that the server gave this workload, from the answer or from the token; null where it gave none. */
  readonly assignedId: string | null;
};

export type TokenRequestOutcome =
  | { readonly kind: 'issued'; readonly token: AccessToken }
  | {
      readonly kind: 'refused';
      readonly status: number;
      readonly error: string | null;
      readonly requestId: string | null;
    }
  | {
      readonly kind: 'unavailable';
      readonly detail: string;
      readonly status: number | null;
      readonly requestId: string | null;
      readonly retryAfterSeconds: number | null;
      /** Whether the same request may succeed in a moment. */
      readonly isTransient: boolean;
    };

export type TokenRequestSettings = {
  readonly issuer: string;
  /** Null: from the issuer's metadata. */
  readonly tokenEndpoint: string | null;
  readonly clientId: string | null;
  readonly scope: string | null;
  readonly resources: readonly string[];
  readonly idClaim: string;
  readonly allowInsecureEndpoint: boolean;
  readonly timeoutMilliseconds: number;
  readonly fetch: Fetch;
  readonly clock: Clock;
};

const CLIENT_ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
/** RFC 6749 §5.1 only recommends `expires_in`; without it the token is not kept for longer than this. */
const ASSUMED_LIFETIME_SECONDS = 60;
/** `access_token` as it may travel in a header (RFC 6750 §2.1). */
const BEARER_TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/;
/** Narrower than RFC 6749 allows: no server can put an echo of the assertion through it into a log. */
const ERROR_CODE = /^[a-z_]{1,64}$/;
const REQUEST_ID = /^[A-Za-z0-9_-]{1,64}$/;
/** Statuses that speak of the moment and not of the request (RFC 9110 §15, RFC 6585 §4); so does every 5xx. */
const TRANSIENT_CLIENT_STATUSES: readonly number[] = [408, 429];

/**
 * A function that presents an assertion once; its promise never rejects. Settings that cannot be used throw a
 * `TypeError` here, before anything is sent.
 */
export function createTokenRequest(
  settings: TokenRequestSettings,
): (assertion: string) => Promise<TokenRequestOutcome> {
  const { issuer, tokenEndpoint, idClaim, allowInsecureEndpoint, clock } = settings;
  if (!isIdClaim(idClaim))
    throw new TypeError(`idClaim ${JSON.stringify(idClaim)} is not a claim that names a workload`);
  // Where the endpoint is given, the issuer is only a name: nothing is fetched from it.
  if (tokenEndpoint === null) requireEndpointAddress('issuer', issuer, allowInsecureEndpoint);
  else requireEndpointAddress('tokenEndpoint', tokenEndpoint, allowInsecureEndpoint);
  const fetch = boundedFetch(settings.fetch, {
    ...DEFAULT_FETCH_LIMITS,
    timeoutMilliseconds: settings.timeoutMilliseconds,
  });
  const parameters = requestParameters(settings);
  // Without a client_id the server finds the client by the assertion; the library wants a name all the same, and sends
  // none of it.
  const client: Client = { client_id: settings.clientId ?? 'found-by-the-assertion' };
  let server: AuthorizationServer | null = tokenEndpoint === null ? null : { issuer, token_endpoint: tokenEndpoint };

  async function findServer(): Promise<Result<AuthorizationServer, TokenRequestOutcome>> {
    if (server !== null) return ok(server);
    const { response, metadata } = await fetchServerMetadata(issuer, fetch, allowInsecureEndpoint);
    if (!metadata.ok) return err(unavailable(response, metadata.error, clock()));
    const address = metadata.value.token_endpoint;
    if (address === undefined) return err(unavailable(response, 'the metadata has no token_endpoint', clock()));
    const parsed = parseEndpointAddress('token_endpoint of the metadata', address, allowInsecureEndpoint);
    if (!parsed.ok) return err(unavailable(response, parsed.error, clock()));
    server = metadata.value;
    return ok(server);
  }

  return async (assertion) => {
    try {
      const found = await findServer();
      if (!found.ok) return found.error;
      const sentAt = clock();
      const response = await clientCredentialsGrantRequest(found.value, client, presenting(assertion), parameters, {
        [allowInsecureRequests]: true,
        [customFetch]: (url, { method, headers, body }) => fetch(url, { method, headers, body }),
      });
      return response.status === 200
        ? await readIssued(found.value, client, response, settings, sentAt)
        : await readFailure(response, clock());
    } catch (error) {
      return noAnswer(error);
    }
  };
}

function requestParameters({ clientId, scope, resources }: TokenRequestSettings): URLSearchParams {
  const parameters = new URLSearchParams();
  if (clientId !== null) parameters.set('client_id', clientId);
  if (scope !== null) parameters.set('scope', scope);
  for (const resource of resources) parameters.append('resource', resource);
  return parameters;
}

/** RFC 7523 §2.2 with an assertion that somebody else signed; the library itself only knows self-signed ones. */
function presenting(assertion: string): ClientAuth {
  return (_server, _client, body) => {
    body.set('client_assertion_type', CLIENT_ASSERTION_TYPE);
    body.set('client_assertion', assertion);
  };
}

async function readIssued(
  server: AuthorizationServer,
  client: Client,
  response: Response,
  { scope, idClaim }: TokenRequestSettings,
  sentAt: number,
): Promise<TokenRequestOutcome> {
  try {
    const body = await processClientCredentialsResponse(server, client, response);
    if (body.token_type === 'bearer' && BEARER_TOKEN.test(body.access_token)) {
      return {
        kind: 'issued',
        token: {
          accessToken: body.access_token,
          // Counted from before the request, so the answer's way back shortens the token's life and never stretches it.
          expiresAt: sentAt + Math.floor(body.expires_in ?? ASSUMED_LIFETIME_SECONDS),
          scope: body.scope ?? scope ?? '',
          assignedId: readAssignedId(body, body.access_token, idClaim),
        },
      };
    }
  } catch {
    // The library's error carries the answer's body, and with it maybe a token: it goes no further.
  }
  return unavailable(response, 'the answer is not a bearer token response (RFC 6749 §5.1)', sentAt);
}

async function readFailure(response: Response, now: number): Promise<TokenRequestOutcome> {
  const { status } = response;
  const isRefusal = status >= 400 && status < 500 && !TRANSIENT_CLIENT_STATUSES.includes(status);
  if (!isRefusal) return unavailable(response, `answered with ${status}`, now);
  return { kind: 'refused', status, error: await readErrorCode(response), requestId: readRequestId(response) };
}

async function readErrorCode(response: Response): Promise<string | null> {
  try {
    const body: unknown = await response.json();
    if (typeof body !== 'object' || body === null || !('error' in body)) return null;
    return typeof body.error === 'string' && ERROR_CODE.test(body.error) ? body.error : null;
  } catch {
    return null;
  }
}

function readRequestId(response: Response): string | null {
  const requestId = response.headers.get('x-request-id');
  return requestId !== null && REQUEST_ID.test(requestId) ? requestId : null;
}

function unavailable(response: Response, detail: string, now: number): TokenRequestOutcome {
  const { status } = response;
  const isTransient = status >= 500 || TRANSIENT_CLIENT_STATUSES.includes(status);
  return {
    kind: 'unavailable',
    detail,
    status,
    requestId: readRequestId(response),
    retryAfterSeconds: isTransient ? parseRetryAfter(response.headers.get('retry-after'), now) : null,
    isTransient,
  };
}

function noAnswer(error: unknown): TokenRequestOutcome {
  return {
    kind: 'unavailable',
    detail: describeFetchFault(error),
    status: null,
    requestId: null,
    retryAfterSeconds: null,
    isTransient: !(error instanceof ResponseTooLargeError),
  };
}
