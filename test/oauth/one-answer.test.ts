import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CLUSTER_CLAIMS, SUBJECT } from '../fixtures/assertions.ts';
import { RSA_B } from '../fixtures/keys.ts';
import { type Answer, freshAssertion, type RunningServer, startServer } from '../fixtures/running-server.ts';
import { NOW } from '../fixtures/settable-clock.ts';

let server: RunningServer;
let rows: Awaited<ReturnType<RunningServer['trustCluster']>>;
let reference: Answer;

beforeAll(async () => {
  server = await startServer();
  rows = await server.trustCluster();
  await server.addIssuer({ name: 'off', issuer_url: 'https://off.example', is_active: false });
  await server.createClient({ client_id: 'disabled', is_active: false });
  reference = await server.token('rubbish');
});
afterAll(() => server.close());

/** What an answer is to a caller; the request id and the date tell nothing. */
function visible(answer: Answer): unknown {
  const { date: _date, 'x-request-id': _id, ...headers } = answer.headers;
  return { status: answer.status, text: answer.text, headers };
}

describe('every refusal is one answer, and the audit log has the reason', () => {
  it('which is this', () => {
    expect(visible(reference)).toMatchObject({
      status: 400,
      text: '{"error":"invalid_client","error_description":"client authentication failed"}',
    });
  });

  it.each<[string, () => string, Readonly<Record<string, string>>]>([
    ['assertion_malformed', () => 'a.b.c', {}],
    [
      'assertion_too_large',
      () =>
        freshAssertion()
          .with({ x: 'x'.repeat(20_000) })
          .build(),
      {},
    ],
    ['header_member_forbidden', () => freshAssertion().withHeader({ jku: 'https://evil.example' }).build(), {}],
    ['typ_not_allowed', () => freshAssertion().withHeader({ typ: 'at+jwt' }).build(), {}],
    ['alg_not_allowed', () => freshAssertion().withHeader({ alg: 'PS256' }).build(), {}],
    ['iss_missing', () => freshAssertion().without('iss').build(), {}],
    ['issuer_not_trusted', () => freshAssertion().with({ iss: 'https://evil.example' }).build(), {}],
    ['issuer_disabled', () => freshAssertion().with({ iss: 'https://off.example' }).build(), {}],
    ['legacy_service_account_token', () => freshAssertion().with({ iss: 'kubernetes/serviceaccount' }).build(), {}],
    ['sub_missing', () => freshAssertion().without('sub').build(), {}],
    ['aud_missing', () => freshAssertion().without('aud').build(), {}],
    ['aud_mismatch', () => freshAssertion().with({ aud: 'https://other.example' }).build(), {}],
    [
      'aud_not_sole',
      () =>
        freshAssertion()
          .with({ aud: ['https://as.example.com', 'x'] })
          .build(),
      {},
    ],
    ['time_claim_missing', () => freshAssertion().without('exp').build(), {}],
    ['time_claim_invalid', () => freshAssertion().with({ exp: '1' }).build(), {}],
    [
      'expired',
      () =>
        freshAssertion()
          .with({ exp: NOW - 61 })
          .build(),
      {},
    ],
    [
      'not_yet_valid',
      () =>
        freshAssertion()
          .with({ nbf: NOW + 61 })
          .build(),
      {},
    ],
    [
      'lifetime_too_long',
      () =>
        freshAssertion()
          .with({ exp: NOW + 31_536_000 })
          .build(),
      {},
    ],
    ['jti_invalid', () => freshAssertion().with({ jti: 7 }).build(), {}],
    ['kid_missing', () => freshAssertion().withHeader({ kid: '' }).build(), {}],
    ['kid_unknown', () => freshAssertion().withHeader({ kid: 'other' }).build(), {}],
    ['signature_invalid', () => freshAssertion().signedBy(RSA_B).build(), {}],
    ['subject_malformed', () => freshAssertion().with({ sub: 'system:node:x' }).build(), {}],
    ['kubernetes_claims_missing', () => freshAssertion().without('kubernetes.io').build(), {}],
    [
      'kubernetes_claims_malformed',
      () =>
        freshAssertion()
          .with({ 'kubernetes.io': { ...Object(CLUSTER_CLAIMS['kubernetes.io']), node: { name: 'a/b' } } })
          .build(),
      {},
    ],
    ['kubernetes_claims_disagree', () => freshAssertion().with({ sub: 'system:serviceaccount:a:b' }).build(), {}],
    ['client_mismatch', () => freshAssertion().build(), { client_id: 'disabled' }],
    ['client_mismatch', () => freshAssertion().build(), { client_id: 'does-not-exist' }],
    ['assertion_type_not_supported', () => freshAssertion().build(), { client_assertion_type: 'foo' }],
  ])('%s', async (reason, assertion, fields) => {
    const answer = await server.token(assertion(), fields);
    expect(visible(answer)).toEqual(visible(reference));
    expect(await server.auditOf(answer)).toMatchObject({ reason, outcome: 'refused' });
  });

  it('replayed', async () => {
    const assertion = freshAssertion().build();
    const first = await server.token(assertion);
    expect(first.status).toBe(200);
    const second = await server.token(assertion);
    expect(visible(second)).toEqual(visible(reference));
    const row = await server.auditOf(second);
    expect(row).toMatchObject({ reason: 'replayed', subject: SUBJECT });
    expect(JSON.parse(row.metadata).detail).toContain(String(first.headers['x-request-id']));
  });

  it('workload_denied', async () => {
    const { id } = await server.deny({ trusted_issuer_id: rows.issuer.id, node_name: 'stolen', reason: 'sold' });
    const kubernetes = { ...Object(CLUSTER_CLAIMS['kubernetes.io']), node: { name: 'stolen' } };
    const answer = await server.token(freshAssertion().with({ 'kubernetes.io': kubernetes }).build());
    expect(visible(answer)).toEqual(visible(reference));
    const row = await server.auditOf(answer);
    expect(row).toMatchObject({ reason: 'workload_denied', outcome: 'refused', subject: SUBJECT });
    expect(JSON.parse(row.metadata).detail).toBe(
      `deny list entry ${id} cuts off node_name "stolen" until it is removed: sold`,
    );
  });

  it('and without any credentials', async () => {
    const answer = await server.post('/oauth/token', { grant_type: 'client_credentials' });
    expect(visible(answer)).toEqual(visible(reference));
  });
});

it('LEK-01: no assertion, secret or token is in any log line', async () => {
  const assertion = freshAssertion().build();
  const answer = await server.token(assertion);
  await server.post('/oauth/introspect', { token: String(answer.json.access_token), client_assertion: assertion });
  await server.post('/oauth/revoke', {
    token: String(answer.json.access_token),
    client_id: 'x',
    client_secret: 'hunter2-hunter2',
  });
  const log = server.logLines.join('');
  expect(log).toContain('decided');
  for (const secret of [
    ...assertion.split('.').slice(1),
    ...String(answer.json.access_token).split('.').slice(1),
    'hunter2-hunter2',
    'an-admin-secret-for-tests',
  ]) {
    expect(log).not.toContain(secret);
  }
});
