/**
 * Follows a verification step by step and keeps what became known on the way, for the audit record and for
 * `_explain_assertion`. What it holds before the signature step is the sender's claim and no more.
 */
import type { AssertionRefusal } from './refusal.ts';
import type { TrustedIssuer } from './trusted-issuer.ts';
import type { KubernetesIdentity } from './verified-workload.ts';

export const VERIFICATION_STEPS = [
  'form',
  'trusted_issuer',
  'audience',
  'time',
  'subject',
  'key',
  'signature',
  'platform_claims',
  'deny_list',
  'binding',
  'review',
  'replay',
] as const;
export type VerificationStep = (typeof VERIFICATION_STEPS)[number];

/** What is known of the assertion so far; never the assertion itself. */
export type AssertionFacts = {
  alg?: string;
  kid?: string | null;
  /** SHA-256 of the signing input, hexadecimal. */
  assertionDigest?: string;
  iss?: string;
  trustedIssuer?: TrustedIssuer;
  subject?: string;
  jti?: string | null;
  exp?: number;
  kubernetes?: KubernetesIdentity | null;
  /** The cluster's name of the token, from its review. */
  credentialId?: string;
  /** The keys are the last good ones: newer ones cannot be had. */
  staleKeys?: boolean;
  clientId?: string;
  bindingId?: string;
};

/** A step that was reached; it passed when it has no refusal. */
export type ReachedStep = { readonly step: VerificationStep; readonly refusal: AssertionRefusal | null };

export class VerificationTrace {
  readonly facts: AssertionFacts = {};
  readonly #steps: { step: VerificationStep; refusal: AssertionRefusal | null }[] = [];

  /** A step starts; the one before it has passed. */
  begin(step: VerificationStep): void {
    this.#steps.push({ step, refusal: null });
  }

  note(facts: AssertionFacts): void {
    Object.assign(this.facts, facts);
  }

  /** The step under way refused. */
  failed(refusal: AssertionRefusal): void {
    const current = this.#steps.at(-1);
    if (current !== undefined) current.refusal = refusal;
  }

  get steps(): readonly ReachedStep[] {
    return this.#steps;
  }
}
