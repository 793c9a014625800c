/** Cases of the theme `replay`: one assertion, one token, for whoever comes first and on whichever replica. */
import { decodeJwt } from 'jose';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { AssertionBuilder, AUDIENCE } from '../fixtures/assertions.ts';
import { type Answer, freshAssertion, type RunningServer, startServer } from '../fixtures/running-server.ts';
import { NOW, settableClock } from '../fixtures/settable-clock.ts';
import { ecKey, keySetOf } from './issuer-key.ts';
import { expectIssued, expectRefused } from './outcome.ts';
import { type PinnedIssuer, pinIssuer } from './pinned-issuer.ts';
import { startTwoReplicas, type TwoReplicas } from './two-replicas.ts';

let replicas: TwoReplicas;
let server: RunningServer;
let reusable: PinnedIssuer;

beforeAll(async () => {
  replicas = await startTwoReplicas();
  server = replicas.one;
  await server.trustCluster();
  reusable = await pinIssuer(server, 'https://reusable.example.com', 'edge-worker', ['job'], {
    fields: { assertion_use: 'until_expiry' },
  });
});
afterEach(() => server.clock.set(NOW));
afterAll(() => replicas.close());

/** The reason says when and by which request the assertion was used first. */
async function expectReplayed(answer: Answer, first: Answer, at = '2026-11-30T12:00:00.000Z') {
  const detail = `first used at ${at} by request ${first.headers['x-request-id']}`;
  return expectRefused(server, answer, 'replayed', detail);
}

/** Claims of one jti on both replicas, as fast as they can be sent. */
async function postMany(assertion: string, count: number): Promise<readonly Answer[]> {
  return Promise.all(
    Array.from({ length: count }, (_, index) => (index % 2 === 0 ? replicas.one : replicas.two).token(assertion)),
  );
}

const claimCount = () => replicas.database.prepare('select count(*) from replay_claims').pluck().get();

describe('RPL-01: a Kubernetes token without jti', () => {
  const at = 1600973698;
  const claims = {
    iss: 'kubernetes.cluster.svc',
    aud: ['https://as.example.com'],
    sub: 'system:serviceaccount:ns:default',
    iat: at,
    nbf: at,
    exp: 1600977298,
    'kubernetes.io': {
      namespace: 'ns',
      pod: { name: 'p', uid: 'u' },
      serviceaccount: { name: 'default', uid: 'v' },
    },
  };
  const { header, key } = freshAssertion();
  let then: RunningServer;

  beforeAll(async () => {
    then = await startServer({}, settableClock(at));
    await then.trustCluster({ issuer: { issuer_url: claims.iss }, binding: { subject: claims.sub } });
  });
  afterAll(() => then.close());

  it('RPL-01: is accepted once', async () => {
    const assertion = new AssertionBuilder(header, claims, key).build();
    const first = await then.token(assertion);
    await expectIssued(then, first);
    const evidence = await expectRefused(then, await then.token(assertion), 'replayed');
    expect(evidence).toMatchObject({ jti: 'absent', detail: expect.stringContaining('2020-09-24T18:54:58.000Z') });
  });

  it('RPL-01: is told apart from that of another pod, minted in the same second', async () => {
    const pod = { name: 'q', uid: 'w' };
    const neighbour = { ...claims, 'kubernetes.io': { ...claims['kubernetes.io'], pod } };
    const assertion = new AssertionBuilder(header, neighbour, key).build();
    expect(await expectIssued(then, await then.token(assertion))).toMatchObject({ workload: { pod: 'q' } });
  });
});

describe('RPL-02: whether the kubelet’s file may be shown again is the row’s to say', () => {
  it('RPL-02: until_expiry accepts it after ten minutes, and no token outlives it', async () => {
    const assertion = reusable.assertion('job', { exp: NOW + 700 }).build();
    expect(await expectIssued(server, await server.token(assertion))).toMatchObject({ exp: NOW + 700 });
    server.clock.advance(600);
    expect(await expectIssued(server, await server.token(assertion))).toMatchObject({ exp: NOW + 700 });
    server.clock.advance(100);
    await expectRefused(server, await server.token(assertion), 'expired');
  });

  it('RPL-02: once, the default, refuses it as replayed and says what to do', async () => {
    const assertion = freshAssertion().build();
    const first = await server.token(assertion);
    expect(await expectIssued(server, first)).toMatchObject({ exp: NOW + 900 });
    server.clock.advance(600);
    expect(await expectReplayed(await server.token(assertion), first)).toMatchObject({
      hint: 'Keep the access token until it expires; where containers restart, set assertion_use: until_expiry.',
    });
  });
});

describe('RPL-03: fifty identical requests over two replicas', () => {
  it('RPL-03: get exactly one token', async () => {
    const answers = await postMany(freshAssertion().build(), 50);
    const [accepted, ...others] = answers.filter(({ status }) => status === 200);
    expect([accepted?.status, others]).toEqual([200, []]);
    for (const answer of answers.filter(({ status }) => status !== 200)) {
      if (accepted !== undefined) await expectReplayed(answer, accepted);
    }
  });

  it('RPL-03: get none while the claims can not be written, and nobody is called a replayer', async () => {
    const assertion = freshAssertion().build();
    replicas.database.exec('alter table replay_claims rename to lost');
    const answers = await postMany(assertion, 4);
    replicas.database.exec('alter table lost rename to replay_claims');
    for (const answer of answers) {
      expect([answer.status, answer.json.error]).toEqual([503, 'temporarily_unavailable']);
      expect(await server.audit({ request_id: answer.headers['x-request-id'] })).toEqual([]);
    }
    await expectIssued(server, await server.token(assertion));
  });
});

