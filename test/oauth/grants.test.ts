/** The three shapes of a token request (RFC 6749 §4.4, RFC 7523 §2.1, RFC 8693): one proof, one decision, three answers. */
import { decodeJwt } from 'jose';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { AUDIENCE, CLUSTER_CLAIMS, CLUSTER_ISSUER, SUBJECT } from '../fixtures/assertions.ts';
import {
  type Answer,
  ASSERTION_TYPE,
  freshAssertion,
  type RunningServer,
  startServer,
} from '../fixtures/running-server.ts';
import { NOW } from '../fixtures/settable-clock.ts';

const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
const JWT = 'urn:ietf:params:oauth:token-type:jwt';
const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token';
const API = 'https://api.example.com';
const OTHER_API = 'https://b.example.com';

type Fields = Readonly<Record<string, string>>;

/** The shapes, by what each makes of an assertion and how it says no. */
const SHAPES = [
  {
    shape: 'client authentication',
    fields: (assertion: string): Fields => ({
      grant_type: 'client_credentials',
      client_assertion_type: ASSERTION_TYPE,
      client_assertion: assertion,
    }),
    refusal: '{"error":"invalid_client","error_description":"client authentication failed"}',
    proof: undefined,
  },
  {
    shape: 'the jwt-bearer grant',
    fields: (assertion: string): Fields => ({ grant_type: JWT_BEARER, assertion }),
    refusal: '{"error":"invalid_grant","error_description":"the assertion is not accepted"}',
    proof: 'assertion',
  },
  {
    shape: 'token exchange of a JWT',
    fields: (assertion: string): Fields => ({
      grant_type: TOKEN_EXCHANGE,
      subject_token: assertion,
      subject_token_type: JWT,
    }),
    refusal: '{"error":"invalid_request","error_description":"the tokens of the exchange are not accepted"}',
    proof: 'subject_token',
  },
  {
    shape: "token exchange of a platform's access token",
    fields: (assertion: string): Fields => ({
      grant_type: TOKEN_EXCHANGE,
      subject_token: assertion,
      subject_token_type: ACCESS_TOKEN,
    }),
    refusal: '{"error":"invalid_request","error_description":"the tokens of the exchange are not accepted"}',
    proof: 'subject_token',
  },
] as const;
const [, BEARER, EXCHANGE] = SHAPES;

let server: RunningServer;
let rows: Awaited<ReturnType<RunningServer['trustCluster']>>;

beforeAll(async () => {
  server = await startServer();
  rows = await server.trustCluster({
    client: { allowed_resources: [API, OTHER_API], access_token_ttl_seconds: 1800, with_client_secret: true },
  });
  await server.addIssuer({
    name: 'away',
    issuer_url: 'https://away.example',
    issuer_type: 'oidc',
    key_source_type: 'static_jwks_url',
    jwks: null,
    jwks_url: 'https://127.0.0.1:1/keys',
    allow_private_network: true,
  });
});
afterAll(() => server.close());

afterEach(async () => {
  await updateIssuer({ assertion_use: 'once' });
  await updateClient(rows.client.id, { access_token_ttl_seconds: 1800 });
});

const send = (fields: Fields, headers: Fields = {}) => server.post('/oauth/token', fields, headers);
const claimsOf = (answer: Answer) => decodeJwt(String(answer.json.access_token));
const updateIssuer = (params: object) =>
  server.admin('mutation ($params: UpdateTrustedIssuerRequest!) { _update_trusted_issuer(params: $params) { id } }', {
    id: rows.issuer.id,
    ...params,
  });
const updateClient = (id: string, params: object) =>
  server.admin('mutation ($params: UpdateClientRequest!) { _update_client(params: $params) { id } }', {
    id,
    ...params,
  });

async function evidenceOf(answer: Answer) {
  const { metadata, ...row } = await server.auditOf(answer);
  return { ...row, evidence: JSON.parse(metadata) as Readonly<Record<string, unknown>> };
}

async function expectRefused(answer: Answer, text: string, reason: string): Promise<void> {
  expect({ status: answer.status, text: answer.text }).toEqual({ status: 400, text });
  expect(answer.headers).toMatchObject({ 'cache-control': 'no-store', pragma: 'no-cache' });
  expect(await evidenceOf(answer)).toMatchObject({ action: 'token.requested', outcome: 'refused', reason });
}

