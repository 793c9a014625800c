/** A review from the call to the verdict, over real TLS: one good case, then one change each. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ReviewedIssuer } from '../../src/kubernetes/ask-cluster.ts';
import { IDLE_SECONDS } from '../../src/kubernetes/online-reviews.ts';
import { type ApiServerFault, POWERLESS_TOKEN, REVIEWER_TOKEN } from '../fixtures/api-server.ts';
import { AUDIENCE, SUBJECT } from '../fixtures/assertions.ts';
import { OTHER_CA_PEM, startIssuerServer, TEST_CA_PEM } from '../fixtures/issuer-server.ts';
import { NOW } from '../fixtures/settable-clock.ts';
import { type Reviewing, startReviewing } from './reviewing.ts';

const YES = {
  kind: 'authenticated',
  username: SUBJECT,
  uid: '11111111-1111-4111-8111-111111111111',
  podUid: '22222222-2222-4222-8222-222222222222',
  nodeName: 'node-1',
  credentialId: 'JTI=55555555-5555-4555-8555-555555555555',
};

let world: Reviewing;
beforeEach(async () => {
  world = await startReviewing();
});
afterEach(async () => {
  // Whatever was said about anything: no token and no credential is in it.
  const said = JSON.stringify([world.ends, world.reviews.state('issuer-1'), world.reviews.figures()]);
  const secrets = [REVIEWER_TOKEN, ...world.api.reviews.flatMap(({ body }) => body.spec?.token?.split('.') ?? [])];
  expect(secrets.filter((secret) => secret.length > 20 && said.includes(secret))).toEqual([]);
  await world.close();
});

const review = (changes: Partial<ReviewedIssuer> = {}, assertion = world.api.token().build()) =>
  world.reviews.review({ ...world.issuer, ...changes }, assertion);

describe('a good token', () => {
  it('is asked about once, with our audience and the operator’s credential, and authenticated', async () => {
    const assertion = world.api.token().build();
    expect(await review({}, assertion)).toEqual(YES);
    expect(world.api.reviews).toEqual([
      {
        authorization: `Bearer ${REVIEWER_TOKEN}`,
        certificateUser: null,
        headers: expect.objectContaining({ 'content-type': 'application/json', accept: 'application/json' }),
        body: {
          apiVersion: 'authentication.k8s.io/v1',
          kind: 'TokenReview',
          spec: { token: assertion, audiences: [AUDIENCE] },
        },
      },
    ]);
    expect(world.api.otherRequests).toEqual([]);
    expect(world.ends).toEqual([
      {
        issuer: { id: 'issuer-1', name: 'edge cluster' },
        outcome: 'authenticated',
        detail: null,
        seconds: 0,
        isNews: false,
      },
    ]);
  });

  it('of a cluster before 1.30 names neither node nor credential', async () => {
    world.api.objects.minor = 29;
    expect(await review()).toEqual({ ...YES, nodeName: null, credentialId: null });
  });

  it('is asked about for the row’s own audience instead, where it has one', async () => {
    const audience = 'https://reviews.example.com';
    expect(await review({ tokenReviewAudience: audience }, world.api.token(audience).build())).toEqual(YES);
    expect(world.api.reviews[0]?.body.spec?.audiences).toEqual([audience]);
  });

  it('is asked about below the path that the URL has, as clusters behind a gateway need', async () => {
    expect(await review({ kubernetesApiServerUrl: `${world.api.url}/k8s/clusters/c-1/` })).toEqual(YES);
  });

  it.each([
    ['60 seconds after its end, as the API server has it: exp is checked before', 3660, 'authenticated'],
    ['61 seconds after its end', 3661, 'denied'],
  ])('is what the cluster says %s', async (_when, seconds, kind) => {
    const assertion = world.api.token().build();
    world.clock.advance(seconds);
    expect(await review({}, assertion)).toMatchObject({ kind });
  });
});

describe('a token that is not good any more', () => {
  it.each<[string, () => void, string]>([
    ['pod deleted', () => world.api.objects.pods.clear(), 'service account token has been invalidated'],
    [
      'pod made again under its name',
      () => {
        for (const pod of world.api.objects.pods.values()) pod.uid = '99999999-9999-4999-8999-999999999999';
      },
      'service account token has been invalidated',
    ],
    [
      'pod terminating for more than a minute after its grace period',
      () => {
        for (const pod of world.api.objects.pods.values()) pod.deletionTimestamp = NOW - 61;
      },
      'service account token has been invalidated',
    ],
    ['account deleted', () => world.api.objects.serviceAccounts.clear(), 'service account token has been invalidated'],
    [
      'account made again',
      () => {
        for (const account of world.api.objects.serviceAccounts.values()) {
          account.uid = '77777777-7777-4777-8777-777777777777';
        }
      },
      'service account UID (77777777-7777-4777-8777-777777777777) does not match claim (11111111-1111-4111-8111-111111111111)',
    ],
  ])('is denied: %s', async (_what, change, words) => {
    const assertion = world.api.token().build();
    change();
    expect(await review({}, assertion)).toEqual({
      kind: 'denied',
      detail: `the cluster answers: [invalid bearer token, ${words}]`,
    });
    expect(world.reviews.state('issuer-1')).toMatchObject({ breaker: 'closed', failures: 0, lastError: null });
  });

  it.each([
    ['for another audience', () => world.api.token('https://other.example.com').build()],
    ['of another cluster', () => world.api.token().with({ iss: 'https://other.example.com' }).build()],
    ['that nobody signed', () => `${world.api.token().build().slice(0, -8)}AAAAAAAA`],
    ['that is no token', () => 'a.b.c'],
  ])('is denied: %s', async (_what, build) => {
    expect(await review({}, build())).toMatchObject({
      kind: 'denied',
      detail: expect.stringContaining('invalid bearer'),
    });
  });

  it('may be still terminating', async () => {
    for (const pod of world.api.objects.pods.values()) pod.deletionTimestamp = NOW - 60;
    expect(await review()).toEqual(YES);
  });
});

describe('an answer that is a yes, but not for us', () => {
  it.each<[string, object]>([
    ['without audiences', { authenticated: true, user: { username: SUBJECT } }],
    ['with an error', { authenticated: true, user: { username: SUBJECT }, audiences: [AUDIENCE], error: 'x' }],
    ['for nobody', { authenticated: true, user: {}, audiences: [AUDIENCE] }],
  ])('is denied: %s', async (_what, status) => {
    world.api.fault = { status: 201, body: { kind: 'TokenReview', status } };
    expect(await review()).toMatchObject({ kind: 'denied' });
  });
});

describe('TRV-04: a cluster that can’t be asked is no denial', () => {
  it.each<[string, ApiServerFault, string, RegExp, number]>([
    ['400', { status: 400 }, 'request_refused', /answered 400/, 1],
    ['401', { status: 401 }, 'credential_unknown', /answered 401: it does not know our credential/, 1],
    ['403', { status: 403 }, 'forbidden', /answered 403: .*tokenreviews.authentication.k8s.io/, 1],
    ['404', { status: 404 }, 'unexpected_answer', /answered 404: is kubernetes_api_server_url/, 1],
    ['409', { status: 409 }, 'request_refused', /answered 409/, 1],
    ['429', { status: 429 }, 'throttled', /answered 429/, 1],
    ['429 that says when', { status: 429, headers: { 'retry-after': '7' } }, 'throttled', /answered 429/, 7],
    ['429 that says never', { status: 429, headers: { 'retry-after': '86400' } }, 'throttled', /answered 429/, 30],
    ['500', { status: 500 }, 'server_error', /answered 500/, 1],
    ['503 that says when', { status: 503, headers: { 'retry-after': '3' } }, 'server_error', /answered 503/, 3],
    [
      'a yes of status 500',
      { status: 500, body: { kind: 'TokenReview', status: { authenticated: true } } },
      'server_error',
      /500/,
      1,
    ],
    ['a reset', 'reset', 'unreachable', /ECONNRESET/, 1],
    ['half an answer', 'break', 'unreachable', /broke off/, 1],
    ['HTML of status 502', 'html', 'server_error', /answered 502/, 1],
    ['HTML of status 200', { status: 200, body: '<html>' }, 'unexpected_answer', /not JSON/, 1],
    ['another kind', { status: 201, body: { kind: 'Status' } }, 'unexpected_answer', /not a TokenReview/, 1],
    ['more than 64 KiB', 'oversize', 'unexpected_answer', /larger than 65536 bytes/, 1],
    ['a redirect', 'redirect', 'unexpected_answer', /redirect \(status 307\)/, 1],
  ])('%s', async (_what, fault, outcome, detail, retryAfterSeconds) => {
    world.api.fault = fault;
    expect(await review()).toEqual({ kind: 'unavailable', detail: expect.stringMatching(detail), retryAfterSeconds });
    expect(world.ends).toEqual([expect.objectContaining({ outcome, detail: expect.stringMatching(detail) })]);
    // Asked once, and nowhere else.
    expect(world.api.reviews).toHaveLength(1);
    expect(world.api.otherRequests).toEqual([]);
  });

  it('a reset of the connection that the last review left: one more would be a second try', async () => {
    await review();
    world.api.fault = 'reset';
    expect(await review()).toMatchObject({ kind: 'unavailable', detail: expect.stringContaining('ECONNRESET') });
    expect(world.api.reviews).toHaveLength(2);
    expect(world.api.connections()).toBe(1);
  });

  it('a port that is shut', async () => {
    await world.api.close();
    expect(await review()).toMatchObject({ kind: 'unavailable', detail: expect.stringContaining('ECONNREFUSED') });
    expect(world.ends[0]?.outcome).toBe('unreachable');
  });

  it.each<[string, Partial<ReviewedIssuer>, string, RegExp]>([
    ['another CA', { kubernetesApiServerCaPem: OTHER_CA_PEM }, 'tls_failed', /kubernetes_api_server_ca_pem/],
    ['the system’s CAs', { kubernetesApiServerCaPem: null }, 'tls_failed', /UNABLE_TO_VERIFY_LEAF_SIGNATURE/],
    ['an unreadable CA', { kubernetesApiServerCaPem: 'x' }, 'misconfigured', /kubernetes_api_server_ca_pem holds no/],
    ['no URL', { kubernetesApiServerUrl: null }, 'misconfigured', /kubernetes_api_server_url/],
    ['plain http', { kubernetesApiServerUrl: 'http://127.0.0.1:1' }, 'misconfigured', /kubernetes_api_server_url/],
    ['a private address without consent', { allowPrivateNetwork: false }, 'misconfigured', /allow_private_network/],
    [
      'a credential that is not there',
      { kubernetesApiServerCredential: 'east' },
      'misconfigured',
      /east can not be read \(ENOENT\)/,
    ],
    ['no pod of our own', { kubernetesApiServerCredential: null }, 'misconfigured', /token can not be read \(ENOENT\)/],
  ])('%s', async (_what, changes, outcome, detail) => {
    expect(await review(changes)).toMatchObject({ kind: 'unavailable', detail: expect.stringMatching(detail) });
    expect(world.ends[0]?.outcome).toBe(outcome);
    expect(world.api.reviews).toHaveLength(0);
  });

  it('a URL with a password in it, which is in no text', async () => {
    const kubernetesApiServerUrl = `https://user:canary-password@127.0.0.1:${world.api.port}`;
    const verdict = await review({ kubernetesApiServerUrl });
    expect(verdict).toMatchObject({ kind: 'unavailable' });
    expect(JSON.stringify([verdict, world.ends])).not.toContain('canary-password');
    expect(world.api.reviews).toHaveLength(0);
  });

  it('silence ends with the deadline', async () => {
    await world.close();
    world = await startReviewing({ limits: { deadlineMs: 300 } });
    world.api.fault = 'silence';
    const startedAt = performance.now();
    expect(await review()).toMatchObject({ kind: 'unavailable', detail: expect.stringContaining('within 0.3 s') });
    expect(performance.now() - startedAt).toBeLessThan(2000);
    expect(world.ends[0]?.outcome).toBe('timeout');
  });

  it('a credential that is never read ends with the deadline too', async () => {
    await world.close();
    world = await startReviewing({ limits: { deadlineMs: 50 }, credentials: { read: () => new Promise(() => {}) } });
    expect(await review()).toMatchObject({ kind: 'unavailable', detail: 'the credential could not be read in time' });
  });
});

describe('our credential', () => {
  it('TRV-06: is read again for each call: one that was rotated counts from the next on', async () => {
    writeFileSync(join(world.folder, 'west'), 'expired-token');
    expect(await review()).toMatchObject({ detail: expect.stringContaining('401') });
    writeFileSync(join(world.folder, 'west'), REVIEWER_TOKEN);
    expect(await review()).toEqual(YES);
    expect(world.api.reviews.map(({ authorization }) => authorization)).toEqual([
      'Bearer expired-token',
      `Bearer ${REVIEWER_TOKEN}`,
    ]);
  });

  it('without the right to create reviews is told so', async () => {
    writeFileSync(join(world.folder, 'west'), POWERLESS_TOKEN);
    expect(await review()).toMatchObject({ kind: 'unavailable', detail: expect.stringContaining('answered 403') });
  });

  it('is the own pod’s where the row names none, with its CA where the row has none', async () => {
    mkdirSync(join(world.folder, 'pod'));
    writeFileSync(join(world.folder, 'pod/token'), REVIEWER_TOKEN);
    writeFileSync(join(world.folder, 'pod/ca.crt'), TEST_CA_PEM);
    expect(await review({ kubernetesApiServerCredential: null, kubernetesApiServerCaPem: null })).toEqual(YES);
  });

  it('does not bring its own CA where the row has one', async () => {
    mkdirSync(join(world.folder, 'pod'));
    writeFileSync(join(world.folder, 'pod/token'), REVIEWER_TOKEN);
    writeFileSync(join(world.folder, 'pod/ca.crt'), TEST_CA_PEM);
    await review({ kubernetesApiServerCredential: null, kubernetesApiServerCaPem: OTHER_CA_PEM });
    expect(world.ends[0]?.outcome).toBe('tls_failed');
  });

  it('goes nowhere that an answer names', async () => {
    const elsewhere = await startIssuerServer();
    for (const location of [`${elsewhere.origin}/`, `${world.api.url}/other`]) {
      world.api.fault = { status: 302, headers: { location } };
      expect(await review()).toMatchObject({ kind: 'unavailable', detail: expect.stringContaining('redirect') });
    }
    expect(elsewhere.connections()).toBe(0);
    expect(world.api.otherRequests).toEqual([]);
    await elsewhere.close();
  });
});

describe('the breaker', () => {
  const state = () => world.reviews.state('issuer-1');

  it('opens after five failures, asks nothing, tries once, and closes', async () => {
    world.api.fault = { status: 500 };
    for (let count = 0; count < 5; count += 1) await review();
    expect(state()).toMatchObject({
      breaker: 'open',
      failures: 5,
      lastError: 'the API server answered 500',
      lastErrorCode: 'server_error',
      nextProbeAt: NOW + 1,
    });
    expect(await review()).toEqual({
      kind: 'unavailable',
      detail: 'the API server is not asked after its last failure: the API server answered 500',
      retryAfterSeconds: 1,
    });
    expect(world.ends.at(-1)).toMatchObject({ outcome: 'breaker_open', isNews: false });
    expect(world.api.reviews).toHaveLength(5);

    world.clock.advance(1);
    await review();
    expect(state()).toMatchObject({ breaker: 'open', failures: 6, nextProbeAt: NOW + 3 });
    world.clock.advance(2);
    world.api.fault = null;
    expect(await review()).toEqual(YES);
    expect(state()).toMatchObject({ breaker: 'closed', failures: 0, lastError: null, lastAnsweredAt: NOW + 3 });
    expect(world.moves).toEqual([
      'issuer-1 open',
      'issuer-1 half_open',
      'issuer-1 open',
      'issuer-1 half_open',
      'issuer-1 closed',
    ]);
  });

  it('tells the news once: the trouble, another trouble, and its end', async () => {
    for (const fault of [{ status: 500 }, { status: 503 }, { status: 403 }, null, null] as const) {
      world.api.fault = fault;
      await review();
    }
    expect(world.ends.map(({ outcome, isNews }) => [outcome, isNews])).toEqual([
      ['server_error', true],
      ['server_error', false],
      ['forbidden', true],
      ['authenticated', true],
      ['authenticated', false],
    ]);
  });

  it('is not opened by tokens that are refused', async () => {
    for (let count = 0; count < 12; count += 1) expect(await review({}, 'a.b.c')).toMatchObject({ kind: 'denied' });
    world.api.fault = { status: 400 };
    for (let count = 0; count < 12; count += 1) await review();
    expect(state()).toMatchObject({ breaker: 'closed', failures: 0 });
    expect(world.api.reviews).toHaveLength(24);
  });

  it('is not opened by what is wrong with us, but says what that is', async () => {
    for (let count = 0; count < 12; count += 1) await review({ allowPrivateNetwork: false });
    expect(state()).toMatchObject({
      breaker: 'closed',
      failures: 0,
      lastErrorCode: 'misconfigured',
      lastError: expect.stringContaining('allow_private_network'),
    });
  });

  it('belongs to one cluster: another one is asked', async () => {
    world.api.fault = 'reset';
    for (let count = 0; count < 5; count += 1) await review();
    world.api.fault = null;
    expect(await review({ id: 'issuer-2' })).toEqual(YES);
    expect(state()?.breaker).toBe('open');
    expect(world.reviews.figures().clusters.map(({ id, breaker }) => [id, breaker])).toEqual([
      ['issuer-1', 'open'],
      ['issuer-2', 'closed'],
    ]);
    expect(world.reviews.figures(1).clusters).toHaveLength(1);
  });

  it('begins anew when the row is pointed elsewhere', async () => {
    world.api.fault = 'reset';
    for (let count = 0; count < 5; count += 1) await review();
    world.api.fault = null;
    expect(await review({ kubernetesApiServerUrl: `${world.api.url}/new` })).toEqual(YES);
    expect(state()).toMatchObject({ breaker: 'closed', lastError: null });
  });

  it('is forgotten with its cluster when nobody asks any more', async () => {
    await review();
    world.clock.advance(IDLE_SECONDS);
    await review({ id: 'issuer-2' });
    expect(state()).toBeNull();
    expect(world.reviews.state('issuer-3')).toBeNull();
  });
});

describe('a cluster that hangs', () => {
  const limits = { deadlineMs: 1500, inFlight: 2, waiting: 3, maxWaitMs: 100 };
  beforeEach(async () => {
    await world.close();
    world = await startReviewing({ limits });
    world.api.fault = 'silence';
  });

  it('holds so many calls and no more; whoever finds no place is told to come back', async () => {
    const running = Array.from({ length: 20 }, () => review());
    await vi.waitFor(() => expect(world.api.reviews).toHaveLength(2));
    const refused = await Promise.all(running.slice(2));
    expect(new Set(refused.map((verdict) => JSON.stringify(verdict)))).toEqual(
      new Set([
        JSON.stringify({
          kind: 'unavailable',
          detail: 'too many reviews of this cluster are under way',
          retryAfterSeconds: 1,
        }),
      ]),
    );
    expect(world.reviews.state('issuer-1')).toMatchObject({ breaker: 'closed', failures: 0, inFlight: 2, waiting: 0 });
    expect(world.ends.filter(({ outcome }) => outcome === 'overloaded')).toHaveLength(18);

    // Meanwhile another cluster answers at once.
    const healthy = await startReviewing();
    const issuer = { ...healthy.issuer, id: 'issuer-2' };
    expect(await world.reviews.review(issuer, healthy.api.token().build())).toEqual(YES);
    await healthy.close();

    await Promise.all(running);
    expect(world.reviews.state('issuer-1')).toMatchObject({ failures: 2, inFlight: 0 });
  });

  it('gives a place that becomes free to the next one that waits', async () => {
    world.api.fault = null;
    const verdicts = await Promise.all(Array.from({ length: 5 }, () => review()));
    expect(verdicts).toEqual([YES, YES, YES, YES, YES]);
  });

  it('is let go when the server stops', async () => {
    const running = Array.from({ length: 4 }, () => review());
    await vi.waitFor(() => expect(world.api.reviews).toHaveLength(2));
    world.reviews.close();
    expect(await Promise.all([...running.slice(0, 2), review()])).toEqual(
      Array(3).fill({ kind: 'unavailable', detail: 'the server stops', retryAfterSeconds: 1 }),
    );
    await Promise.all(running);
    expect(world.reviews.state('issuer-1')).toMatchObject({ failures: 0, inFlight: 0, waiting: 0 });
  });
});

describe('a yes that is remembered', () => {
  beforeEach(async () => {
    await world.close();
    world = await startReviewing({ cacheSeconds: 3600 });
  });

  it('counts for ten seconds, however long was asked for', async () => {
    const assertion = world.api.token().build();
    await review({}, assertion);
    world.api.objects.pods.clear();
    world.clock.advance(9);
    expect(await review({}, assertion)).toEqual(YES);
    expect(world.api.reviews).toHaveLength(1);
    world.clock.advance(1);
    expect(await review({}, assertion)).toMatchObject({ kind: 'denied' });
  });

  it('counts for this assertion, this row and this configuration', async () => {
    const assertion = world.api.token().build();
    await review({}, assertion);
    await review({}, world.api.token().with({ extra: 1 }).build());
    await review({ id: 'issuer-2' }, assertion);
    await review({ keySourceRevision: 2 }, assertion);
    await review({ keySourceRevision: 2, tokenReviewAudience: 'https://other.example.com' }, assertion);
    expect(world.api.reviews).toHaveLength(5);
    expect(world.ends.at(-1)?.outcome).toBe('denied');
  });

  it('is never a no', async () => {
    await review({}, 'a.b.c');
    await review({}, 'a.b.c');
    expect(world.api.reviews).toHaveLength(2);
  });

  it('is not remembered unless that is switched on', async () => {
    await world.close();
    world = await startReviewing();
    const assertion = world.api.token().build();
    await review({}, assertion);
    await review({}, assertion);
    expect(world.api.reviews).toHaveLength(2);
  });
});

it('what a cluster repeats of the token or of our credential is in no text', async () => {
  const assertion = world.api.token().build();
  const error = `bad: ${assertion} / Bearer ${REVIEWER_TOKEN}`;
  world.api.fault = { status: 201, body: { kind: 'TokenReview', status: { error } } };
  const verdict = await review({}, assertion);
  expect(verdict).toMatchObject({ kind: 'denied', detail: expect.stringContaining('bad: [redacted]') });
  for (const secret of [...assertion.split('.'), REVIEWER_TOKEN, REVIEWER_TOKEN.slice(0, 20)]) {
    expect(JSON.stringify(verdict)).not.toContain(secret);
  }
});
