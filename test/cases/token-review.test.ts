/**
 * The cluster itself is asked, by the running server: what a caller gets, what the audit log says, what the metric
 * counts, and whether the assertion may be used again, in both modes and for each way a cluster can fail.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ApiServerFault, type FakeApiServer, REVIEWER_TOKEN, startApiServer } from '../fixtures/api-server.ts';
import { AUDIENCE, CLUSTER_ISSUER } from '../fixtures/assertions.ts';
import { TEST_CA_PEM } from '../fixtures/issuer-server.ts';
import { type Answer, type RunningServer, startServer } from '../fixtures/running-server.ts';
import { settableClock } from '../fixtures/settable-clock.ts';
import { expectIssued, expectRefused } from './outcome.ts';

let folder: string;
let api: FakeApiServer;
let server: RunningServer;
let issuerId: string;

const MODES = [
  ['after the signature', { enable_token_review: true }],
  ['as the only verifier', { key_source_type: 'token_review', jwks: undefined }],
] as const;

async function start(issuer: object): Promise<void> {
  const clock = settableClock();
  api = await startApiServer(clock);
  folder = await mkdtemp(join(tmpdir(), 'countersign-credentials-'));
  await writeFile(join(folder, 'west'), `${REVIEWER_TOKEN}\n`);
  await writeFile(join(folder, 'west.server'), `${api.url}\n`);
  server = await startServer({ kubernetesCredentials: folder }, clock);
  const row = await server.trustCluster({
    issuer: {
      issuer_url: CLUSTER_ISSUER,
      kubernetes_api_server_url: api.url,
      kubernetes_api_server_credential: 'west',
      kubernetes_api_server_ca_pem: TEST_CA_PEM,
      allow_private_network: true,
      ...issuer,
    },
  });
  issuerId = row.issuer.id;
}

afterEach(async () => {
  await server.close();
  await api.close();
  await rm(folder, { recursive: true });
});

const assertion = () => api.token().with({ jti: crypto.randomUUID() }).build();

/** The cluster could not be asked. Answers the seconds to wait. */
async function expectNotAsked(answer: Answer, detail: RegExp): Promise<number> {
  expect({ status: answer.status, error: answer.json.error }).toEqual({
    status: 503,
    error: 'temporarily_unavailable',
  });
  const row = await server.auditOf(answer);
  expect(row).toMatchObject({ outcome: 'unavailable', reason: 'review_unavailable' });
  expect(JSON.parse(row.metadata).detail).toMatch(detail);
  return Number(answer.headers['retry-after']);
}
const counted = async (outcome: string) =>
  (await server.send('GET', '/metrics')).text.includes(
    `countersign_token_reviews_total{issuer="${issuerId}",outcome="${outcome}"} 1`,
  );

