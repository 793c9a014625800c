/** One audit entry for one decision of an OAuth endpoint: reason and evidence for the admin, never a token. */
import { explainRefusal } from '../assertion/explain-refusal.ts';
import type { AssertionFacts } from '../assertion/verification-trace.ts';
import { MAX_ACTORS } from '../issuance/delegation.ts';
import type { GrantRefusal } from '../issuance/grant.ts';
import type { AuditEntry, AuditOutcome } from '../observe/audit-log.ts';
import { withoutCredentials } from '../observe/redaction.ts';
import { type OAuthError, PROOF_ROLES, type ProofRefusal, type ProofRole } from './oauth-error.ts';
import type { ProofFacts } from './proof-outcome.ts';

/** Where a request came from. */
export type RequestOrigin = {
  readonly requestId: string;
  readonly now: number;
  readonly ipAddress: string | null;
  readonly userAgent: string | null;
};

export type DecisionAction = 'token.requested' | 'introspection.requested' | 'revocation.requested';

export type Decision =
  | {
      readonly kind: 'accepted';
      /** The proof that decided. */
      readonly role: ProofRole;
      readonly evidence: Readonly<Record<string, unknown>>;
    }
  | { readonly kind: 'refused'; readonly role: ProofRole; readonly refusal: ProofRefusal }
  | { readonly kind: 'denied'; readonly role: ProofRole; readonly denial: GrantRefusal }
  | { readonly kind: 'malformed'; readonly error: OAuthError };

/** Refusals that say nothing about the caller. */
const UNAVAILABLE: readonly string[] = ['keys_unavailable', 'review_unavailable'];

/** Longest piece of a stranger's text that is kept. */
const MAX_TEXT_LENGTH = 1024;

/** What is known of the proof that decided; nothing of a request that carried none. */
export function decidingFacts(proofs: ProofFacts, decision: Decision): AssertionFacts {
  return decision.kind === 'malformed' ? {} : (proofs.get(decision.role) ?? {});
}

/**
 * The entry for one decision. Its columns speak of the proof that decided; further proofs of the request are in the
 * evidence, under their roles. `described` is what the endpoint says of every request.
 */
export function decisionRecord(
  action: DecisionAction,
  origin: RequestOrigin,
  proofs: ProofFacts,
  decision: Decision,
  described: Readonly<Record<string, unknown>>,
): AuditEntry {
  const facts = decidingFacts(proofs, decision);
  const clientId = facts.clientId ?? proofs.get('client_authentication')?.clientId ?? presentedClient(decision);
  return {
    createdAt: origin.now,
    requestId: origin.requestId,
    action,
    outcome: outcomeOf(decision),
    reason: reasonOf(decision),
    actorType: facts.subject === undefined ? 'client' : 'workload',
    actorId: facts.clientId ?? null,
    resourceType: null,
    resourceId: null,
    trustedIssuerId: facts.trustedIssuer?.id ?? null,
    subject: bounded(facts.subject),
    clientId,
    ipAddress: origin.ipAddress,
    userAgent: bounded(origin.userAgent === null ? undefined : withoutCredentials(origin.userAgent)),
    evidence: {
      ...described,
      ...evidenceOf(facts),
      ...evidenceOfOthers(proofs, decision),
      ...evidenceOfDecision(decision),
    },
  };
}

/** The reason under which a decision is counted and searched; null for a good one. */
export function reasonOf(decision: Decision): string | null {
  switch (decision.kind) {
    case 'accepted':
      return null;
    case 'refused':
      return decision.refusal.reason;
    case 'denied':
      return decision.denial.error;
    case 'malformed':
      return decision.error.error;
  }
}

function outcomeOf(decision: Decision): AuditOutcome {
  if (decision.kind === 'accepted') return 'accepted';
  return decision.kind === 'refused' && UNAVAILABLE.includes(decision.refusal.reason) ? 'unavailable' : 'refused';
}

