/**
 * OAuth errors as values, and the one mapping from inner reasons to what a caller may see. Nearly every reason becomes
 * one fixed answer; the exhaustive switch makes a new reason a decision.
 */
import type { AssertionRefusal } from '../assertion/refusal.ts';
import type { DelegationRefusal } from '../issuance/delegation.ts';
import type { GrantRefusal } from '../issuance/grant.ts';
import type { OwnTokenRefusal } from '../issuance/own-token-exchange.ts';

export type OAuthErrorCode =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_grant'
  | 'invalid_scope'
  | 'invalid_target'
  | 'unauthorized_client'
  | 'unsupported_grant_type'
  | 'temporarily_unavailable'
  | 'server_error';

export type OAuthError = {
  readonly status: number;
  readonly error: OAuthErrorCode;
  /** Fixed text, in the characters of RFC 6749 §5.2; never made of input. */
  readonly description: string;
  /** Set when the caller used the `Authorization` header (RFC 6749 §5.2). */
  readonly challenge?: 'Basic' | undefined;
  readonly retryAfterSeconds?: number | undefined;
  readonly allow?: string | undefined;
};

/** Why client authentication failed. */
export type AuthenticationRefusal =
  | AssertionRefusal
  | { readonly reason: 'no_client_authentication' }
  | { readonly reason: 'authorization_header_invalid' }
  | { readonly reason: 'assertion_type_not_supported' }
  | { readonly reason: 'client_unknown'; readonly presentedClientId: string }
  | { readonly reason: 'client_secret_invalid'; readonly clientId: string };

/** Why any proof of a request was refused. */
export type ProofRefusal = AuthenticationRefusal | OwnTokenRefusal | DelegationRefusal;

/** What a proof is in its request; the same assertion may be any of them. */
export const PROOF_ROLES = ['client_authentication', 'assertion', 'subject_token', 'actor_token'] as const;
export type ProofRole = (typeof PROOF_ROLES)[number];

/** `invalid_request` with one sentence. */
export function invalidRequest(description: string, status = 400): OAuthError {
  return { status, error: 'invalid_request', description };
}

/**
 * The one answer to every refused proof of a role: which reason it was is for the audit record alone. The codes are those
 * of RFC 7521 §4.2.1, RFC 7521 §4.1.1 and RFC 8693 §2.2.2.
 */
export function proofNotAccepted(role: ProofRole, usedAuthorizationHeader: boolean): OAuthError {
  switch (role) {
    case 'client_authentication':
      return {
        status: usedAuthorizationHeader ? 401 : 400,
        error: 'invalid_client',
        description: 'client authentication failed',
        challenge: usedAuthorizationHeader ? 'Basic' : undefined,
      };
    case 'assertion':
      return { status: 400, error: 'invalid_grant', description: 'the assertion is not accepted' };
    // The same bytes, so that an actor's token does not try out subjects' tokens, nor the reverse.
    case 'subject_token':
    case 'actor_token':
      return invalidRequest('the tokens of the exchange are not accepted');
  }
}

/** A fault or an outage of ours: worth another try, and no word on credentials. RFC 6749 has no code for it. */
export function temporarilyUnavailable(retryAfterSeconds: number): OAuthError {
  return {
    status: 503,
    error: 'temporarily_unavailable',
    description: 'the request can not be decided right now, try again later',
    retryAfterSeconds,
  };
}

/** What the caller sees of a refused proof, where its role has this one answer. */
export function fromProofRefusal(refusal: ProofRefusal, notAccepted: OAuthError): OAuthError {
  switch (refusal.reason) {
    case 'keys_unavailable':
    case 'review_unavailable':
      return temporarilyUnavailable(refusal.retryAfterSeconds);
    case 'no_client_authentication':
    case 'authorization_header_invalid':
    case 'assertion_type_not_supported':
    case 'client_unknown':
    case 'client_secret_invalid':
    case 'assertion_too_large':
    case 'assertion_malformed':
    case 'header_member_forbidden':
    case 'typ_not_allowed':
    case 'alg_not_allowed':
    case 'iss_missing':
    case 'issuer_not_trusted':
    case 'issuer_disabled':
    case 'legacy_service_account_token':
    case 'sub_missing':
    case 'aud_missing':
    case 'aud_mismatch':
    case 'aud_not_sole':
    case 'time_claim_missing':
    case 'time_claim_invalid':
    case 'expired':
    case 'not_yet_valid':
    case 'lifetime_too_long':
    case 'jti_invalid':
    case 'kid_missing':
    case 'kid_unknown':
    case 'key_ambiguous':
    case 'key_unfit':
    case 'signature_invalid':
    case 'subject_malformed':
    case 'kubernetes_claims_missing':
    case 'kubernetes_claims_malformed':
    case 'kubernetes_claims_disagree':
    case 'pod_required':
    case 'node_required':
    case 'workload_denied':
    case 'subject_not_bound':
    case 'binding_disabled':
    case 'claim_condition_failed':
    case 'client_ambiguous':
    case 'client_mismatch':
    case 'client_disabled':
    case 'organization_mismatch':
    case 'token_claim_unresolved':
    case 'review_denied':
    case 'review_mismatch':
    case 'replayed':
    case 'exchange_not_allowed':
    case 'own_token_not_live':
    case 'actor_not_allowed':
    case 'actor_chain_too_long':
      return notAccepted;
  }
}

const GRANT_REFUSED: Readonly<Record<GrantRefusal['error'], string>> = {
  invalid_scope: 'the requested scope is not allowed',
  invalid_target: 'the requested resource is not allowed',
  unauthorized_client: 'the client may not use this grant type',
};

/** What the caller sees of a refused grant. */
export function fromGrantRefusal({ error }: GrantRefusal): OAuthError {
  return { status: 400, error, description: GRANT_REFUSED[error] };
}
