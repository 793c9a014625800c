/**
 * What we say about ourselves (RFC 8414), complete and true: nothing is listed that is not accepted, and everything
 * that is accepted is listed. All of it comes from the issuer identifier, none from the request.
 */
import { DEFAULT_ALGORITHMS } from '../assertion/jws-algorithm.ts';
import { ACCESS_TOKEN_SIGNING_ALGS } from '../issuance/client.ts';
import { GRANT_TYPES } from './token-request.ts';

const AUTH_METHODS = ['private_key_jwt', 'client_secret_basic', 'client_secret_post'];

/** Address of one of our endpoints. A trailing slash of the issuer identifier is not doubled. */
export function endpointUrl(ownIssuer: string, path: string): string {
  return `${ownIssuer.replace(/\/$/, '')}${path}`;
}

/** The metadata document. */
export function serverMetadata(ownIssuer: string): Readonly<Record<string, unknown>> {
  return {
    issuer: ownIssuer,
    token_endpoint: endpointUrl(ownIssuer, '/oauth/token'),
    token_endpoint_auth_methods_supported: AUTH_METHODS,
    token_endpoint_auth_signing_alg_values_supported: DEFAULT_ALGORITHMS,
    introspection_endpoint: endpointUrl(ownIssuer, '/oauth/introspect'),
    introspection_endpoint_auth_methods_supported: AUTH_METHODS,
    introspection_endpoint_auth_signing_alg_values_supported: DEFAULT_ALGORITHMS,
    revocation_endpoint: endpointUrl(ownIssuer, '/oauth/revoke'),
    revocation_endpoint_auth_methods_supported: AUTH_METHODS,
    revocation_endpoint_auth_signing_alg_values_supported: DEFAULT_ALGORITHMS,
    jwks_uri: endpointUrl(ownIssuer, '/.well-known/jwks.json'),
    grant_types_supported: GRANT_TYPES,
    // Required by RFC 8414 §2, although there is no authorization endpoint: the one empty list.
    response_types_supported: [],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ACCESS_TOKEN_SIGNING_ALGS,
  };
}
