/**
 * Why an assertion was refused: one tagged union with its evidence. The caller learns none of it (`oauth/` maps every
 * reason to one answer); the audit record, the log and `_explain_assertion` carry all of it. Evidence holds claim
 * values and configuration, never the assertion, its signature or a secret.
 */
import type { DeniedMember } from './deny-list.ts';

export type AssertionRefusal =
  // 1. form and JOSE header
  | { readonly reason: 'assertion_too_large'; readonly bytes: number; readonly maxBytes: number }
  | { readonly reason: 'assertion_malformed'; readonly detail: string }
  | { readonly reason: 'header_member_forbidden'; readonly member: string }
  | { readonly reason: 'typ_not_allowed'; readonly typ: string }
  | { readonly reason: 'alg_not_allowed'; readonly alg: string; readonly allowed: readonly string[] }
  // 2. trusted issuer
  | { readonly reason: 'iss_missing' }
  | { readonly reason: 'issuer_not_trusted'; readonly iss: string }
  | { readonly reason: 'issuer_disabled'; readonly iss: string }
  | { readonly reason: 'legacy_service_account_token'; readonly iss: string }
  // 3. claims
  | { readonly reason: 'sub_missing'; readonly claim: string }
  | { readonly reason: 'aud_missing' }
  | { readonly reason: 'aud_mismatch'; readonly presented: readonly string[]; readonly expected: readonly string[] }
  | { readonly reason: 'aud_not_sole'; readonly presented: readonly string[]; readonly expected: readonly string[] }
  | { readonly reason: 'time_claim_missing'; readonly claim: 'exp' | 'iat' }
  | { readonly reason: 'time_claim_invalid'; readonly claim: 'exp' | 'iat' | 'nbf'; readonly presented: string }
  | { readonly reason: 'expired'; readonly exp: number; readonly now: number }
  | { readonly reason: 'not_yet_valid'; readonly claim: 'iat' | 'nbf'; readonly value: number; readonly now: number }
  | { readonly reason: 'lifetime_too_long'; readonly lifetimeSeconds: number; readonly maxSeconds: number }
  | { readonly reason: 'jti_invalid'; readonly detail: string }
  // 4. key and signature
  | { readonly reason: 'kid_missing'; readonly keys: number }
  | {
      readonly reason: 'kid_unknown';
      readonly kid: string;
      readonly known: readonly string[];
      readonly origin: 'fetched' | 'static';
      readonly loadedAt: number;
      /** Why an entry with that `kid` was skipped when the set was read, if there was one. */
      readonly skipped: string | null;
    }
  | { readonly reason: 'key_ambiguous'; readonly keys: number }
  | { readonly reason: 'key_unfit'; readonly kid: string | null; readonly alg: string }
  | { readonly reason: 'signature_invalid'; readonly kid: string | null; readonly alg: string }
  | {
      readonly reason: 'keys_unavailable';
      readonly cause: 'not_loaded' | 'key_shared';
      readonly detail: string;
      readonly retryAfterSeconds: number;
    }
  // 5. subject and bindings
  | { readonly reason: 'subject_malformed'; readonly subject: string; readonly expectedForm: string }
  | { readonly reason: 'kubernetes_claims_missing'; readonly missing: string }
  | { readonly reason: 'kubernetes_claims_malformed'; readonly claim: string; readonly presented: string }
  | { readonly reason: 'kubernetes_claims_disagree'; readonly subject: string; readonly fromClaims: string }
  | { readonly reason: 'pod_required' }
  | { readonly reason: 'node_required' }
  | {
      readonly reason: 'workload_denied';
      readonly entryId: string;
      readonly member: DeniedMember;
      readonly value: string;
      /** The admin's own words. */
      readonly denialReason: string;
      readonly expiresAt: number | null;
    }
  | { readonly reason: 'subject_not_bound'; readonly subject: string }
  | { readonly reason: 'binding_disabled'; readonly subject: string }
  | {
      readonly reason: 'claim_condition_failed';
      readonly claim: string;
      readonly expected: string;
      readonly presented: string;
    }
  | { readonly reason: 'client_ambiguous'; readonly subject: string; readonly clients: number }
  | { readonly reason: 'client_mismatch'; readonly presentedClientId: string; readonly subject: string }
  | { readonly reason: 'client_disabled'; readonly clientId: string }
  | { readonly reason: 'organization_mismatch'; readonly clientId: string }
  | { readonly reason: 'token_claim_unresolved'; readonly claim: string; readonly template: string }
  // 6. online review
  | { readonly reason: 'review_denied'; readonly detail: string }
  | {
      readonly reason: 'review_mismatch';
      readonly claim: string;
      readonly claimed: string;
      readonly reviewed: string;
    }
  | { readonly reason: 'review_unavailable'; readonly detail: string; readonly retryAfterSeconds: number }
  // 7. replay
  | { readonly reason: 'replayed'; readonly firstUsedAt: number; readonly firstRequestId: string };

export type AssertionRefusalReason = AssertionRefusal['reason'];
