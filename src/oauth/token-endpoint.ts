/** `POST /oauth/token`: grants, for a workload or client that has proved itself in one of three ways. */
import type { Grant } from '../issuance/grant.ts';
import type { Endpoint } from './authenticated-endpoint.ts';
import type { TokenIssuer } from './engine.ts';
import { decideTokenRequest, type TokenDecisionPorts } from './token-decision.ts';
import { knownGrantType, readTokenRequest, type TokenRequest } from './token-request.ts';

/** The token endpoint (RFC 6749 §3.2) of one issuer identifier. */
export function tokenEndpoint(ports: TokenDecisionPorts, tokenIssuer: TokenIssuer): Endpoint<TokenRequest, Grant> {
  return {
    action: 'token.requested',
    describe(form) {
      const grantType = knownGrantType(form);
      return grantType === null ? {} : { grant_type: grantType };
    },
    read: readTokenRequest,
    decide: (request, credentials, origin) => decideTokenRequest(ports, request, credentials, origin),
    async perform(grant, request) {
      const { jti, response } = await tokenIssuer.issue(grant);
      return {
        body: {
          ...response,
          // RFC 8693 §2.2.1.
          ...(request.grantType === 'token_exchange' && { issued_token_type: request.issuedTokenType }),
        },
        evidence: {
          token_jti: jti,
          token_exp: grant.expiresAt,
          scope: grant.scopes,
          aud: grant.audiences,
          ...(grant.actors.length > 0 && { actors: grant.actors.map(({ clientId }) => clientId) }),
        },
      };
    },
  };
}
