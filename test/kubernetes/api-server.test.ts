/** The fake API server against the collected answers of real ones, so that what is tested with it means something. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createOutboundFetch } from '../../src/key-source/outbound-fetch.ts';
import { type FakeApiServer, POWERLESS_TOKEN, REVIEWER_TOKEN, startApiServer } from '../fixtures/api-server.ts';
import { AUDIENCE } from '../fixtures/assertions.ts';
import { TEST_CA_PEM } from '../fixtures/issuer-server.ts';
import { type SettableClock, settableClock } from '../fixtures/settable-clock.ts';
import { sharedJson } from '../fixtures/shared-material.ts';
import { directPost } from './direct-post.ts';

let clock: SettableClock;
let api: FakeApiServer;
beforeEach(async () => {
  clock = settableClock();
  api = await startApiServer(clock);
});
afterEach(() => api.close());

type Collected = { readonly id: string; readonly http: number; readonly body: Record<string, unknown> };
const shared = Object(sharedJson('k8s-fixtures.json') ?? {});
const collected: readonly Collected[] = shared.token_review?.responses ?? [];

describe.skipIf(collected.length === 0)('answers as an API server does', () => {
  it.each<[string, () => { token: string; bearer?: string }]>([
    ['ok-1.30', () => ({ token: api.token().build() })],
    [
      'ok-1.21',
      () => {
        api.objects.minor = 21;
        return { token: api.token().build() };
      },
    ],
    [
      'pod-deleted',
      () => {
        const token = api.token().build();
        api.objects.pods.clear();
        return { token };
      },
    ],
    [
      'expired',
      () => {
        const token = api.token().build();
        clock.advance(3661);
        return { token };
      },
    ],
    ['wrong-audience', () => ({ token: api.token('https://other.example.com').build() })],
    [
      'serviceaccount-recreated',
      () => {
        const token = api.token().build();
        const uid = '77777777-7777-4777-8777-777777777777';
        api.objects.serviceAccounts.set('edge-system/edge-worker', { uid });
        return { token };
      },
    ],
    ['unknown-issuer-or-garbage', () => ({ token: 'garbage' })],
    ['empty-token', () => ({ token: '' })],
    ['caller-unauthenticated', () => ({ token: api.token().build(), bearer: 'nobody' })],
  ])('%s', async (id, make) => {
    const { token, bearer = REVIEWER_TOKEN } = make();
    const spec = { token, audiences: [AUDIENCE] };
    const answer = await directPost(api, bearer, {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenReview',
      spec,
    });
    const expected = collected.find((response) => response.id === id);
    expect(answer).toEqual({
      status: expected?.http,
      body: expected?.body.kind === 'TokenReview' ? { ...expected.body, spec } : expected?.body,
    });
  });

  it('caller-forbidden', async () => {
    const answer = await directPost(api, POWERLESS_TOKEN, { kind: 'TokenReview', spec: { token: 'x' } });
    expect(answer).toMatchObject({ status: 403, body: { kind: 'Status', reason: 'Forbidden', code: 403 } });
  });
});

it('without audiences it asks for its own', async () => {
  const ours = await directPost(api, REVIEWER_TOKEN, { kind: 'TokenReview', spec: { token: api.token().build() } });
  expect(ours.body).toMatchObject({ status: { error: expect.stringContaining('invalid for the target audiences') } });
  const [own = ''] = api.objects.apiAudiences;
  const its = await directPost(api, REVIEWER_TOKEN, { kind: 'TokenReview', spec: { token: api.token(own).build() } });
  expect(its.body).toMatchObject({ status: { authenticated: true, audiences: [own] } });
});

it('shows its discovery to nobody who is anonymous', async () => {
  const fetchJson = createOutboundFetch({ privateNetworks: ['127.0.0.0/8'] });
  const request = { caPem: TEST_CA_PEM, allowPrivateNetwork: true, accept: 'application/json' };
  expect(await fetchJson(`${api.url}/openid/v1/jwks`, request)).toMatchObject({
    ok: false,
    error: { status: 403, hint: 'anonymous_access_refused' },
  });
});
