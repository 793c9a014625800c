/**
 * The order of checks for an access token at a protected API (RFC 9068 §4): form, issuer, key and signature, claims. It
 * knows no HTTP requests; `bearer-middleware.ts` turns its verdicts into answers.
 *
 * It asks nobody about the single token: one that was revoked is accepted until it expires. An API that cannot live
 * with that asks the server's introspection endpoint (RFC 7662).
 */
import { isSignatureValid } from '../assertion/jws-algorithm.ts';
import type { Fetch } from '../client/bounded-fetch.ts';
import { type Clock, systemClock } from '../clock.ts';
import { err, type Result } from '../result.ts';
import { readAccessTokenClaims, type VerifiedAccessToken } from './access-token-claims.ts';
import type { AccessTokenRefusal } from './access-token-refusal.ts';
import { createServerKeys } from './server-keys.ts';
import { parseSignedAccessToken } from './signed-access-token.ts';

export type AccessTokenVerifierOptions = {
  /** The authorization server's issuer identifier, exactly as it writes it. */
  readonly issuer: string;
  /** This API's own identifier: what callers ask for as `resource`. */
  readonly audience: string;
  /** Where the server's keys are; from its metadata (RFC 8414) where it is left out. */
  readonly jwksUri?: string;
  /** Accept only tokens of clients of this organization. */
  readonly organizationId?: string;
  /** Fetch keys over plain http from a host that is not loopback: an in-cluster Service. */
  readonly allowInsecureEndpoint?: boolean;
  readonly fetch?: Fetch;
  readonly clock?: Clock;
};

export type AccessTokenVerifier = {
  readonly audience: string;
  /** What the token says, if it is good. Refusals are values; `keys_unavailable` is the only one that may pass. */
  verify(token: string): Promise<Result<VerifiedAccessToken, AccessTokenRefusal>>;
};

/** Keys with one `kid` that are tried at most: each costs a signature check. */
const MAX_CANDIDATES = 4;

/** A verifier; one per API, since it keeps the server's keys. Settings that cannot be used throw a `TypeError`. */
export function createAccessTokenVerifier(options: AccessTokenVerifierOptions): AccessTokenVerifier {
  const { issuer, audience, clock = systemClock } = options;
  if (audience === '') throw new TypeError('audience is empty');
  const serverKeys = createServerKeys({
    issuer,
    jwksUri: options.jwksUri ?? null,
    allowInsecureEndpoint: options.allowInsecureEndpoint ?? false,
    fetch: options.fetch ?? globalThis.fetch,
    clock,
  });
  const expected = { audience, organizationId: options.organizationId ?? null };

  return {
    audience,
    async verify(token) {
      const parsed = parseSignedAccessToken(token);
      if (!parsed.ok) return parsed;
      const { alg, kid, claims, signingInput, signature } = parsed.value;
      // Before any look-up of keys: a token of another issuer must not cause a fetch. Exact: a look-alike is another.
      if (claims.iss !== issuer) return err({ reason: 'iss_mismatch', presented: String(claims.iss).slice(0, 400) });
      const lookup = await serverKeys.find(kid);
      if (!lookup.available) {
        const { detail, retryAfterSeconds } = lookup;
        return err({ reason: 'keys_unavailable', detail, retryAfterSeconds });
      }
      if (lookup.keys.length === 0) return err({ reason: 'kid_unknown', kid });
      const isSigned = lookup.keys
        .filter((key) => key.algorithms.includes(alg))
        .slice(0, MAX_CANDIDATES)
        .some(({ key }) => isSignatureValid(alg, key, signingInput, signature));
      if (!isSigned) return err({ reason: 'signature_invalid', kid });
      return readAccessTokenClaims(claims, expected, clock());
    },
  };
}
