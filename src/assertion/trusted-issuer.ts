/**
 * The trusted issuer: whose signatures we believe, and under which policy. Rows come from the registry, which has
 * already checked them (`registry/trusted-issuer-input.ts`); the verification only reads them.
 */

export const ISSUER_TYPES = ['kubernetes_sa', 'spiffe_jwt', 'oidc', 'cloud_oidc', 'host'] as const;
export type IssuerType = (typeof ISSUER_TYPES)[number];

export const KEY_SOURCE_TYPES = [
  'oidc_discovery',
  'static_jwks_url',
  'static_jwks',
  'spiffe_bundle_endpoint',
  'token_review',
] as const;
export type KeySourceType = (typeof KEY_SOURCE_TYPES)[number];

export const ASSERTION_USES = ['once', 'until_expiry'] as const;
/** `once`: an assertion buys one token. `until_expiry`: it may be shown again while it lives. */
export type AssertionUse = (typeof ASSERTION_USES)[number];

/** Who keeps a row: the admin API, or the declarative file. */
export type ManagedBy = 'api' | 'file';

export type TrustedIssuer = {
  /** The row's id. Bindings, replay keys, key caches and audit carry it, never the issuer string. */
  readonly id: string;
  readonly name: string;
  /** Compared with the assertion's `iss` byte for byte (RFC 7519 §4.1.1). */
  readonly issuerUrl: string;
  /** Further issuer strings of the same cluster, for a change of `--service-account-issuer`. */
  readonly additionalIssuerUrls: readonly string[];
  readonly issuerType: IssuerType;
  readonly keySourceType: KeySourceType;
  readonly jwksUrl: string | null;
  /** JSON text of a JWK set (RFC 7517 §5), for `static_jwks`. */
  readonly jwks: string | null;
  /** Where discovery is read when that is not the issuer itself. */
  readonly discoveryUrl: string | null;
  /** PEM certificates that replace the system's roots for this issuer's fetches. */
  readonly caPem: string | null;
  /** The row's consent to private addresses; the operator's is `COUNTERSIGN_PRIVATE_NETWORKS`. */
  readonly allowPrivateNetwork: boolean;
  /** Audiences meant for us; never empty. */
  readonly expectedAud: readonly string[];
  readonly allowAdditionalAudiences: boolean;
  readonly subjectClaim: string;
  /** JOSE `alg` values that this issuer may sign with; never empty. */
  readonly algorithms: readonly string[];
  readonly requireKid: boolean;
  /** Ceiling of `exp` - `iat`, in seconds. */
  readonly maxTokenLifetimeSeconds: number;
  readonly assertionUse: AssertionUse;
  /** Whether tokens end with a `once` assertion to the second; they always do with `until_expiry`. */
  readonly capToAssertion?: boolean;
  /** Whether the cluster itself is asked about each token, after the signature has been checked. */
  readonly enableTokenReview: boolean;
  /** Where it is asked; null where it is not. */
  readonly kubernetesApiServerUrl: string | null;
  /** PEM certificates that replace the system's roots for it. */
  readonly kubernetesApiServerCaPem: string | null;
  /** Name of the operator's credential for it; null: the own pod's token. */
  readonly kubernetesApiServerCredential: string | null;
  /** Asked for instead of `expectedAud`. */
  readonly tokenReviewAudience: string | null;
  readonly requirePod: boolean;
  readonly requireNode: boolean;
  readonly organizationId: string | null;
  /** The client that the short form (`service_account_id` + `allowed_subjects`) binds to: a client's `id`. */
  readonly serviceAccountId: string | null;
  readonly isActive: boolean;
  readonly managedBy: ManagedBy;
  /** Grows by one whenever the key source changes: cached keys of an older revision are dead. */
  readonly keySourceRevision: number;
  /** When the pasted key set was last changed, for the admin's eyes. */
  readonly keySourceUpdatedAt: number;
  readonly createdAt: number;
  readonly updatedAt: number;
};

/** Whether a token must not outlive its assertion by a second. There is then no leeway on the assertion's end either. */
export function endsWithAssertion({
  assertionUse,
  capToAssertion,
}: Pick<TrustedIssuer, 'assertionUse' | 'capToAssertion'>): boolean {
  return assertionUse === 'until_expiry' || capToAssertion === true;
}
