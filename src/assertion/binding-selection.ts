/**
 * Which binding lets this workload act, and as which client. Exact subject, claim conditions, then the client that the
 * request names or the only one there is. No binding means no access.
 */
import { err, ok, type Result } from '../result.ts';
import { claimAt } from './claim-path.ts';
import type { AssertionRefusal } from './refusal.ts';
import { parseTokenClaimTemplate, renderTokenClaim, type TemplateValueName } from './token-claim-template.ts';
import type { BoundClient, VerifiedAssertion } from './verified-workload.ts';
import type { WorkloadBinding } from './workload-binding.ts';

/** The node of a Kubernetes token, or a member of it, as a claim path. */
const NODE_CLAIM = /^kubernetes\.io\.node(\.|$)/;

/** The active bindings whose claim conditions hold, at least one. */
export function matchBindings(
  assertion: VerifiedAssertion,
  bindings: readonly WorkloadBinding[],
): Result<readonly WorkloadBinding[], AssertionRefusal> {
  const { subject } = assertion;
  if (bindings.length === 0) return err({ reason: 'subject_not_bound', subject });
  const active = bindings.filter((binding) => binding.isActive);
  if (active.length === 0) return err({ reason: 'binding_disabled', subject });
  let firstFailure: AssertionRefusal | null = null;
  const matching = active.filter((binding) => {
    const failure = failedCondition(binding, assertion);
    firstFailure ??= failure;
    return failure === null;
  });
  return matching.length === 0 && firstFailure !== null ? err(firstFailure) : ok(matching);
}

function failedCondition(binding: WorkloadBinding, assertion: VerifiedAssertion): AssertionRefusal | null {
  const { claims, kubernetes } = assertion;
  for (const [claim, expected] of Object.entries(binding.claims)) {
    // Whoever may request tokens can bind one to any node (KEP-4193): only a pod's token says where it runs.
    const isUnproven = NODE_CLAIM.test(claim) && kubernetes !== null && kubernetes.pod === null;
    const presented = isUnproven ? undefined : claimAt(claims, claim);
    if (presented !== expected) {
      return {
        reason: 'claim_condition_failed',
        claim,
        expected: JSON.stringify(expected),
        presented: presented === undefined ? 'absent' : JSON.stringify(presented).slice(0, 200),
      };
    }
  }
  return null;
}

export type BoundPair<C extends BoundClient> = { readonly binding: WorkloadBinding; readonly client: C };

/**
 * The one client the request is for. A `client_id` parameter is optional and must agree when sent (RFC 7521 §4.2); a
 * subject that may act as several clients must say which.
 */
export function selectClient<C extends BoundClient>(
  assertion: VerifiedAssertion,
  pairs: readonly BoundPair<C>[],
  presentedClientId: string | null,
): Result<BoundPair<C>, AssertionRefusal> {
  const { subject, trustedIssuer } = assertion;
  const candidates =
    presentedClientId === null ? pairs : pairs.filter(({ client }) => client.clientId === presentedClientId);
  const [pair, ...others] = candidates;
  if (pair === undefined) {
    return presentedClientId === null
      ? err({ reason: 'subject_not_bound', subject })
      : err({ reason: 'client_mismatch', presentedClientId: presentedClientId.slice(0, 255), subject });
  }
  if (others.length > 0) return err({ reason: 'client_ambiguous', subject, clients: candidates.length });
  const { client } = pair;
  if (!client.isActive) return err({ reason: 'client_disabled', clientId: client.clientId });
  // Tenants come from configuration on both sides, never from the token; a mismatch is a mistake or an attack.
  if (
    client.organizationId !== null &&
    trustedIssuer.organizationId !== null &&
    client.organizationId !== trustedIssuer.organizationId
  ) {
    return err({ reason: 'organization_mismatch', clientId: client.clientId });
  }
  return ok(pair);
}

/** The binding's further claims for the issued token. A value that is not there refuses: half a name is no name. */
export function renderTokenClaims<C extends BoundClient>(
  assertion: VerifiedAssertion,
  { binding, client }: BoundPair<C>,
): Result<Readonly<Record<string, string>>, AssertionRefusal> {
  const rendered: Record<string, string> = {};
  for (const [claim, template] of Object.entries(binding.tokenClaims)) {
    const parsed = parseTokenClaimTemplate(template);
    const value = parsed.ok
      ? renderTokenClaim(parsed.value, (name) => templateValue(name, assertion, client.clientId))
      : null;
    if (value === null) return err({ reason: 'token_claim_unresolved', claim, template });
    rendered[claim] = value;
  }
  return ok(rendered);
}

function templateValue(name: TemplateValueName, assertion: VerifiedAssertion, clientId: string): unknown {
  const { trustedIssuer, kubernetes } = assertion;
  switch (name) {
    case 'issuer.name':
      return trustedIssuer.name;
    case 'issuer.url':
      return trustedIssuer.issuerUrl;
    case 'subject':
      return assertion.subject;
    case 'client_id':
      return clientId;
    case 'kubernetes.namespace':
      return kubernetes?.namespace;
    case 'kubernetes.service_account.name':
      return kubernetes?.serviceAccount.name;
    case 'kubernetes.service_account.uid':
      return kubernetes?.serviceAccount.uid;
    case 'kubernetes.pod.name':
      return kubernetes?.pod?.name;
    case 'kubernetes.pod.uid':
      return kubernetes?.pod?.uid;
    case 'kubernetes.node.name':
      return kubernetes?.node?.name;
    case 'kubernetes.node.uid':
      return kubernetes?.node?.uid;
    default:
      return claimAt(assertion.claims, name.slice('claims.'.length));
  }
}
