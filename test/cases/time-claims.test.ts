/** Cases of the theme `time-claims`: what is no number is no time, and what lives too long is a password. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { aClusterAssertion } from '../fixtures/assertions.ts';
import { CLUSTER_ROW, freshAssertion, type RunningServer, startServer } from '../fixtures/running-server.ts';
import { NOW, settableClock } from '../fixtures/settable-clock.ts';
import { expectIssued, expectRefused } from './outcome.ts';
import { type PinnedIssuer, pinIssuer } from './pinned-issuer.ts';

let server: RunningServer;
let reusable: PinnedIssuer;

beforeAll(async () => {
  server = await startServer();
  await server.trustCluster();
  reusable = await pinIssuer(server, 'https://reusable.example.com', 'edge-worker', ['job'], {
    fields: { assertion_use: 'until_expiry' },
  });
});
afterEach(() => server.clock.set(NOW));
afterAll(() => server.close());

/** A cluster's assertion with these JSON texts in place of claims; null leaves one out. */
function withTexts(texts: Readonly<Record<string, string | null>>): string {
  const rest = freshAssertion().without(...Object.keys(texts));
  const members = Object.entries(texts).flatMap(([name, text]) => (text === null ? [] : [`"${name}":${text}`]));
  return rest.build({ claimsText: `{${[...members, JSON.stringify(rest.claims).slice(1)].join(',')}` });
}

describe('TIM-01: times may have fractions of a second', () => {
  const times = { exp: 1893456000.75, iat: 1893455400.25, nbf: 1893455400.5 };

  it('TIM-01: they are accepted', async () => {
    server.clock.set(1893455401);
    await expectIssued(server, await server.token(freshAssertion().with(times).build()));
  });

  it('TIM-01: the issued token never outlives the fraction', async () => {
    server.clock.set(1893455401);
    const answer = await server.token(reusable.assertion('job', times).build());
    expect(await expectIssued(server, answer)).toMatchObject({ exp: 1893456000 });
    expect(answer.json.expires_in).toBe(599);
  });

  it('TIM-01: less than a second of life is none', async () => {
    server.clock.set(1893456000);
    await expectRefused(server, await server.token(reusable.assertion('job', times).build()), 'expired');
  });

  it('TIM-01: the leeway ends with the fraction, not with the second after it', async () => {
    server.clock.set(1893456060);
    await expectIssued(server, await server.token(freshAssertion().with(times).build()));
    server.clock.set(1893456061);
    await expectRefused(server, await server.token(freshAssertion().with(times).build()), 'expired');
  });
});

describe('TIM-02: a time that is no number is refused, never coerced', () => {
  it.each([
    ['"1893456000"', 'a string'],
    ['true', 'a boolean'],
    ['null', 'a null'],
    ['[1893456000]', 'a object'],
    ['{}', 'a object'],
  ])('TIM-02: exp, iat and nbf of %s', async (text, presented) => {
    server.clock.set(1893455000);
    for (const claim of ['exp', 'iat', 'nbf']) {
      const assertion = withTexts({ iat: '1893455000', nbf: '1893455000', exp: '1893456000', [claim]: text });
      await expectRefused(server, await server.token(assertion), 'time_claim_invalid', `${claim} is ${presented}`);
    }
  });
});

describe('TIM-03: clocks may differ by a minute', () => {
  const ahead = (iat: number, nbf: number) =>
    freshAssertion()
      .with({ iat: NOW + iat, nbf: NOW + nbf, exp: NOW + 600 })
      .build();

  it.each([
    [30, 30],
    [60, 60],
  ])('TIM-03: iat +%i s and nbf +%i s are accepted', async (iat, nbf) => {
    await expectIssued(server, await server.token(ahead(iat, nbf)));
  });

  it.each([
    [120, 120, 'nbf'],
    [0, 120, 'nbf'],
    [120, 0, 'iat'],
    [61, 0, 'iat'],
  ])('TIM-03: iat +%i s and nbf +%i s are refused because of %s', async (iat, nbf, claim) => {
    const at = new Date((NOW + (claim === 'iat' ? iat : nbf)) * 1000).toISOString();
    await expectRefused(
      server,
      await server.token(ahead(iat, nbf)),
      'not_yet_valid',
      `${claim} is ${at}, now is 2026-11-30T12:00:00.000Z`,
    );
  });
});

describe('TIM-05: a request for 3607 seconds gives a token for a year', () => {
  const { 'kubernetes.io': kubernetes } = aClusterAssertion().claims;
  const extended = freshAssertion().with({
    iat: 1700000000,
    nbf: 1700000000,
    exp: 1731536000,
    'kubernetes.io': { ...(kubernetes as object), warnafter: 1700003607 },
  });
  let then: RunningServer;
  let issuerId: string;

  beforeAll(async () => {
    then = await startServer({}, settableClock(1700000000));
    issuerId = (await then.trustCluster()).issuer.id;
  });
  afterAll(() => then.close());

  const raiseCap = (seconds: number) =>
    then.graphql('mutation ($params: UpdateTrustedIssuerRequest!) { _update_trusted_issuer(params: $params) { id } }', {
      params: { id: issuerId, max_token_lifetime_seconds: seconds },
    });

  it.each([3600, 86_400])('TIM-05: is refused with a cap of %i s, before and after warnafter', async (seconds) => {
    expect((await raiseCap(seconds)).json.errors).toBeUndefined();
    for (const now of [1700000000, 1700003607 + 61]) {
      then.clock.set(now);
      const detail = `a lifetime of 31536000 s, more than ${seconds} s`;
      expect(await expectRefused(then, await then.token(extended.build()), 'lifetime_too_long', detail)).toMatchObject({
        hint: expect.stringContaining('expirationSeconds (not 3607, which means one year)'),
      });
    }
  });

  it('TIM-05: the cap can not be raised to a year', async () => {
    const { json } = await raiseCap(31_536_000);
    expect(json.errors).toMatchObject([
      { extensions: { code: 'INVALID_ARGUMENT', field: 'max_token_lifetime_seconds' } },
    ]);
  });
});

