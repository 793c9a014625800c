/**
 * `POST /oauth/introspect` (RFC 7662): is this access token of ours still good? Only its owner or a protected API that
 * it is meant for learns anything; everyone else, and every other token, gets the same `{"active":false}`.
 */

import type { Client } from '../issuance/client.ts';
import type { SigningKeyRing } from '../issuance/signing-key-ring.ts';
import { mayIntrospect, readOwnAccessToken, standingOfToken, type TokenStatusPorts } from '../issuance/token-status.ts';
import { err, ok, type Result } from '../result.ts';
import { type AuthenticationPorts, authenticateOnly } from './authenticate-client.ts';
import type { Endpoint } from './authenticated-endpoint.ts';
import { type Form, parameter } from './form-body.ts';
import { invalidRequest, type OAuthError } from './oauth-error.ts';

/** The introspection endpoint of one issuer identifier. */
export function introspectionEndpoint(
  ownIssuer: string,
  signingKeys: SigningKeyRing,
  ports: TokenStatusPorts,
  authentication: AuthenticationPorts,
): Endpoint<string, Client> {
  return {
    action: 'introspection.requested',
    describe: () => ({}),
    read: readToken,
    decide: (_token, credentials, origin) => authenticateOnly(authentication, credentials, origin),
    async perform(asker, token, now) {
      const claims = await readOwnAccessToken(token, await signingKeys.published(), ownIssuer, now);
      const isVisible = claims !== null && mayIntrospect(asker, claims);
      if (!isVisible || (await standingOfToken(ports, claims, now)) === null) {
        return {
          body: { active: false },
          evidence: { active: false, ...(claims !== null && { token_jti: claims.jti }) },
        };
      }
      return {
        body: { active: true, token_type: 'Bearer', ...claims },
        evidence: { active: true, token_jti: claims.jti },
      };
    },
  };
}

/** The form of introspection and revocation (RFC 7662 §2.1, RFC 7009 §2.1): the token that is asked about. */
export function readToken(form: Form): Result<string, OAuthError> {
  const token = parameter(form, 'token');
  return token === null ? err(invalidRequest('token is missing')) : ok(token);
}
