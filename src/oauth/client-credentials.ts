/**
 * Which one way of client authentication a request uses (RFC 6749 §2.3), read before anything is verified: two at once
 * are refused, so that no check can be satisfied by one and another by the other.
 */
import { err, ok, type Result } from '../result.ts';
import { decodeFormText, type Form, parameter } from './form-body.ts';
import { type AuthenticationRefusal, invalidRequest, type OAuthError } from './oauth-error.ts';

const JWT_BEARER = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

export type ClientCredentials =
  /** No client authentication; a `client_id` that was sent is an opinion, not a proof. */
  | { readonly method: 'none'; readonly clientId: string | null }
  | { readonly method: 'assertion'; readonly assertion: string; readonly clientId: string | null }
  | {
      readonly method: 'secret';
      readonly clientId: string;
      readonly secret: string;
      readonly usedAuthorizationHeader: boolean;
    };

/** Credentials that cannot be right, whatever the database says. */
export type UnusableCredentials =
  | { readonly kind: 'malformed'; readonly error: OAuthError }
  | { readonly kind: 'refused'; readonly refusal: AuthenticationRefusal; readonly usedAuthorizationHeader: boolean };

/** Picks the request's credentials. `authorizations` are the values of all `Authorization` headers. */
export function readClientCredentials(
  form: Form,
  authorizations: readonly string[],
): Result<ClientCredentials, UnusableCredentials> {
  const clientId = parameter(form, 'client_id');
  const secret = parameter(form, 'client_secret');
  const assertion = parameter(form, 'client_assertion');
  const assertionType = parameter(form, 'client_assertion_type');
  const usesAssertion = assertion !== null || assertionType !== null;

  const [authorization, ...others] = authorizations;
  const methods = [authorization !== undefined, others.length > 0, secret !== null, usesAssertion];
  if (methods.filter(Boolean).length > 1) {
    return err({ kind: 'malformed', error: invalidRequest('more than one client authentication method') });
  }
  if (usesAssertion) return readAssertion(assertion, assertionType, clientId);
  if (authorization !== undefined) return readBasic(authorization, clientId);
  if (secret !== null && clientId !== null) {
    return ok({ method: 'secret', clientId, secret, usedAuthorizationHeader: false });
  }
  // A secret that is nobody's was meant as authentication: a grant must not go through as if it had not been there.
  return secret === null ? ok({ method: 'none', clientId }) : refused('no_client_authentication', false);
}

function readAssertion(
  assertion: string | null,
  assertionType: string | null,
  clientId: string | null,
): Result<ClientCredentials, UnusableCredentials> {
  if (assertion === null || assertionType === null) {
    const description = 'client_assertion and client_assertion_type go together';
    return err({ kind: 'malformed', error: invalidRequest(description) });
  }
  if (assertionType !== JWT_BEARER) return refused('assertion_type_not_supported', false);
  return ok({ method: 'assertion', assertion, clientId });
}

/** RFC 6749 §2.3.1: both halves are form-encoded before they are joined; only the first colon separates them. */
function readBasic(authorization: string, bodyClientId: string | null): Result<ClientCredentials, UnusableCredentials> {
  const encoded = /^basic +([A-Za-z0-9+/]+={0,2})$/i.exec(authorization)?.[1];
  const text = encoded === undefined ? '' : Buffer.from(encoded, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  const clientId = decodeFormText(text.slice(0, Math.max(colon, 0)));
  const secret = decodeFormText(text.slice(colon + 1));
  if (colon === -1 || clientId === null || secret === null || clientId === '') {
    return refused('authorization_header_invalid', true);
  }
  if (bodyClientId !== null && bodyClientId !== clientId) return refused('authorization_header_invalid', true);
  return ok({ method: 'secret', clientId, secret, usedAuthorizationHeader: true });
}

function refused(
  reason: 'no_client_authentication' | 'authorization_header_invalid' | 'assertion_type_not_supported',
  usedAuthorizationHeader: boolean,
): Result<never, UnusableCredentials> {
  return err({ kind: 'refused', refusal: { reason }, usedAuthorizationHeader });
}