describe.each(SHAPES)('$shape', ({ fields, refusal, proof }) => {
  it('gives the same token, with scope and resource as asked', async () => {
    const answer = await send({ ...fields(freshAssertion().build()), scope: 'read', resource: API });
    expect(answer.status, answer.text).toBe(200);
    const { iat, exp, jti, ...claims } = claimsOf(answer);
    expect(claims).toEqual({
      iss: AUDIENCE,
      sub: 'edge-worker',
      client_id: 'edge-worker',
      aud: API,
      scope: 'read',
      workload: {
        issuer: CLUSTER_ISSUER,
        subject: SUBJECT,
        namespace: 'edge-system',
        service_account: 'edge-worker',
        service_account_uid: '11111111-1111-4111-8111-111111111111',
        pod: 'edge-worker-x7k2p',
        pod_uid: '22222222-2222-4222-8222-222222222222',
        node: 'node-1',
      },
    });
    expect(jti).toEqual(expect.any(String));
    expect(Number(exp) - Number(iat)).toBe(answer.json.expires_in);
    expect(answer.headers).toMatchObject({ 'cache-control': 'no-store', pragma: 'no-cache' });
    expect(answer.json.refresh_token).toBeUndefined();
  });

  it('leaves one record with the grant and the proof that decided', async () => {
    const assertion = freshAssertion();
    const grantType = fields('').grant_type;
    const { evidence, ...row } = await evidenceOf(await send(fields(assertion.build())));
    expect(row).toMatchObject({
      action: 'token.requested',
      outcome: 'accepted',
      client_id: 'edge-worker',
      subject: SUBJECT,
      trusted_issuer_id: rows.issuer.id,
    });
    expect(evidence).toMatchObject({ grant_type: grantType, jti: assertion.claims.jti, aud: [AUDIENCE] });
    expect(evidence.proof).toBe(proof);
    expect(JSON.stringify(evidence)).not.toContain(assertion.build().split('.')[2]);
  });

  it.each<[string, string]>([
    ['assertion_malformed', 'a.b.c'],
    ['issuer_not_trusted', freshAssertion().with({ iss: 'https://evil.example' }).build()],
    ['aud_mismatch', freshAssertion().with({ aud: 'https://other.example' }).build()],
    [
      'expired',
      freshAssertion()
        .with({ exp: NOW - 61 })
        .build(),
    ],
    ['kid_unknown', freshAssertion().withHeader({ kid: 'other' }).build()],
    ['typ_not_allowed', freshAssertion().withHeader({ typ: 'at+jwt' }).build()],
    ['kubernetes_claims_missing', freshAssertion().without('kubernetes.io').build()],
  ])('K-04, K-19: has one answer to every refusal: %s', async (reason, assertion) => {
    await expectRefused(await send(fields(assertion)), refusal, reason);
  });

  it('K-21: has the same answer for a workload that is bound to nobody, and for another client', async () => {
    const { client } = await server.createClient();
    const answer = await send({ ...fields(freshAssertion().build()), client_id: client.client_id });
    await expectRefused(answer, refusal, 'client_mismatch');
    const kubernetes = { ...Object(CLUSTER_CLAIMS['kubernetes.io']), namespace: 'edge' };
    const stranger = freshAssertion().with({
      sub: 'system:serviceaccount:edge:edge-worker',
      'kubernetes.io': kubernetes,
    });
    await expectRefused(await send(fields(stranger.build())), refusal, 'subject_not_bound');
  });

  it('takes the client_id of the bound client, which proves nothing', async () => {
    expect((await send({ ...fields(freshAssertion().build()), client_id: 'edge-worker' })).status).toBe(200);
  });

  it.each([
    ['invalid_scope', { scope: 'admin' }],
    ['invalid_target', { resource: 'https://evil.example' }],
  ])('K-05, K-07: refuses what the client may not have with %s, and the assertion stays usable', async (error, ask) => {
    const assertion = freshAssertion().build();
    const refused = await send({ ...fields(assertion), ...ask });
    expect([refused.status, refused.json.error]).toEqual([400, error]);
    expect((await send(fields(assertion))).status).toBe(200);
  });

  it('uses a once-only assertion up for every shape', async () => {
    for (const second of SHAPES) {
      const assertion = freshAssertion().build();
      const first = await send(fields(assertion));
      expect(first.status).toBe(200);
      const again = await send(second.fields(assertion));
      await expectRefused(again, second.refusal, 'replayed');
      expect((await evidenceOf(again)).evidence.detail).toContain(first.headers['x-request-id']);
    }
  });

  it('of two that race for one assertion, one wins, whatever the other one’s shape', async () => {
    for (const second of SHAPES) {
      const assertion = freshAssertion().build();
      const answers = await Promise.all([send(fields(assertion)), send(second.fields(assertion))]);
      expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 400]);
    }
  });

  it('A-19: has no word on credentials while the issuer’s keys are away', async () => {
    const answer = await send(fields(freshAssertion().with({ iss: 'https://away.example' }).build()));
    expect([answer.status, answer.json.error]).toEqual([503, 'temporarily_unavailable']);
    expect(answer.headers['retry-after']).toMatch(/^[1-9]\d*$/);
    expect(await evidenceOf(answer)).toMatchObject({ outcome: 'unavailable', reason: 'keys_unavailable' });
  });

  it('K-08: with until_expiry the token ends with its proof, as expires_in and introspection say', async () => {
    await updateIssuer({ assertion_use: 'until_expiry' });
    const answer = await send(
      fields(
        freshAssertion()
          .with({ exp: NOW + 200.9 })
          .build(),
      ),
    );
    expect(answer.json.expires_in).toBe(200);
    expect(claimsOf(answer).exp).toBe(NOW + 200);
    const introspected = await server.post('/oauth/introspect', {
      token: String(answer.json.access_token),
      client_id: 'edge-worker',
      client_secret: String(rows.clientSecret),
    });
    expect(introspected.json).toMatchObject({ active: true, exp: NOW + 200 });
    expect((await evidenceOf(answer)).evidence.token_exp).toBe(NOW + 200);
  });

  it('with until_expiry a proof within the leeway on its end is worth nothing', async () => {
    await updateIssuer({ assertion_use: 'until_expiry' });
    for (const exp of [NOW, NOW - 30, NOW + 0.9]) {
      await expectRefused(await send(fields(freshAssertion().with({ exp }).build())), refusal, 'expired');
    }
    expect(
      (
        await send(
          fields(
            freshAssertion()
              .with({ exp: NOW + 1 })
              .build(),
          ),
        )
      ).json.expires_in,
    ).toBe(1);
  });
});

