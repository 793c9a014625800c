/**
 * Two kinds of bearer at one door: access tokens of the authorization server, and opaque tokens that the API minted
 * itself. The shape of a token decides who looks at it, once and for good: there is no second try with the other.
 */
import { describeFetchFault } from '../client/bounded-fetch.ts';
import { err, ok, type Result } from '../result.ts';
import type { VerifiedAccessToken } from './access-token-claims.ts';
import type { AccessTokenRefusal } from './access-token-refusal.ts';
import type { AccessTokenVerifier } from './access-token-verifier.ts';
import { hasJwsShape } from './jws-shape.ts';
import { MAX_TOKEN_LENGTH } from './signed-access-token.ts';

/** The least that an API says about the holder of an opaque token of its own. */
export type OpaqueTokenPrincipal = {
  /** Checked against `requiredScopes` like those of an access token; empty where the API knows none. */
  readonly scopes: readonly string[];
};

/**
 * Whose opaque token this is; null (or undefined, as a `Map` answers) for nobody's. It compares digests or asks a
 * database, and rejects when it cannot tell: an outage must not look like bad credentials.
 */
export type OpaqueTokenLookup<Principal extends OpaqueTokenPrincipal> = (
  token: string,
) => Promise<Principal | null | undefined>;

/** Who is at the door, and by which kind of token. */
export type Bearer<Principal extends OpaqueTokenPrincipal> =
  | { readonly kind: 'access_token'; readonly token: VerifiedAccessToken }
  | { readonly kind: 'opaque_token'; readonly principal: Principal };

export type OpaqueTokenRefusal =
  | { readonly reason: 'opaque_token_unknown' }
  /** `detail` is a code or the kind of error, never its text, which may hold the token. */
  | { readonly reason: 'opaque_lookup_failed'; readonly detail: string; readonly retryAfterSeconds: number };

export type BearerRefusal = AccessTokenRefusal | OpaqueTokenRefusal;

/** The API's own store is close by: it is back soon, or its operator hears of it. */
const LOOKUP_RETRY_AFTER_SECONDS = 5;

/**
 * A function that says who holds a token. A compact JWS goes to `verifier` and to nobody else: a forged one that fell
 * through would bring text of the attacker's choice to the look-up. Anything else goes to `lookup` and to nobody else:
 * an API's own token costs no key fetch and is never parsed as what it is not.
 */
export function createBearerVerifier<Principal extends OpaqueTokenPrincipal>(
  verifier: AccessTokenVerifier,
  lookup: OpaqueTokenLookup<Principal>,
): (token: string) => Promise<Result<Bearer<Principal>, BearerRefusal>> {
  return async (token) => {
    if (token.length > MAX_TOKEN_LENGTH) return err({ reason: 'token_malformed', detail: 'too long' });
    if (!hasJwsShape(token)) return lookUpOpaque(lookup, token);
    const verdict = await verifier.verify(token);
    return verdict.ok ? ok({ kind: 'access_token', token: verdict.value }) : verdict;
  };
}

async function lookUpOpaque<Principal extends OpaqueTokenPrincipal>(
  lookup: OpaqueTokenLookup<Principal>,
  token: string,
): Promise<Result<Bearer<Principal>, OpaqueTokenRefusal>> {
  try {
    const principal = await lookup(token);
    if (principal === null || principal === undefined) return err({ reason: 'opaque_token_unknown' });
    return ok({ kind: 'opaque_token', principal });
  } catch (error) {
    return err({
      reason: 'opaque_lookup_failed',
      detail: describeFetchFault(error),
      retryAfterSeconds: LOOKUP_RETRY_AFTER_SECONDS,
    });
  }
}