function presentedClient(decision: Decision): string | null {
  if (decision.kind !== 'refused') return null;
  // The two halves of client credentials get mixed up: this may be the secret.
  return decision.refusal.reason === 'client_unknown' ? withoutCredentials(decision.refusal.presentedClientId) : null;
}

function evidenceOf(facts: AssertionFacts): Record<string, unknown> {
  const { iss, alg, kid, jti, exp, assertionDigest, staleKeys, kubernetes, bindingId, credentialId } = facts;
  return {
    ...(iss !== undefined && { iss: bounded(iss) }),
    ...(alg !== undefined && { alg }),
    ...(kid !== undefined && { kid }),
    ...(jti !== undefined && { jti: jti ?? 'absent' }),
    // As the cluster names the token, else as it names itself.
    ...(jti !== undefined && { credential_id: bounded(credentialId ?? jti ?? 'absent') }),
    ...(exp !== undefined && { exp }),
    ...(assertionDigest !== undefined && { assertion_sha256: assertionDigest.slice(0, 16) }),
    ...(staleKeys && { stale_keys: true }),
    ...(kubernetes && { kubernetes }),
    ...(bindingId !== undefined && { binding_id: bindingId }),
  };
}

/** Which proof the record speaks of where it is not client authentication, and what the request proved besides. */
function evidenceOfOthers(proofs: ProofFacts, decision: Decision): Record<string, unknown> {
  if (decision.kind === 'malformed') return {};
  const { role } = decision;
  const others = PROOF_ROLES.flatMap((name) => {
    const facts = name === role ? undefined : proofs.get(name);
    return facts === undefined ? [] : [[name, evidenceOfOther(facts)] as const];
  });
  return { ...(role !== 'client_authentication' && { proof: role }), ...Object.fromEntries(others) };
}

function evidenceOfOther(facts: AssertionFacts): Record<string, unknown> {
  const { trustedIssuer, subject, clientId } = facts;
  return {
    ...(clientId !== undefined && { client_id: clientId }),
    ...(trustedIssuer !== undefined && { trusted_issuer_id: trustedIssuer.id }),
    ...(subject !== undefined && { subject: bounded(subject) }),
    ...evidenceOf(facts),
  };
}

function evidenceOfDecision(decision: Decision): Readonly<Record<string, unknown>> {
  switch (decision.kind) {
    case 'accepted':
      return decision.evidence;
    case 'denied':
      return { detail: withoutCredentials(decision.denial.detail).slice(0, MAX_TEXT_LENGTH) };
    case 'malformed':
      return { detail: decision.error.description };
    case 'refused':
      return explainProofRefusal(decision.refusal);
  }
}

/** Detail and hint of a refusal, as evidence. */
function explainProofRefusal(refusal: ProofRefusal): Readonly<Record<string, unknown>> {
  switch (refusal.reason) {
    case 'no_client_authentication':
      return { detail: 'the request has no client authentication' };
    case 'authorization_header_invalid':
      return { detail: 'the Authorization header is not well-formed Basic, or its client_id is not that of the body' };
    case 'assertion_type_not_supported':
      return { detail: 'client_assertion_type is not jwt-bearer' };
    case 'client_unknown':
      return { detail: 'no client has this client_id' };
    case 'client_secret_invalid':
      return { detail: 'the secret is not a current one of this client' };
    case 'exchange_not_allowed':
    case 'own_token_not_live':
    case 'actor_not_allowed':
      return { detail: refusal.detail };
    case 'actor_chain_too_long':
      return { detail: `the token would have ${refusal.actors} actors, at most ${MAX_ACTORS} are allowed` };
    default: {
      const { detail, hint } = explainRefusal(refusal);
      return { detail: detail.slice(0, MAX_TEXT_LENGTH), hint };
    }
  }
}

function bounded(text: string | undefined): string | null {
  return text === undefined ? null : text.slice(0, MAX_TEXT_LENGTH);
}
