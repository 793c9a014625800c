/**
 * The three answers that a token request with a workload's assertion can get, byte for byte, each together with what
 * the audit record says of it: what the caller may know, and what only the admin may.
 */
import { expect } from 'vitest';
import type { Answer, RunningServer } from '../fixtures/running-server.ts';

export type Evidence = Readonly<Record<string, unknown>>;

/** A text that is equal, or a part of it that matches. */
export type Detail = string | RegExp;

const REFUSED = '{"error":"invalid_client","error_description":"client authentication failed"}';
const UNAVAILABLE =
  '{"error":"temporarily_unavailable","error_description":"the request can not be decided right now, try again later"}';

/** A token was issued. Answers the access token's claims. */
export async function expectIssued(server: RunningServer, answer: Answer): Promise<Evidence> {
  expect({ status: answer.status, error: answer.json.error }).toEqual({ status: 200, error: undefined });
  expect(answer.json).toMatchObject({ token_type: 'Bearer', access_token: expect.any(String) });
  expect(await server.auditOf(answer)).toMatchObject({ action: 'token.requested', outcome: 'accepted', reason: null });
  const [, payload = ''] = String(answer.json.access_token).split('.');
  return JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
}

/** The one refusal, for this reason. Answers the evidence. */
export async function expectRefused(
  server: RunningServer,
  answer: Answer,
  reason: string,
  detail?: Detail,
): Promise<Evidence> {
  expect({ status: answer.status, text: answer.text }).toEqual({ status: 400, text: REFUSED });
  expect(answer.headers).toMatchObject({ 'cache-control': 'no-store' });
  expect(answer.headers['retry-after']).toBeUndefined();
  return audited(server, answer, 'refused', reason, detail);
}

/** Keys can't be had right now. Answers after how many seconds the caller is told to come back. */
export async function expectUnavailable(server: RunningServer, answer: Answer, detail?: Detail): Promise<number> {
  expect({ status: answer.status, text: answer.text }).toEqual({ status: 503, text: UNAVAILABLE });
  expect(answer.headers).toMatchObject({
    'cache-control': 'no-store',
    'retry-after': expect.stringMatching(/^([1-9]|[1-5]\d|60)$/),
  });
  await audited(server, answer, 'unavailable', 'keys_unavailable', detail);
  return Number(answer.headers['retry-after']);
}

async function audited(
  server: RunningServer,
  answer: Answer,
  outcome: string,
  reason: string,
  detail: Detail | undefined,
): Promise<Evidence> {
  const row = await server.auditOf(answer);
  const evidence = JSON.parse(row.metadata) as Evidence;
  // Together, so that a wrong reason is shown with its evidence.
  expect({ ...row, evidence }).toMatchObject({ action: 'token.requested', outcome, reason });
  if (typeof detail === 'string') expect(evidence.detail).toBe(detail);
  if (detail instanceof RegExp) expect(evidence.detail).toMatch(detail);
  return evidence;
}
