/**
 * What all endpoints with client authentication do, in one order: read the form, read the credentials, authenticate and
 * decide, do the endpoint's own work, record, answer. The record is durable before the answer leaves.
 */
import type { Request, Response } from 'express';
import type { AssertionFacts } from '../assertion/verification-trace.ts';
import type { Client } from '../issuance/client.ts';
import type { GrantRefusal } from '../issuance/grant.ts';
import type { Result } from '../result.ts';
import { type AuthorizeClient, authenticateClient } from './authenticate-client.ts';
import { readClientCredentials } from './client-credentials.ts';
import { type Decision, type DecisionAction, decisionRecord, type RequestOrigin, reasonOf } from './decision-record.ts';
import type { EndpointDeps } from './endpoint-deps.ts';
import { type Form, readForm } from './form-body.ts';
import { fromAuthenticationRefusal, fromGrantRefusal, type OAuthError } from './oauth-error.ts';
import { requestOrigin } from './request-origin.ts';
import { forbidCaching, sendOAuthError } from './send-error.ts';

export type Endpoint<G> = {
  readonly action: DecisionAction;
  /** Form errors, before the credentials are looked at: a request that nothing could answer uses nothing up. */
  readonly check: (form: Form) => Result<void, OAuthError>;
  /** What an authenticated client gets, before its assertion is used up. */
  readonly authorize: (form: Form, now: number) => AuthorizeClient<G, GrantRefusal>;
  /** The endpoint's work for a client that may have it. A null body is an empty answer. */
  readonly perform: (granted: G, client: Client, form: Form, now: number) => Promise<Performed>;
};

export type Performed = {
  readonly body: Readonly<Record<string, unknown>> | null;
  readonly evidence: Readonly<Record<string, unknown>>;
};

/** Handles one request. Rejects only on faults; they are answered by `http-server.ts`. */
export async function handleAuthenticated<G>(
  endpoint: Endpoint<G>,
  deps: EndpointDeps,
  request: Request,
  response: Response,
): Promise<void> {
  const origin = requestOrigin(request, response, deps.clock());
  const startedAt = deps.stopwatch();
  const record = (facts: AssertionFacts, decision: Decision) =>
    recordDecision(deps, endpoint.action, origin, facts, decision, deps.stopwatch() - startedAt);
  const refuse = async (facts: AssertionFacts, decision: Decision, error: OAuthError) => {
    await record(facts, decision);
    sendOAuthError(response, error);
  };

  const form = await readForm(request);
  if (!form.ok) return refuse({}, { kind: 'malformed', error: form.error }, form.error);
  const checked = endpoint.check(form.value);
  if (!checked.ok) return refuse({}, { kind: 'malformed', error: checked.error }, checked.error);

  const credentials = readClientCredentials(form.value, request.headersDistinct.authorization ?? []);
  if (!credentials.ok) {
    const unusable = credentials.error;
    if (unusable.kind === 'malformed') return refuse({}, unusable, unusable.error);
    return refuse({}, unusable, fromAuthenticationRefusal(unusable.refusal, unusable.usedAuthorizationHeader));
  }

  const authorize = endpoint.authorize(form.value, origin.now);
  const outcome = await authenticateClient(deps.authentication, credentials.value, origin, authorize);
  const { facts } = outcome.trace;
  if (outcome.kind === 'refused') {
    const usedHeader = credentials.value.method === 'secret' && credentials.value.usedAuthorizationHeader;
    return refuse(facts, outcome, fromAuthenticationRefusal(outcome.refusal, usedHeader));
  }
  if (outcome.kind === 'denied') return refuse(facts, outcome, fromGrantRefusal(outcome.denial));

  const { body, evidence } = await endpoint.perform(outcome.granted, outcome.client, form.value, origin.now);
  await record(facts, { kind: 'accepted', evidence });
  forbidCaching(response);
  response.status(200);
  if (body === null) response.end();
  else response.json(body);
}

async function recordDecision(
  deps: EndpointDeps,
  action: DecisionAction,
  origin: RequestOrigin,
  facts: AssertionFacts,
  decision: Decision,
  seconds: number,
): Promise<void> {
  const entry = decisionRecord(action, origin, facts, decision);
  deps.metrics.decided(
    {
      action,
      outcome: entry.outcome,
      reason: reasonOf(decision),
      issuer: facts.trustedIssuer?.name ?? null,
      client: facts.clientId ?? null,
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
