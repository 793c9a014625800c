/**
 * Why an access token was refused: one tagged union with its evidence, for the API's own log. The caller learns none of
 * it but the difference between "bad token" and "try again later". Evidence never holds the token.
 */

export type AccessTokenRefusal =
  | { readonly reason: 'token_malformed'; readonly detail: string }
  | { readonly reason: 'typ_not_allowed'; readonly typ: string }
  | { readonly reason: 'alg_not_allowed'; readonly alg: string }
  | { readonly reason: 'iss_mismatch'; readonly presented: string }
  | { readonly reason: 'kid_unknown'; readonly kid: string }
  | { readonly reason: 'signature_invalid'; readonly kid: string }
  | { readonly reason: 'keys_unavailable'; readonly detail: string; readonly retryAfterSeconds: number }
  | { readonly reason: 'claim_invalid'; readonly claim: string }
  | { readonly reason: 'aud_mismatch'; readonly presented: readonly string[] }
  | { readonly reason: 'expired'; readonly exp: number; readonly now: number }
  | { readonly reason: 'not_yet_valid'; readonly claim: 'iat' | 'nbf'; readonly value: number; readonly now: number }
  | { readonly reason: 'subject_not_client'; readonly subject: string; readonly clientId: string }
  | { readonly reason: 'confirmation_unsupported' }
  | { readonly reason: 'organization_mismatch'; readonly presented: string | null };
