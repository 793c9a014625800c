/**
 * Trust shows in the type: `UnverifiedAssertion` (compact-jws.ts) → `VerifiedAssertion` → `VerifiedWorkload`. Only
 * `verify-assertion.ts` makes the latter two.
 */
import type { TimeClaims } from './time-claims.ts';
import type { TrustedIssuer } from './trusted-issuer.ts';
import type { WorkloadBinding } from './workload-binding.ts';

/** What a Kubernetes cluster says about the workload; null where it says nothing. */
export type KubernetesIdentity = {
  readonly namespace: string;
  readonly serviceAccount: { readonly name: string; readonly uid: string };
  readonly pod: { readonly name: string; readonly uid: string } | null;
  /** Only beside a pod: a node claim alone proves nothing about where the caller runs (KEP-4193). */
  readonly node: { readonly name: string; readonly uid: string | null } | null;
};

/** Signature, issuer, audience and time hold: this issuer said so, to us, just now. */
export type VerifiedAssertion = {
  readonly trustedIssuer: TrustedIssuer;
  readonly subject: string;
  readonly jti: string | null;
  readonly times: TimeClaims;
  readonly claims: Readonly<Record<string, unknown>>;
  readonly kubernetes: KubernetesIdentity | null;
};

/** As much of a client as the decision needs. */
export type BoundClient = {
  readonly id: string;
  readonly clientId: string;
  readonly organizationId: string | null;
  readonly isActive: boolean;
};

/** A verified assertion whose subject is bound to an active client. */
export type VerifiedWorkload<C extends BoundClient = BoundClient> = VerifiedAssertion & {
  readonly client: C;
  readonly binding: WorkloadBinding;
  /** The binding's further claims for the issued token, rendered. */
  readonly tokenClaims: Readonly<Record<string, string>>;
};
