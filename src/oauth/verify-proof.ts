/**
 * One proof in its role: the trust decision is the same for all of them (`assertion/verify-assertion.ts`), only the
 * answer to a refusal differs. Several proofs of one request are nested, the next one being part of what the one before
 * it is authorized for: none is used up before all of them hold.
 */
import { type AssertionFacts, VerificationTrace } from '../assertion/verification-trace.ts';
import type { VerifiedWorkload } from '../assertion/verified-workload.ts';
import { type VerificationPorts, verifyAssertion } from '../assertion/verify-assertion.ts';
import type { Client } from '../issuance/client.ts';
import { err, ok, type Result } from '../result.ts';
import type { ProofRole } from './oauth-error.ts';
import type { ProofStop } from './proof-outcome.ts';

export type PresentedProof = {
  readonly role: ProofRole;
  readonly text: string;
  /** The client that the proof must be of; null for whichever it is bound to. */
  readonly clientId: string | null;
  readonly requestId: string;
  /** Seconds since the epoch. */
  readonly now: number;
};

/** Verifies one proof and, once it is authorized, uses it up. What became known of it goes into `facts`. */
export async function verifyProof<G>(
  ports: VerificationPorts<Client>,
  { role, text, ...presented }: PresentedProof,
  facts: Map<ProofRole, AssertionFacts>,
  authorize: (workload: VerifiedWorkload<Client>) => Result<G, ProofStop> | Promise<Result<G, ProofStop>>,
): Promise<Result<G, ProofStop>> {
  const trace = new VerificationTrace();
  facts.set(role, trace.facts);
  const assertion = { ...presented, assertion: text, purpose: 'authenticate' } as const;
  const outcome = await verifyAssertion(ports, assertion, trace, authorize);
  switch (outcome.kind) {
    case 'accepted':
      return ok(outcome.granted);
    case 'denied':
      return err(outcome.denial);
    case 'refused':
      return err({ kind: 'refused', role, refusal: outcome.refusal });
  }
}
