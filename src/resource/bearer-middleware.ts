/**
 * Express middleware that lets a request through only with a good access token, and answers the others as RFC 6750 §3
 * wants. It decides nothing about tokens itself; `access-token-verifier.ts` does.
 *
 * A token in a form body beside the header is noticed when a form parser is mounted before this middleware; one without
 * a parser is never read by anybody.
 *
 * This is the package's `resource` entry: what its users need besides is exported again from here.
 */
import type { Request, RequestHandler, Response } from 'express';
import { isScopeToken } from '../issuance/scope.ts';
import type { VerifiedAccessToken } from './access-token-claims.ts';
import type { AccessTokenRefusal } from './access-token-refusal.ts';
import {
  type AccessTokenVerifier,
  type AccessTokenVerifierOptions,
  createAccessTokenVerifier,
} from './access-token-verifier.ts';
import { type BearerError, bearerChallenge, isRealm } from './bearer-challenge.ts';
import { readBearerCredentials } from './bearer-credentials.ts';

export type { AccessTokenRefusal, AccessTokenVerifier, AccessTokenVerifierOptions, VerifiedAccessToken };
export { createAccessTokenVerifier };

export type BearerPolicy = {
  /** Shown in challenges; the API's identifier where it is left out. */
  readonly realm?: string;
  /** All of them must be in the token. */
  readonly requiredScopes?: readonly string[];
  /** Hears every refusal with its true reason, for the API's log. */
  readonly onRefused?: (refusal: AccessTokenRefusal | InsufficientScope, request: Request) => void;
};

export type InsufficientScope = {
  readonly reason: 'scope_insufficient';
  readonly clientId: string;
  readonly missing: readonly string[];
};

/** Either what a verifier needs, or one that several routes share. */
export type RequireAccessTokenOptions = BearerPolicy &
  (AccessTokenVerifierOptions | { readonly verifier: AccessTokenVerifier });

const STATUS_BY_CODE = { invalid_request: 400, invalid_token: 401, insufficient_scope: 403 } as const;

const verifiedTokens = new WeakMap<Request, VerifiedAccessToken>();

/** The middleware. Settings that cannot be used throw a `TypeError`. */
export function requireAccessToken(options: RequireAccessTokenOptions): RequestHandler {
  const verifier = 'verifier' in options ? options.verifier : createAccessTokenVerifier(options);
  const { requiredScopes = [], realm = verifier.audience, onRefused } = options;
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
    const verdict = await verifier.verify(credentials.token);
    if (!verdict.ok) {
      onRefused?.(verdict.error, request);
      sendRefusal(response, realm, verdict.error);
      return;
    }
    const missing = requiredScopes.filter((scope) => !verdict.value.scopes.includes(scope));
    if (missing.length > 0) {
      onRefused?.({ reason: 'scope_insufficient', clientId: verdict.value.clientId, missing }, request);
      sendError(response, realm, {
        code: 'insufficient_scope',
        description: 'the token lacks a scope that this request needs',
        scopes: requiredScopes,
      });
      return;
    }
    verifiedTokens.set(request, verdict.value);
    next();
  };
}

/** The token that let `request` through. Throws where `requireAccessToken` did not run: that route is not protected. */
export function accessTokenOf(request: Request): VerifiedAccessToken {
  const token = verifiedTokens.get(request);
  if (token === undefined) throw new Error('accessTokenOf needs requireAccessToken before it on this route');
  return token;
}

/** One answer for every bad token: which check failed is nothing that whoever holds a bad token needs to know. */
function sendRefusal(response: Response, realm: string, refusal: AccessTokenRefusal): void {
  if (refusal.reason === 'keys_unavailable') {
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
