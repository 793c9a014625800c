/**
 * Express middleware that lets a request through only with a good access token, or with an opaque token that the API
 * minted itself where it has such tokens, and answers the others as RFC 6750 §3 wants. It decides nothing about tokens
 * itself; `access-token-verifier.ts` and `bearer-verifier.ts` do.
 *
 * A token in a form body beside the header is noticed when a form parser is mounted before this middleware; one without
 * a parser is never read by anybody.
 *
 * This is the package's `resource` entry: what its users need besides is exported again from here.
 */
import type { Request, RequestHandler, Response } from 'express';
import { isScopeToken } from '../issuance/scope.ts';
import type { Result } from '../result.ts';
import type { VerifiedAccessToken } from './access-token-claims.ts';
import type { AccessTokenRefusal } from './access-token-refusal.ts';
import {
  type AccessTokenVerifier,
  type AccessTokenVerifierOptions,
  createAccessTokenVerifier,
} from './access-token-verifier.ts';
import { type BearerError, bearerChallenge, isRealm } from './bearer-challenge.ts';
import { readBearerCredentials } from './bearer-credentials.ts';
import {
  type Bearer,
  type BearerRefusal,
  createBearerVerifier,
  type OpaqueTokenLookup,
  type OpaqueTokenPrincipal,
} from './bearer-verifier.ts';

export type {
  AccessTokenRefusal,
  AccessTokenVerifier,
  AccessTokenVerifierOptions,
  Bearer,
  BearerRefusal,
  OpaqueTokenLookup,
  OpaqueTokenPrincipal,
  VerifiedAccessToken,
};
export { createAccessTokenVerifier };

export type BearerPolicy<Refusal extends BearerRefusal = AccessTokenRefusal> = {
  /** Shown in challenges; the API's identifier where it is left out. */
  readonly realm?: string;
  /** All of them must be in the token. */
  readonly requiredScopes?: readonly string[];
  /** Hears every refusal with its true reason, for the API's log. */
  readonly onRefused?: (refusal: Refusal | InsufficientScope, request: Request) => void;
};

export type InsufficientScope = {
  readonly reason: 'scope_insufficient';
  /** Null for an opaque token of the API. */
  readonly clientId: string | null;
  readonly missing: readonly string[];
};

/** Either what a verifier needs, or one that several routes share. */
type VerifierChoice = AccessTokenVerifierOptions | { readonly verifier: AccessTokenVerifier };

export type RequireAccessTokenOptions = BearerPolicy & VerifierChoice;

export type RequireBearerTokenOptions<Principal extends OpaqueTokenPrincipal> = BearerPolicy<BearerRefusal> &
  VerifierChoice & {
    /** The API's own tokens: gets every token that is not a compact JWS, and never one that is. */
    readonly opaqueTokens: OpaqueTokenLookup<Principal>;
  };

/** The middleware, which also tells a route whom it let through. */
export type BearerTokenGuard<Principal extends OpaqueTokenPrincipal> = RequestHandler & {
  /** Who sent `request`. Throws where this guard did not run: that route is not protected by it. */
  bearerOf(request: Request): Bearer<Principal>;
};

const STATUS_BY_CODE = { invalid_request: 400, invalid_token: 401, insufficient_scope: 403 } as const;

const verifiedTokens = new WeakMap<Request, VerifiedAccessToken>();

/** Middleware for access tokens alone. Settings that cannot be used throw a `TypeError`. */
export function requireAccessToken(options: RequireAccessTokenOptions): RequestHandler {
  const verifier = verifierOf(options);
  return createGuard({
    policy: options,
    audience: verifier.audience,
    verify: (token) => verifier.verify(token),
    holderOf: (token) => token,
    onAccepted: (request, token) => verifiedTokens.set(request, token),
  });
}

/** The token that let `request` through. Throws where `requireAccessToken` did not run: that route is not protected. */
export function accessTokenOf(request: Request): VerifiedAccessToken {
  const token = verifiedTokens.get(request);
  if (token === undefined) throw new Error('accessTokenOf needs requireAccessToken before it on this route');
  return token;
}

/**
 * Middleware for access tokens and for the API's own opaque tokens. A compact JWS is only ever verified, anything else
 * only ever looked up. Settings that cannot be used throw a `TypeError`.
 */