describe('TIM-06: legacy tokens, which never expire', () => {
  const legacy = {
    iss: 'kubernetes/serviceaccount',
    sub: 'system:serviceaccount:default:app',
    'kubernetes.io/serviceaccount/namespace': 'default',
    'kubernetes.io/serviceaccount/secret.name': 'app-token-x',
    'kubernetes.io/serviceaccount/service-account.name': 'app',
    'kubernetes.io/serviceaccount/service-account.uid': 'u',
  };
  const legacyToken = aClusterAssertion()
    .without(...Object.keys(aClusterAssertion().claims))
    .with(legacy);

  it('TIM-06: are refused although the signature is that of a trusted cluster', async () => {
    const answer = await server.token(legacyToken.build());
    expect(await expectRefused(server, answer, 'legacy_service_account_token')).toMatchObject({
      iss: 'kubernetes/serviceaccount',
      hint: 'Mount a projected serviceAccountToken volume with our audience instead.',
    });
  });

  it('TIM-06: are refused under any other name, with a lifetime and an audience', async () => {
    const { iss: _iss, sub: _sub, ...flat } = legacy;
    const answer = await server.token(freshAssertion().with(flat).build());
    await expectRefused(server, answer, 'legacy_service_account_token');
  });

  it.each(['issuer_url', 'additional_issuer_urls'])(
    'TIM-06: their issuer can not be registered as %s',
    async (field) => {
      const params = {
        ...CLUSTER_ROW,
        issuer_url: 'https://legacy.example.com',
        [field]: field === 'issuer_url' ? legacy.iss : [legacy.iss],
      };
      const { json } = await server.graphql(
        'mutation ($params: AddTrustedIssuerRequest!) { _add_trusted_issuer(params: $params) { id } }',
        { params },
      );
      expect(json.errors).toMatchObject([
        { message: expect.stringContaining('never expire'), extensions: { code: 'INVALID_ARGUMENT' } },
      ]);
    },
  );
});

describe('TIM-07: a missing end is not zero, and zero is not eternity', () => {
  it('TIM-07: absent is refused as missing', async () => {
    await expectRefused(server, await server.token(withTexts({ exp: null })), 'time_claim_missing', 'exp is missing');
  });

  it.each(['0', '-1'])('TIM-07: %s has expired', async (exp) => {
    await expectRefused(
      server,
      await server.token(withTexts({ exp, iat: null, nbf: null })),
      'expired',
      /^expired at 19(69-12-31T23:59:59|70-01-01T00:00:00)\.000Z, now is /,
    );
  });
});

describe('TIM-08: an absurd end is refused, and nothing breaks on the way to the audit log', () => {
  it.each([
    ['1e50', 'time_claim_invalid', 'exp is 1e+50'],
    ['9007199254740993', 'time_claim_invalid', 'exp is 9007199254740992'],
    ['1893456000000', 'time_claim_invalid', 'exp is 1893456000000'],
    ['1e999', 'time_claim_invalid', 'exp is Infinity'],
    ['253402300799', 'lifetime_too_long', /^a lifetime of \d+ s, more than 3600 s$/],
  ])('TIM-08: %s', async (exp, reason, detail) => {
    const assertion = withTexts({ exp });
    const evidence = await expectRefused(server, await server.token(assertion), reason, detail);
    const explained = await server.admin<{ reason: string; checks: readonly unknown[] }>(
      'query ($params: ExplainAssertionRequest!) { _explain_assertion(params: $params) { reason checks { name detail } } }',
      { assertion },
    );
    expect(explained).toMatchObject({ reason });
    expect(explained.checks.at(-1)).toEqual({ name: 'time', detail: evidence.detail });
  });

  it('TIM-08: so is an absurd beginning', async () => {
    for (const claim of ['iat', 'nbf']) {
      const detail = `${claim} is -1e+50`;
      await expectRefused(server, await server.token(withTexts({ [claim]: '-1e50' })), 'time_claim_invalid', detail);
    }
  });
});

describe('TIM-10: an end of the wrong kind does not skip the test for expiry', () => {
  it.each([
    ['absent', null, 'time_claim_missing'],
    ['"9999999999"', '"9999999999"', 'time_claim_invalid'],
    ['NaN', 'NaN', 'assertion_malformed'],
    ['Infinity', 'Infinity', 'assertion_malformed'],
    ['null', 'null', 'time_claim_invalid'],
  ])('TIM-10: %s is refused', async (_name, exp, reason) => {
    await expectRefused(server, await server.token(withTexts({ exp })), reason);
  });
});
