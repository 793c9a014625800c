/**
 * `POST /oauth/revoke` (RFC 7009): a client ends its own access token before its time. Introspection knows at once;
 * APIs that validate by themselves accept it until `exp`. A token that is not ours or not the caller's is left alone,
 * with the same answer (§2.2), so that nobody can probe for tokens.
 */
import { isTokenOfClient } from '../issuance/access-token.ts';
import type { Client } from '../issuance/client.ts';
import type { RevokedTokens } from '../issuance/ports.ts';
import type { SigningKeyRing } from '../issuance/signing-key-ring.ts';
import { readOwnAccessToken } from '../issuance/token-status.ts';
import { type AuthenticationPorts, authenticateOnly } from './authenticate-client.ts';
import type { Endpoint } from './authenticated-endpoint.ts';
import { readToken } from './introspection-endpoint.ts';

/** The revocation endpoint of one issuer identifier. */
export function revocationEndpoint(
  ownIssuer: string,
  signingKeys: SigningKeyRing,
  revokedTokens: RevokedTokens,
  authentication: AuthenticationPorts,
): Endpoint<string, Client> {
  return {
    action: 'revocation.requested',
    describe: () => ({}),
    read: readToken,
    decide: (_token, credentials, origin) => authenticateOnly(authentication, credentials, origin),
    async perform(client, token, now) {
      const claims = await readOwnAccessToken(token, await signingKeys.published(), ownIssuer, now);
      const isOwn = claims !== null && claims.client_id === client.clientId && isTokenOfClient(claims.jti, client);
      if (isOwn) await revokedTokens.revoke({ jti: claims.jti, expiresAt: claims.exp, revokedAt: now });
      return { body: null, evidence: { revoked: isOwn, ...(claims !== null && { token_jti: claims.jti }) } };
    },
  };
}