describe('lifetime', () => {
  it.each([
    ['client authentication', 1800],
    ['the jwt-bearer grant', 1800],
    ['token exchange of a JWT', 900],
    ["token exchange of a platform's access token", 900],
  ])('of a token from %s is %d s where the client may have 1800', async (name, seconds) => {
    const shape = SHAPES.find(({ shape }) => shape === name);
    const answer = await send(shape?.fields(freshAssertion().build()) ?? {});
    expect(answer.json.expires_in).toBe(seconds);
  });

  it('of an exchanged token is the client’s where that is shorter', async () => {
    await updateClient(rows.client.id, { access_token_ttl_seconds: 120 });
    expect((await send(EXCHANGE.fields(freshAssertion().build()))).json.expires_in).toBe(120);
  });
});

describe('a request that is malformed', () => {
  const exchange = { grant_type: TOKEN_EXCHANGE, subject_token: 'S', subject_token_type: JWT };
  const actor = { actor_token: 'S', actor_token_type: JWT };

  it.each<[string, Fields, string]>([
    ['no assertion', { grant_type: JWT_BEARER }, 'assertion is missing'],
    ['A-07: an empty assertion', { grant_type: JWT_BEARER, assertion: '' }, 'assertion is missing'],
    ['K-01: no subject_token', { ...exchange, subject_token: '' }, 'subject_token is missing'],
    ['K-01: no subject_token_type', { ...exchange, subject_token_type: '' }, 'subject_token_type is missing'],
    [
      'K-02: an actor_token without its type',
      { ...exchange, actor_token: 'S' },
      'actor_token and actor_token_type go together',
    ],
    [
      'K-02: an actor_token_type without a token',
      { ...exchange, actor_token_type: JWT },
      'actor_token and actor_token_type go together',
    ],
    [
      'K-03: another subject_token_type',
      { ...exchange, subject_token_type: 'urn:ietf:params:oauth:token-type:id_token' },
      'subject_token_type is not supported',
    ],
    [
      'K-03: a subject_token_type in another case',
      { ...exchange, subject_token_type: JWT.toUpperCase() },
      'subject_token_type is not supported',
    ],
    [
      'K-03: another actor_token_type',
      { ...exchange, ...actor, actor_token_type: 'urn:ietf:params:oauth:token-type:saml2' },
      'actor_token_type is not supported',
    ],
    [
      'K-03: another requested_token_type',
      { ...exchange, requested_token_type: 'urn:ietf:params:oauth:token-type:refresh_token' },
      'requested_token_type is not supported',
    ],
    [
      'client_credentials with an assertion',
      { grant_type: 'client_credentials', assertion: 'S' },
      'the request carries the proof of another grant type',
    ],
    [
      'client_credentials with a subject token',
      { grant_type: 'client_credentials', subject_token: 'S' },
      'the request carries the proof of another grant type',
    ],
    [
      'jwt-bearer with an actor token',
      { grant_type: JWT_BEARER, assertion: 'S', ...actor },
      'the request carries the proof of another grant type',
    ],
    [
      'token exchange with an assertion',
      { ...exchange, assertion: 'S' },
      'the request carries the proof of another grant type',
    ],
    [
      'B-05: two ways of client authentication',
      { ...exchange, client_id: 'edge-worker', client_secret: 'x', client_assertion: 'S' },
      'more than one client authentication method',
    ],
    [
      'B-06: half a client assertion beside a grant',
      { grant_type: JWT_BEARER, assertion: 'S', client_assertion: 'x' },
      'client_assertion and client_assertion_type go together',
    ],
  ])('%s is refused before anything is verified', async (_name, fields, description) => {
    const assertion = freshAssertion().build();
    const answer = await send(
      Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, value === 'S' ? assertion : value])),
    );
    expect({ status: answer.status, json: answer.json }).toEqual({
      status: 400,
      json: { error: 'invalid_request', error_description: description },
    });
    const { evidence, ...row } = await evidenceOf(answer);
    expect(row).toMatchObject({
      outcome: 'refused',
      reason: 'invalid_request',
      subject: null,
      trusted_issuer_id: null,
    });
    expect(evidence).toEqual({ grant_type: fields.grant_type, detail: description });
    expect((await send(BEARER.fields(assertion))).status).toBe(200);
  });

  it.each([
    ['assertion', JWT_BEARER],
    ['subject_token', TOKEN_EXCHANGE],
    ['subject_token_type', TOKEN_EXCHANGE],
    ['actor_token', TOKEN_EXCHANGE],
    ['actor_token_type', TOKEN_EXCHANGE],
    ['requested_token_type', TOKEN_EXCHANGE],
  ])('A-05, K-17: %s twice is invalid_request', async (name, grant_type) => {
    const answer = await server.post('/oauth/token', [
      ['grant_type', grant_type],
      [name, 'x'],
      [name, 'x'],
    ]);
    expect(answer.json).toEqual({ error: 'invalid_request', error_description: 'a parameter is repeated' });
  });

  it.each(SHAPES)('A-02: what $shape needs is not looked for in the address', async ({ fields }) => {
    const { grant_type = '', ...proof } = fields(freshAssertion().build());
    const answer = await server.post(`/oauth/token?${new URLSearchParams(proof)}`, { grant_type });
    expect(answer.status).toBe(400);
  });
});