describe('RPL-04: the losers of the race', () => {
  it('RPL-04: have no token, and the audit log has exactly one that was issued', async () => {
    const jti = crypto.randomUUID();
    const answers = await postMany(freshAssertion().with({ jti }).build(), 20);
    expect(answers.filter(({ text }) => text.includes('access_token'))).toHaveLength(1);

    const rows = (await server.audit({ action: 'token.requested' })).filter(({ metadata }) => metadata.includes(jti));
    expect(rows).toHaveLength(20);
    const issued = rows.map(({ metadata }) => JSON.parse(metadata)).filter((evidence) => 'token_jti' in evidence);
    const token = String(answers.find(({ status }) => status === 200)?.json.access_token);
    expect(issued).toMatchObject([{ jti, token_jti: decodeJwt(token).jti }]);
  });
});

describe('RPL-07: an assertion that a client signs itself', () => {
  it('RPL-07: is good for one token', async () => {
    const key = ecKey('own');
    await server.createClient({ client_id: 'self-signed', jwks: JSON.stringify(keySetOf(key)) });
    const claims = {
      iss: 'self-signed',
      sub: 'self-signed',
      aud: AUDIENCE,
      iat: NOW,
      exp: NOW + 60,
      jti: 'j1',
    };
    const assertion = new AssertionBuilder({ alg: 'ES256', kid: 'own' }, claims, key.privateJwk).build();
    const first = await server.token(assertion);
    expect(await expectIssued(server, first)).toMatchObject({ sub: 'self-signed' });
    await expectReplayed(await server.token(assertion), first);
    await expectReplayed(await replicas.two.token(assertion), first);
  });
});

describe('RPL-09: what a caller sends does not fill the database', () => {
  it.each([
    ['a jti of 257 characters', { jti: 'x'.repeat(257) }, 'jti_invalid'],
    ['a jti of ten thousand', { jti: 'x'.repeat(10_000) }, 'jti_invalid'],
    ['a jti that is no string', { jti: 7 }, 'jti_invalid'],
    ['a life of a hundred years', { exp: NOW + 100 * 365 * 86_400 }, 'lifetime_too_long'],
  ])('RPL-09: %s is refused and leaves no row', async (_name, claims, reason) => {
    const before = claimCount();
    await expectRefused(server, await server.token(freshAssertion().with(claims).build()), reason);
    expect(claimCount()).toBe(before);
  });

  it('RPL-09: a jti of a megabyte is not even read', async () => {
    const before = claimCount();
    const answer = await server.token(
      freshAssertion()
        .with({ jti: 'x'.repeat(1_000_000) })
        .build(),
    );
    expect([answer.status, answer.json.error]).toEqual([413, 'invalid_request']);
    expect(await server.auditOf(answer)).toMatchObject({ outcome: 'refused', reason: 'invalid_request' });
    expect(claimCount()).toBe(before);
  });

  it('RPL-09: a row has one size whatever the jti, and an end', async () => {
    const jti = 'x'.repeat(256);
    await expectIssued(server, await server.token(freshAssertion().with({ jti }).build()));
    const rows = 'select length(key) as bytes, expires_at from replay_claims order by rowid desc limit 1';
    expect(replicas.database.prepare(rows).get()).toEqual({ bytes: 32, expires_at: NOW + 3600 + 120 });
    const dump = JSON.stringify(replicas.database.prepare('select * from replay_claims').all());
    expect(dump).not.toContain(jti);
  });

  it('RPL-09: assertions that are refused leave no rows, however many', async () => {
    const before = claimCount();
    await Promise.all(
      Array.from({ length: 50 }, () =>
        server.token(freshAssertion().with({ sub: 'system:serviceaccount:a:b' }).build()),
      ),
    );
    expect(claimCount()).toBe(before);
  });
});

describe('RPL-10: a used assertion is remembered for as long as it would be accepted', () => {
  it('RPL-10: also within the leeway after its end', async () => {
    const assertion = freshAssertion()
      .with({ exp: NOW + 1 })
      .build();
    const first = await server.token(assertion);
    await expectIssued(server, first);
    for (const seconds of [30, 60]) {
      server.clock.set(NOW + seconds);
      await expectReplayed(await server.token(assertion), first);
    }
    server.clock.set(NOW + 61);
    await expectRefused(server, await server.token(assertion), 'expired');
  });
});

describe('RPL-11: a jti belongs to its issuer', () => {
  it('RPL-11: two issuers may use the same one', async () => {
    const a = await pinIssuer(server, 'https://a.example.com', 'edge-worker', ['job']);
    const b = await pinIssuer(server, 'https://b.example.com', 'edge-worker', ['job']);
    const firsts = [];
    for (const issuer of [a, b]) {
      const first = await server.token(issuer.assertion('job', { jti: '1' }).build());
      await expectIssued(server, first);
      firsts.push(first);
    }
    await expectIssued(server, await server.token(freshAssertion().with({ jti: '1' }).build()));
    for (const [index, issuer] of [a, b].entries()) {
      const again = await server.token(issuer.assertion('job', { jti: '1', exp: NOW + 200 }).build());
      const first = firsts[index];
      if (first !== undefined) await expectReplayed(again, first);
    }
  });
});