export function requireBearerToken<Principal extends OpaqueTokenPrincipal>(
  options: RequireBearerTokenOptions<Principal>,
): BearerTokenGuard<Principal> {
  const verifier = verifierOf(options);
  const bearers = new WeakMap<Request, Bearer<Principal>>();
  const guard = createGuard<Bearer<Principal>, BearerRefusal>({
    policy: options,
    audience: verifier.audience,
    verify: createBearerVerifier(verifier, options.opaqueTokens),
    holderOf: (bearer) =>
      bearer.kind === 'access_token' ? bearer.token : { scopes: bearer.principal.scopes, clientId: null },
    onAccepted: (request, bearer) => bearers.set(request, bearer),
  });
  return Object.assign(guard, {
    bearerOf(request: Request) {
      const bearer = bearers.get(request);
      if (bearer === undefined) throw new Error('bearerOf needs its requireBearerToken before it on this route');
      return bearer;
    },
  });
}

function verifierOf(options: VerifierChoice): AccessTokenVerifier {
  return 'verifier' in options ? options.verifier : createAccessTokenVerifier(options);
}

type GuardParts<Accepted, Refusal extends BearerRefusal> = {
  readonly policy: BearerPolicy<Refusal>;
  readonly audience: string;
  readonly verify: (token: string) => Promise<Result<Accepted, Refusal>>;
  readonly holderOf: (accepted: Accepted) => {
    readonly scopes: readonly string[];
    readonly clientId: string | null;
  };
  readonly onAccepted: (request: Request, accepted: Accepted) => void;
};

function createGuard<Accepted, Refusal extends BearerRefusal>({
  policy,
  audience,
  verify,
  holderOf,
  onAccepted,
}: GuardParts<Accepted, Refusal>): RequestHandler {
  const { requiredScopes = [], realm = audience, onRefused } = policy;
  if (!isRealm(realm)) throw new TypeError('realm must be printable ASCII');
  const unusable = requiredScopes.find((scope) => !isScopeToken(scope));
  if (unusable !== undefined) throw new TypeError(`requiredScopes: ${JSON.stringify(unusable)} is not a scope`);

  return async (request, response, next) => {
    const credentials = readBearerCredentials({
      rawHeaders: request.rawHeaders,
      url: request.originalUrl,
      form: request.is('application/x-www-form-urlencoded') ? request.body : undefined,
    });
    if (credentials.kind === 'none') {
      response
        .status(401)
        .set({ 'WWW-Authenticate': bearerChallenge(realm, null), 'Cache-Control': 'no-store' })
        .end();
      return;
    }
    if (credentials.kind === 'malformed') {
      sendError(response, realm, { code: 'invalid_request', description: credentials.detail });
      return;
    }
    const verdict = await verify(credentials.token);
    if (!verdict.ok) {
      onRefused?.(verdict.error, request);
      sendRefusal(response, realm, verdict.error);
      return;
    }
    const { scopes, clientId } = holderOf(verdict.value);
    const missing = requiredScopes.filter((scope) => !scopes.includes(scope));
    if (missing.length > 0) {
      onRefused?.({ reason: 'scope_insufficient', clientId, missing }, request);
      sendError(response, realm, {
        code: 'insufficient_scope',
        description: 'the token lacks a scope that this request needs',
        scopes: requiredScopes,
      });
      return;
    }
    onAccepted(request, verdict.value);
    next();
  };
}

/**
 * One answer for every bad token of either kind: which check failed is nothing that whoever holds a bad token needs to
 * know. Where nobody could check it, it is not called bad.
 */
function sendRefusal(response: Response, realm: string, refusal: BearerRefusal): void {
  if (refusal.reason === 'keys_unavailable' || refusal.reason === 'opaque_lookup_failed') {
    response
      .status(503)
      .set({ 'Retry-After': String(refusal.retryAfterSeconds), 'Cache-Control': 'no-store' })
      .json({ error: 'temporarily_unavailable' });
    return;
  }
  sendError(response, realm, {
    code: 'invalid_token',
    description: 'the token is expired, malformed, or not meant for this API',
  });
}

function sendError(response: Response, realm: string, error: BearerError): void {
  response
    .status(STATUS_BY_CODE[error.code])
    .set({ 'WWW-Authenticate': bearerChallenge(realm, error), 'Cache-Control': 'no-store' })
    .json({ error: error.code, error_description: error.description });
}
