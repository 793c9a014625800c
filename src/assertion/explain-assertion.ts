/**
 * Why an assertion would be accepted or refused: the same verification, step by step, without using the assertion up.
 * For admins only; the answer names configuration.
 */
import { ok } from '../result.ts';
import { explainRefusal } from './explain-refusal.ts';
import type { AssertionRefusalReason } from './refusal.ts';
import { type AssertionFacts, type VerificationStep, VerificationTrace } from './verification-trace.ts';
import type { BoundClient } from './verified-workload.ts';
import { type VerificationPorts, verifyAssertion } from './verify-assertion.ts';

export type AssertionCheck = {
  readonly name: VerificationStep;
  readonly passed: boolean;
  /** What was found. */
  readonly detail: string;
  /** What would mend it; null for a step that passed. */
  readonly hint: string | null;
};

export type AssertionExplanation = {
  readonly accepted: boolean;
  readonly reason: AssertionRefusalReason | null;
  readonly trustedIssuerId: string | null;
  readonly clientId: string | null;
  /** The steps that were reached, in order; a failed one is the last. */
  readonly checks: readonly AssertionCheck[];
};

/** Explains one assertion at `now`. `clientId` is what the request would send, null when it would send none. */
export async function explainAssertion<C extends BoundClient>(
  ports: VerificationPorts<C>,
  request: {
    readonly assertion: string;
    readonly clientId: string | null;
    readonly requestId: string;
    readonly now: number;
  },
): Promise<AssertionExplanation> {
  const trace = new VerificationTrace();
  const outcome = await verifyAssertion(ports, { ...request, purpose: 'explain' }, trace, () => ok(undefined));
  const { facts } = trace;
  return {
    accepted: outcome.kind === 'accepted',
    reason: outcome.kind === 'refused' ? outcome.refusal.reason : null,
    trustedIssuerId: facts.trustedIssuer?.id ?? null,
    clientId: facts.clientId ?? null,
    checks: trace.steps.map(({ step, refusal }) =>
      refusal === null
        ? { name: step, passed: true, detail: describePassed(step, facts), hint: null }
        : { name: step, passed: false, ...explainRefusal(refusal) },
    ),
  };
}

function describePassed(step: VerificationStep, facts: AssertionFacts): string {
  const { trustedIssuer, kubernetes } = facts;
  switch (step) {
    case 'form':
      return `a compact JWS with alg ${facts.alg} and ${facts.kid == null ? 'no kid' : `kid ${JSON.stringify(facts.kid)}`}`;
    case 'trusted_issuer':
      return `iss is the trusted issuer ${trustedIssuer?.name} (${trustedIssuer?.issuerType})`;
    case 'audience':
      return 'aud is ours alone';
    case 'time':
      return 'alive, and not longer than the issuer may make it';
    case 'subject':
      return `subject ${JSON.stringify(facts.subject)}`;
    case 'key':
      return `a key of this issuer fits (${trustedIssuer?.keySourceType})`;
    case 'signature':
      return 'the signature is valid';
    case 'platform_claims':
      if (!kubernetes) return 'this issuer type has no further claims';
      return `namespace ${kubernetes.namespace}, pod ${kubernetes.pod?.name ?? 'none'}, node ${kubernetes.node?.name ?? 'none'}`;
    case 'deny_list':
      return 'not on the deny list';
    case 'binding':
      return `bound to client ${JSON.stringify(facts.clientId)}`;
    case 'review':
      return 'its cluster says that the token is good, for us and for this workload';
    case 'replay':
      return trustedIssuer?.assertionUse === 'once' ? 'not used yet' : 'may be used until it expires';
  }
}
