/** What came of the proofs of one request: what is known of each, and which of them decided. */
import type { AssertionFacts } from '../assertion/verification-trace.ts';
import type { GrantRefusal } from '../issuance/grant.ts';
import type { ProofRefusal, ProofRole } from './oauth-error.ts';

/** What became known of each proof that was looked at. */
export type ProofFacts = ReadonlyMap<ProofRole, AssertionFacts>;

/** A refusal, and the proof that is refused or, for a denial, that the grant would have rested on. */
export type ProofStop = { readonly role: ProofRole } & (
  | { readonly kind: 'refused'; readonly refusal: ProofRefusal }
  | { readonly kind: 'denied'; readonly denial: GrantRefusal }
);

export type ProofOutcome<G> = { readonly facts: ProofFacts } & (
  | { readonly kind: 'accepted'; readonly role: ProofRole; readonly granted: G }
  | ProofStop
);
