/**
 * Delegation (RFC 8693 §1.1, §4.1): a second workload, the actor, acts for the subject of an exchange. The token stays the
 * subject's, with the subject's rights and no more; `act` says who holds it. Only where the subject's binding names the
 * actor's client. Pure.
 */
import type { VerifiedAssertion, VerifiedWorkload } from '../assertion/verified-workload.ts';
import { err, ok, type Result } from '../result.ts';
import type { Client } from './client.ts';
import { isSelfIssued } from './private-key-jwt.ts';
import { type WorkloadClaim, workloadClaim } from './workload-claim.ts';

/** Actors in one token: each is one more party that an API must reason about, and some 300 bytes in every request. */
export const MAX_ACTORS = 4;

/** One party that acts, by the client it is bound to; the workload is null for a client that spoke for itself. */
export type Actor = { readonly clientId: string; readonly workload: WorkloadClaim | null };

/** `act` (RFC 8693 §4.1): who acts now, and inside it who acted before. */
export type ActClaim = { readonly sub: string; readonly workload?: WorkloadClaim; readonly act?: ActClaim };

/** For whom an actor would act. */
export type Delegator = {
  readonly client: Client;
  /** Row ids of the clients that the subject's binding lets act for it. */
  readonly allowedActors: readonly string[];
  /** Actors that the subject token has already; the current one first. */
  readonly priorActors: readonly Actor[];
  /** What the subject token itself says on actors (`may_act`); null for a token of ours, which says nothing. */
  readonly assertion: Pick<VerifiedAssertion, 'claims'> | null;
};

export type DelegationRefusal =
  | { readonly reason: 'actor_not_allowed'; readonly detail: string }
  | { readonly reason: 'actor_chain_too_long'; readonly actors: number };

/** Whether any actor could be admitted: asked before an actor's token costs a signature, a fetch or a review. */
export function mayHaveActor({ allowedActors, priorActors }: Delegator): Result<void, DelegationRefusal> {
  if (allowedActors.length === 0) return notAllowed('the binding of the subject allows no actors');
  const actors = priorActors.length + 1;
  return actors > MAX_ACTORS ? err({ reason: 'actor_chain_too_long', actors }) : ok(undefined);
}

/** The actors of the new token, the current one first. */
export function admitActor(
  delegator: Delegator,
  actor: VerifiedWorkload<Client>,
): Result<readonly Actor[], DelegationRefusal> {
  const possible = mayHaveActor(delegator);
  if (!possible.ok) return possible;
  const { client, allowedActors, priorActors, assertion } = delegator;
  const name = JSON.stringify(actor.client.clientId);
  if (!allowedActors.includes(actor.client.id)) return notAllowed(`client ${name} is not an actor of this binding`);
  // The token says one organization, the subject's: a reader must not take the actor of another one for one of its own.
  if (
    client.organizationId !== null &&
    (actor.client.organizationId ?? client.organizationId) !== client.organizationId
  ) {
    return notAllowed(`client ${name} belongs to another organization`);
  }
  if (assertion !== null && !isNamedByMayAct(assertion.claims, actor.claims)) {
    return notAllowed(`may_act of the subject token is not client ${name}`);
  }
  const workload = isSelfIssued(actor.trustedIssuer) ? null : workloadClaim(actor);
  return ok([{ clientId: actor.client.clientId, workload }, ...priorActors]);
}

/**
 * RFC 8693 §4.4: where the subject token says who may act, nobody else may. All of its members must be the actor's, the
 * subject's issuer being meant where it names none.
 */
function isNamedByMayAct(
  subject: Readonly<Record<string, unknown>>,
  actor: Readonly<Record<string, unknown>>,
): boolean {
  const { may_act: mayAct, iss } = subject;
  if (mayAct === undefined) return true;
  if (typeof mayAct !== 'object' || mayAct === null || Array.isArray(mayAct) || !Object.hasOwn(mayAct, 'sub')) {
    return false;
  }
  return Object.entries({ iss, ...mayAct }).every(
    ([name, value]) => typeof value === 'string' && actor[name] === value,
  );
}

/** The claim for these actors; undefined for none. */
export function actClaim([actor, ...earlier]: readonly Actor[]): ActClaim | undefined {
  if (actor === undefined) return undefined;
  const act = actClaim(earlier);
  return {
    sub: actor.clientId,
    ...(actor.workload !== null && { workload: actor.workload }),
    ...(act !== undefined && { act }),
  };
}

/** The actors of a claim that we wrote, the current one first. */
export function actorsOf(claim: ActClaim | undefined): readonly Actor[] {
  return claim === undefined ? [] : [{ clientId: claim.sub, workload: claim.workload ?? null }, ...actorsOf(claim.act)];
}

function notAllowed(detail: string): Result<never, DelegationRefusal> {
  return err({ reason: 'actor_not_allowed', detail });
}
