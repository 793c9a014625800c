/**
 * `POST /oauth/introspect` (RFC 7662): is this access token of ours still good? Only its owner or a protected API that
 * it is meant for learns anything; everyone else, and every other token, gets the same `{"active":false}`.
 */

import type { SigningKeyRing } from '../issuance/signing-key-ring.ts';
import {
  clientOfLiveToken,
  mayIntrospect,
  readOwnAccessToken,
  type TokenStatusPorts,
} from '../issuance/token-status.ts';
import { err, ok } from '../result.ts';
import type { Endpoint } from './authenticated-endpoint.ts';
import { type Form, parameter } from './form-body.ts';
import { invalidRequest } from './oauth-error.ts';

/** The introspection endpoint of one issuer identifier. */
export function introspectionEndpoint(
  ownIssuer: string,
  signingKeys: SigningKeyRing,
  ports: TokenStatusPorts,
): Endpoint<void> {
  return {
    action: 'introspection.requested',
    check: requireToken,
    authorize: () => () => ok(undefined),
    async perform(_granted, asker, form, now) {
      const token = parameter(form, 'token') ?? '';
      const claims = await readOwnAccessToken(token, await signingKeys.published(), ownIssuer, now);
      const isVisible = claims !== null && mayIntrospect(asker, claims);
      if (!isVisible || (await clientOfLiveToken(ports, claims, now)) === null) {
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

/** The form check of introspection and revocation (RFC 7662 §2.1, RFC 7009 §2.1). */
export function requireToken(form: Form) {
  return parameter(form, 'token') === null ? err(invalidRequest('token is missing')) : ok(undefined);
}