describe('client authentication beside an assertion or a subject token', () => {
  const basic = (id: string, secret: string): Fields => ({
    authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
  });
  const asWorkload = (assertion: string): Fields => ({
    client_assertion_type: ASSERTION_TYPE,
    client_assertion: assertion,
  });
  const GRANTS = SHAPES.filter(({ proof }) => proof !== undefined);

  it.each(GRANTS)('B-13: of the bound client is accepted: $shape', async ({ fields }) => {
    const secret = String(rows.clientSecret);
    const proof = () => fields(freshAssertion().build());
    const answers = [
      await send({ ...proof(), client_id: 'edge-worker', client_secret: secret }),
      await send(proof(), basic('edge-worker', secret)),
      await send({ ...proof(), ...asWorkload(freshAssertion().build()) }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    for (const answer of answers) {
      expect((await evidenceOf(answer)).evidence.client_authentication).toMatchObject({ client_id: 'edge-worker' });
    }
  });

  it.each(GRANTS)('of another client is refused, and the proof stays usable: $shape', async ({ fields, refusal }) => {
    const { client, client_secret } = await server.createClient({ with_client_secret: true });
    const assertion = freshAssertion().build();
    const answer = await send(fields(assertion), basic(client.client_id, String(client_secret)));
    await expectRefused(answer, refusal, 'client_mismatch');
    expect((await evidenceOf(answer)).evidence).toMatchObject({
      client_authentication: { client_id: client.client_id },
    });
    expect((await send(fields(assertion))).status).toBe(200);
  });

  it.each(GRANTS)('of another client by its own workload is refused too: $shape', async ({ fields, refusal }) => {
    const { client } = await server.createClient();
    const subject = `system:serviceaccount:edge-system:${client.client_id}`;
    await server.addBinding({ trusted_issuer_id: rows.issuer.id, client_id: client.id, subject });
    const kubernetes = Object(CLUSTER_CLAIMS['kubernetes.io']);
    const account = { ...kubernetes.serviceaccount, name: client.client_id };
    const thief = freshAssertion().with({ sub: subject, 'kubernetes.io': { ...kubernetes, serviceaccount: account } });
    const [proof, own] = [freshAssertion().build(), thief.build()];
    await expectRefused(await send({ ...fields(proof), ...asWorkload(own) }), refusal, 'client_mismatch');
    // Neither is used up.
    expect(claimsOf(await send({ ...fields(own) })).sub).toBe(client.client_id);
    expect(claimsOf(await send({ ...fields(proof) })).sub).toBe('edge-worker');
  });

  it.each(GRANTS)('that fails is invalid_client, whatever the proof: $shape', async ({ fields, proof }) => {
    const assertion = freshAssertion().build();
    const refused = await send(fields(assertion), basic('edge-worker', 'wrong'));
    expect([refused.status, refused.json.error]).toEqual([401, 'invalid_client']);
    expect(refused.headers['www-authenticate']).toBe('Basic realm="countersign"');
    const { evidence, ...row } = await evidenceOf(refused);
    expect(row).toMatchObject({ reason: 'client_secret_invalid', client_id: 'edge-worker', subject: null });
    expect(evidence[String(proof)]).toBeUndefined();
    const halfSecret = await send({ ...fields(assertion), client_secret: 'x' });
    expect([halfSecret.status, halfSecret.json.error]).toEqual([400, 'invalid_client']);
    expect((await send(fields(assertion))).status).toBe(200);
  });

  it.each(GRANTS)('is used up only with the proof: $shape', async ({ fields, refusal }) => {
    const clientAssertion = freshAssertion().build();
    const bad = { ...fields('a.b.c'), ...asWorkload(clientAssertion) };
    await expectRefused(await send(bad), refusal, 'assertion_malformed');
    const good = { ...fields(freshAssertion().build()), ...asWorkload(clientAssertion) };
    expect((await send(good)).status).toBe(200);
    const again = await send({ ...fields(freshAssertion().build()), ...asWorkload(clientAssertion) });
    await expectRefused(again, SHAPES[0].refusal, 'replayed');
  });

  it.each(GRANTS)('needs an assertion of its own: $shape', async ({ fields }) => {
    const assertion = freshAssertion().build();
    const answer = await send({ ...fields(assertion), ...asWorkload(assertion) });
    await expectRefused(answer, SHAPES[0].refusal, 'replayed');
  });
});

describe('token exchange', () => {
  it.each([
    [{}, ACCESS_TOKEN],
    [{ requested_token_type: ACCESS_TOKEN }, ACCESS_TOKEN],
    [{ requested_token_type: JWT }, JWT],
  ])('K-06: %j gives issued_token_type %s', async (ask, issued) => {
    const answer = await send({ ...EXCHANGE.fields(freshAssertion().build()), ...ask });
    expect(answer.json).toEqual({
      access_token: expect.any(String),
      issued_token_type: issued,
      token_type: 'Bearer',
      expires_in: 900,
      scope: 'read write',
    });
  });

  it('is the only shape with an issued_token_type', async () => {
    const answer = await send(BEARER.fields(freshAssertion().build()));
    expect(Object.keys(answer.json).toSorted()).toEqual(['access_token', 'expires_in', 'scope', 'token_type']);
  });

  describe('audience', () => {
    beforeAll(async () => {
      const api = { allowed_scopes: [] };
      await server.createClient({ ...api, client_id: 'api', resource_identifiers: [API] });
      await server.createClient({ ...api, client_id: 'both', resource_identifiers: [API, OTHER_API] });
      await server.createClient({
        ...api,
        client_id: 'foreign',
        resource_identifiers: [OTHER_API, 'https://c.example'],
      });
    });
    const ask = (...fields: readonly (readonly [string, string])[]) =>
      server.post('/oauth/token', [...Object.entries(EXCHANGE.fields(freshAssertion().build())), ...fields]);

    it.each<[string, readonly (readonly [string, string])[], string | readonly string[]]>([
      ['is the name of a protected API', [['audience', 'api']], API],
      ['means all identifiers of that API', [['audience', 'both']], [API, OTHER_API]],
      ['may be a resource itself', [['audience', OTHER_API]], OTHER_API],
      ['may be our issuer identifier, the default resource', [['audience', AUDIENCE]], AUDIENCE],
      [
        'adds to resource',
        [
          ['resource', OTHER_API],
          ['audience', 'api'],
        ],
        [OTHER_API, API],
      ],
      [
        'K-17: may repeat, and counts once',
        [
          ['audience', 'api'],
          ['audience', 'both'],
          ['audience', 'api'],
        ],
        [API, OTHER_API],
      ],
    ])('%s', async (_name, fields, aud) => {
      const answer = await ask(...fields);
      expect(answer.status, answer.text).toBe(200);
      expect(claimsOf(answer).aud).toEqual(aud);
    });

    it.each<[string, string, string]>([
      ['unknown', 'nobody', 'audience "nobody" is not the name of a protected API'],
      ['a client that is no protected API', 'edge-worker', 'audience "edge-worker" is not the name of a protected API'],
      ['in another case', 'API', 'audience "API" is not the name of a protected API'],
      ['a resource that nobody has', 'https://evil.example', 'audience "https://evil.example" is not the name'],
      ['an API of which the client may not have everything', 'foreign', 'resource "https://c.example" is not allowed'],
    ])('K-05: %s is invalid_target', async (_name, audience, detail) => {
      const answer = await ask(['resource', API], ['audience', audience]);
      expect([answer.status, answer.json.error]).toEqual([400, 'invalid_target']);
      expect((await evidenceOf(answer)).evidence.detail).toContain(detail);
    });

    it('K-05: an API that is switched off is not known any more', async () => {
      const { client } = await server.createClient({
        client_id: 'off',
        allowed_scopes: [],
        resource_identifiers: [API],
      });
      expect((await ask(['audience', 'off'])).status).toBe(200);
      await updateClient(client.id, { is_active: false });
      expect((await ask(['audience', 'off'])).json.error).toBe('invalid_target');
    });

    it('H-13: is ignored by the other shapes', async () => {
      const answer = await send({ ...BEARER.fields(freshAssertion().build()), audience: 'nobody' });
      expect(claimsOf(answer).aud).toBe(AUDIENCE);
    });
  });

  it('has no use for an access token of ours where nobody allowed it', async () => {
    const token = String((await send(BEARER.fields(freshAssertion().build()))).json.access_token);
    const secret = { client_id: 'edge-worker', client_secret: String(rows.clientSecret) };
    for (const authentication of [{}, secret]) {
      const asAccessToken = { ...EXCHANGE.fields(token), subject_token_type: ACCESS_TOKEN, ...authentication };
      await expectRefused(await send(asAccessToken), EXCHANGE.refusal, 'exchange_not_allowed');
      await expectRefused(
        await send({ ...EXCHANGE.fields(token), ...authentication }),
        EXCHANGE.refusal,
        'typ_not_allowed',
      );
    }
    await expectRefused(await send(BEARER.fields(token)), BEARER.refusal, 'typ_not_allowed');
  });

  it('K-11: admits no actor where the binding names none', async () => {
    const subject = freshAssertion().build();
    const actor = freshAssertion().build();
    const fields = { ...EXCHANGE.fields(subject), actor_token: actor, actor_token_type: JWT };
    const answer = await send(fields);
    await expectRefused(answer, EXCHANGE.refusal, 'actor_not_allowed');
    expect((await evidenceOf(answer)).evidence.detail).toBe('the binding of the subject allows no actors');
    // Neither is used up.
    expect((await send(EXCHANGE.fields(subject))).status).toBe(200);
    expect((await send(EXCHANGE.fields(actor))).status).toBe(200);
  });
});

describe('a protected API that may only introspect', () => {
  let only: RunningServer;
  beforeAll(async () => {
    only = await startServer();
    await only.trustCluster({ client: { allowed_scopes: [], resource_identifiers: [API] } });
  });
  afterAll(() => only.close());

  it.each(SHAPES)('gets no token by $shape', async ({ fields }) => {
    const answer = await only.post('/oauth/token', fields(freshAssertion().build()));
    expect([answer.status, answer.json.error]).toEqual([400, 'unauthorized_client']);
  });
});