describe.each(MODES)('a review %s', (_mode, issuer) => {
  beforeEach(() => start(issuer));

  it('TRV-01, TRV-03: asks for our audiences alone, with the operator’s credential, and says yes', async () => {
    const token = assertion();
    await expectIssued(server, await server.token(token));
    expect(api.reviews).toMatchObject([
      { authorization: `Bearer ${REVIEWER_TOKEN}`, body: { spec: { token, audiences: [AUDIENCE] } } },
    ]);
    expect(await counted('authenticated')).toBe(true);
  });

  it('TRV-06: takes a new credential from its file, never the caller’s token', async () => {
    api.bearerTokens.set('rotated-reviewer-token', 'system:serviceaccount:auth:as');
    await writeFile(join(folder, 'west'), 'rotated-reviewer-token');
    await expectIssued(server, await server.token(assertion()));
    expect(api.reviews.map(({ authorization }) => authorization)).toEqual(['Bearer rotated-reviewer-token']);
  });

  it('puts the cluster’s name of the token on record', async () => {
    const answer = await server.token(assertion());
    const { metadata } = await server.auditOf(answer);
    expect(JSON.parse(metadata).credential_id).toMatch(/^JTI=[0-9a-f-]{36}$/);
  });

  const yes = { username: 'system:serviceaccount:edge-system:edge-worker' };
  const answering = (status: object): ApiServerFault => ({
    status: 201,
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', status },
  });
  it.each<[string, object, string]>([
    ['no audiences', { authenticated: true, user: yes }, 'review_denied'],
    ['an empty list of audiences', { authenticated: true, audiences: [], user: yes }, 'review_denied'],
    ['another audience', { authenticated: true, audiences: ['other'], user: yes }, 'review_denied'],
    ['no authenticated', { audiences: [AUDIENCE], user: {} }, 'review_denied'],
    ['an error beside its yes', { authenticated: true, audiences: [AUDIENCE], user: yes, error: 'x' }, 'review_denied'],
    [
      'another account',
      { authenticated: true, audiences: [AUDIENCE], user: { username: 'system:serviceaccount:a:b' } },
      'review_mismatch',
    ],
    ['another uid', { authenticated: true, audiences: [AUDIENCE], user: { ...yes, uid: 'other' } }, 'review_mismatch'],
    [
      'another pod',
      {
        authenticated: true,
        audiences: [AUDIENCE],
        user: { ...yes, extra: { 'authentication.kubernetes.io/pod-uid': ['other'] } },
      },
      'review_mismatch',
    ],
  ])('TRV-02: refuses an answer with %s, and the assertion may be used again', async (_title, status, reason) => {
    const token = assertion();
    api.fault = answering(status);
    await expectRefused(server, await server.token(token), reason);
    api.fault = answering({ authenticated: true, audiences: [AUDIENCE], user: yes });
    await expectIssued(server, await server.token(token));
  });

  it.each<[string, ApiServerFault, string]>([
    ['its own credential refused', { status: 401 }, 'credential_unknown'],
    ['no right to ask', { status: 403 }, 'forbidden'],
    ['too many questions', { status: 429, headers: { 'retry-after': '2' } }, 'throttled'],
    ['a fault of the cluster', { status: 500 }, 'server_error'],
    ['HTML', 'html', 'server_error'],
    ['HTML with a 200', { status: 200, headers: { 'content-type': 'text/html' }, body: '<html>' }, 'unexpected_answer'],
    ['a redirect', 'redirect', 'unexpected_answer'],
    ['too large an answer', 'oversize', 'unexpected_answer'],
    ['a connection that breaks', 'reset', 'unreachable'],
    ['silence', 'silence', 'timeout'],
  ])('TRV-04: is 503 after %s, and the assertion may be used again', async (_title, fault, outcome) => {
    const token = assertion();
    api.fault = fault;
    expect(await expectNotAsked(await server.token(token), /./)).toBeGreaterThanOrEqual(
      outcome === 'throttled' ? 2 : 1,
    );
    expect(await counted(outcome)).toBe(true);
    expect(api.reviews).toHaveLength(1);
    expect(server.logLines.join('')).toContain('cluster can not be asked about tokens');
    api.fault = null;
    server.clock.advance(60);
    await expect.poll(async () => (await server.token(token)).status, { timeout: 5_000 }).toBe(200);
  });

  it('a pod that is gone has no access from then on', async () => {
    const token = assertion();
    api.objects.pods.clear();
    await expectRefused(server, await server.token(token), 'review_denied');
  });

  it('rubbish is not sent to the cluster', async () => {
    await expectRefused(server, await server.token(api.token('https://other.example.com').build()), 'aud_mismatch');
    await expectRefused(
      server,
      await server.token(api.token().with({ iss: 'https://other.example.com' }).build()),
      'issuer_not_trusted',
    );
    expect(api.reviews).toEqual([]);
  });

  it('FET-05: a credential goes to the server that the operator’s files name, and to no other', async () => {
    await writeFile(join(folder, 'west.server'), 'https://elsewhere.example.com');
    expect(await expectNotAsked(await server.token(assertion()), /"west" is not for the API server/)).toBe(30);
    await rm(join(folder, 'west.server'));
    await expectNotAsked(await server.token(assertion()), /put the server's URL into west\.server beside it/);
    await server.admin(
      'mutation ($params: UpdateTrustedIssuerRequest!) { _update_trusted_issuer(params: $params) { id } }',
      { id: issuerId, kubernetes_api_server_credential: '' },
    );
    server.clock.advance(1);
    await expectNotAsked(await server.token(assertion()), /own pod's token is not for the API server/);
    expect(api.reviews).toEqual([]);
  });

  it('FET-10: the row’s ca_pem is enough for the API server too', async () => {
    await server.admin(
      'mutation ($params: UpdateTrustedIssuerRequest!) { _update_trusted_issuer(params: $params) { id } }',
      { id: issuerId, kubernetes_api_server_ca_pem: '', ca_pem: TEST_CA_PEM },
    );
    server.clock.advance(1);
    await expectIssued(server, await server.token(assertion()));
  });

  it('shows how the cluster stands', async () => {
    api.fault = { status: 500 };
    await server.token(assertion());
    const { review } = await server.admin<{ review: Record<string, unknown> }>(
      'query ($params: TrustedIssuerRequest!) { _trusted_issuer(params: $params) { review { breaker failures last_error } } }',
      { id: issuerId },
    );
    expect(review).toMatchObject({ failures: 1, last_error: expect.stringContaining('500') });
  });
});
