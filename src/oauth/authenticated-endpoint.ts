/**
 * What all endpoints that ask for a proof do, in one order: read the form, read the credentials, verify and decide, do
 * the endpoint's own work, record, answer. The record is durable before the answer leaves.
 */
import type { Request, Response } from 'express';
import type { Result } from '../result.ts';
import { type ClientCredentials, readClientCredentials } from './client-credentials.ts';
import {
  type Decision,
  type DecisionAction,
  decidingFacts,
  decisionRecord,
  type RequestOrigin,
  reasonOf,
} from './decision-record.ts';
import type { EndpointDeps } from './endpoint-deps.ts';
import { type Form, readForm } from './form-body.ts';
import { fromGrantRefusal, fromProofRefusal, type OAuthError, proofNotAccepted } from './oauth-error.ts';
import type { ProofFacts, ProofOutcome } from './proof-outcome.ts';
import { requestOrigin } from './request-origin.ts';
import { forbidCaching, sendOAuthError } from './send-error.ts';

export type Endpoint<R, G> = {
  readonly action: DecisionAction;
  /** What the audit record says of the request in any case. */
  readonly describe: (form: Form) => Readonly<Record<string, unknown>>;
  /** Form errors, before the credentials are looked at: a request that nothing could answer uses nothing up. */
  readonly read: (form: Form) => Result<R, OAuthError>;
  /** Verifies the proofs and decides what they are good for, before they are used up. */
  readonly decide: (request: R, credentials: ClientCredentials, origin: RequestOrigin) => Promise<ProofOutcome<G>>;
  /** The endpoint's work for whoever may have it. A null body is an empty answer. */
  readonly perform: (granted: G, request: R, now: number) => Promise<Performed>;
};

export type Performed = {
  readonly body: Readonly<Record<string, unknown>> | null;
  readonly evidence: Readonly<Record<string, unknown>>;
};

const NO_FACTS: ProofFacts = new Map();

/** Handles one request. Rejects only on faults; they are answered by `http-server.ts`. */
export async function handleAuthenticated<R, G>(
  endpoint: Endpoint<R, G>,
  deps: EndpointDeps,
  request: Request,
  response: Response,
): Promise<void> {
  const origin = requestOrigin(request, response, deps.clock());
  const startedAt = deps.stopwatch();
  let described = {};
  const record = (facts: ProofFacts, decision: Decision) =>
    recordDecision(deps, endpoint.action, origin, facts, decision, described, deps.stopwatch() - startedAt);
  const refuse = async (facts: ProofFacts, decision: Decision, error: OAuthError) => {
    await record(facts, decision);
    sendOAuthError(response, error);
  };

  const form = await readForm(request);
  if (!form.ok) return refuse(NO_FACTS, { kind: 'malformed', error: form.error }, form.error);
  described = endpoint.describe(form.value);
  const read = endpoint.read(form.value);
  if (!read.ok) return refuse(NO_FACTS, { kind: 'malformed', error: read.error }, read.error);

  const credentials = readClientCredentials(form.value, request.headersDistinct.authorization ?? []);
  if (!credentials.ok) {
    const unusable = credentials.error;
    if (unusable.kind === 'malformed') return refuse(NO_FACTS, unusable, unusable.error);
    const role = 'client_authentication';
    const notAccepted = proofNotAccepted(role, unusable.usedAuthorizationHeader);
    return refuse(NO_FACTS, { ...unusable, role }, fromProofRefusal(unusable.refusal, notAccepted));
  }

  const outcome = await endpoint.decide(read.value, credentials.value, origin);
  const { facts } = outcome;
  const usedHeader = credentials.value.method === 'secret' && credentials.value.usedAuthorizationHeader;
  const notAccepted = proofNotAccepted(outcome.role, usedHeader);
  if (outcome.kind === 'refused') return refuse(facts, outcome, fromProofRefusal(outcome.refusal, notAccepted));
  if (outcome.kind === 'denied') return refuse(facts, outcome, fromGrantRefusal(outcome.denial));

  const { body, evidence } = await endpoint.perform(outcome.granted, read.value, origin.now);
  await record(facts, { kind: 'accepted', role: outcome.role, evidence });
  forbidCaching(response);
  response.status(200);
  if (body === null) response.end();
  else response.json(body);
}

async function recordDecision(
  deps: EndpointDeps,
  action: DecisionAction,
  origin: RequestOrigin,
  facts: ProofFacts,
  decision: Decision,
  described: Readonly<Record<string, unknown>>,
  seconds: number,
): Promise<void> {
  const entry = decisionRecord(action, origin, facts, decision, described);
  const { trustedIssuer, clientId } = decidingFacts(facts, decision);
  deps.metrics.decided(
    {
      action,
      outcome: entry.outcome,
      reason: reasonOf(decision),
      issuer: trustedIssuer?.name ?? null,
      client: clientId ?? null,
    },
    seconds,
  );
  deps.log.info(
    {
      request_id: origin.requestId,
      action,
      outcome: entry.outcome,
      reason: entry.reason,
      client_id: entry.clientId,
      trusted_issuer_id: entry.trustedIssuerId,
    },
    'decided',
  );
  await deps.auditLog.append(entry);
}
