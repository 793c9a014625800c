/** `POST /oauth/token`: grants, for a client that has proved itself. */
import { decideGrant, type Grant } from '../issuance/grant.ts';
import { err, ok } from '../result.ts';
import type { Endpoint } from './authenticated-endpoint.ts';
import type { TokenIssuer } from './engine.ts';
import { parameter } from './form-body.ts';
import { GRANT_TYPES } from './metadata.ts';
import { invalidRequest } from './oauth-error.ts';

/** The token endpoint (RFC 6749 §3.2) of one issuer identifier. */
export function tokenEndpoint(ownIssuer: string, tokenIssuer: TokenIssuer): Endpoint<Grant> {
  return {
    action: 'token.requested',
    check(form) {
      const grantType = parameter(form, 'grant_type');
      if (grantType === null) return err(invalidRequest('grant_type is missing'));
      if (GRANT_TYPES.includes(grantType)) return ok(undefined);
      return err({ status: 400, error: 'unsupported_grant_type', description: 'the grant type is not supported' });
    },
    authorize(form, now) {
      const access = { scope: parameter(form, 'scope'), resources: form.get('resource') ?? [] };
      return (client, workload) => decideGrant(client, workload, access, ownIssuer, now);
    },
    async perform(grant) {
      const { jti, response } = await tokenIssuer.issue(grant);
      const evidence = { token_jti: jti, token_exp: grant.expiresAt, scope: grant.scopes, aud: grant.audiences };
      return { body: response, evidence };
    },
  };
}
