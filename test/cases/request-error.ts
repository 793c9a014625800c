/** The answer to a request that is refused for its form or for what it asks, and its record. */
import { expect } from 'vitest';
import type { Answer, AuditRow, RunningServer } from '../fixtures/running-server.ts';
import type { Evidence } from './outcome.ts';

/** This error with this description, byte for byte, as status 400. Answers the evidence. */
export async function expectRequestError(
  server: RunningServer,
  answer: Answer,
  error: 'invalid_request' | 'invalid_scope',
  description: string,
): Promise<Evidence> {
  const text = JSON.stringify({ error, error_description: description });
  expect({ status: answer.status, text: answer.text }).toEqual({ status: 400, text });
  expect(answer.headers).toMatchObject({
    'cache-control': 'no-store',
    'content-type': 'application/json; charset=utf-8',
  });
  const row = await server.auditOf(answer);
  expect(row).toMatchObject({ outcome: 'refused', reason: error });
  return evidenceOf(row);
}

/** The evidence of a record. */
export function evidenceOf({ metadata }: Pick<AuditRow, 'metadata'>): Evidence {
  return JSON.parse(metadata) as Evidence;
}
