import { decodeJwt, decodeProtectedHeader } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AUDIENCE, CLUSTER_ISSUER, SUBJECT } from '../fixtures/assertions.ts';
import {
  type Answer,
  ASSERTION_TYPE,
  freshAssertion,
  type RunningServer,
  startServer,
} from '../fixtures/running-server.ts';
import { NOW } from '../fixtures/settable-clock.ts';

let server: RunningServer;

beforeAll(async () => {
  server = await startServer();
  await server.trustCluster({
    client: { allowed_resources: ['https://api.example.com', 'https://b.example.com'], organization_id: 'org-1' },
    binding: { token_claims: { runner_id: '{issuer.name}/{kubernetes.node.name}' } },
  });
});
afterAll(() => server.close());

const form = (changes: Readonly<Record<string, string | undefined>> = {}): Record<string, string> => {
  const fields = {
    grant_type: 'client_credentials',
    client_assertion_type: ASSERTION_TYPE,
    client_assertion: freshAssertion().build(),
    ...changes,
  };
  return Object.fromEntries(
    Object.entries(fields).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
};

/** Every error has this shape (A-15, A-16, A-17). */
function expectError(answer: Answer, status: number, error: string): void {
  expect(answer.json.error).toBe(error);
  expect(answer.status).toBe(status);
  expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
  expect(answer.headers['cache-control']).toBe('no-store');
  expect(answer.headers.pragma).toBe('no-cache');
  expect(answer.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
  expect(Object.keys(answer.json).sort()).toEqual(['error', 'error_description']);
  expect(String(answer.json.error_description)).toMatch(/^[\x20-\x21\x23-\x5B\x5D-\x7E]+$/);
}

describe('a token response', () => {
  it('I-01, A-15, A-16: is complete, and never cached', async () => {
    const answer = await server.token(freshAssertion().build());
    expect(answer.status).toBe(200);
    expect(answer.headers).toMatchObject({ 'cache-control': 'no-store', pragma: 'no-cache' });
    expect(answer.json).toEqual({
      access_token: expect.any(String),
      token_type: 'Bearer',
      expires_in: 900,
      scope: 'read write',
    });
  });

  it('J-01..J-10: holds an RFC 9068 access token that says who the workload is', async () => {
    const answer = await server.token(freshAssertion().build());
    const token = String(answer.json.access_token);
    expect(decodeProtectedHeader(token)).toEqual({ alg: 'ES256', typ: 'at+jwt', kid: expect.any(String) });
    expect(decodeJwt(token)).toEqual({
      iss: AUDIENCE,
      sub: 'edge-worker',
      client_id: 'edge-worker',
      aud: AUDIENCE,
      iat: NOW,
      exp: NOW + 900,
      jti: expect.any(String),
      scope: 'read write',
      organization_id: 'org-1',
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
      runner_id: 'edge cluster/node-1',
    });
  });

  it('leaves one audit record with the same request id and no token in it', async () => {
    const assertion = freshAssertion().build();
    const answer = await server.token(assertion);
    const row = await server.auditOf(answer);
    expect(row).toMatchObject({
      action: 'token.requested',
      outcome: 'accepted',
      reason: null,
      client_id: 'edge-worker',
      subject: SUBJECT,
      request_id: answer.headers['x-request-id'],
    });
    const evidence = JSON.parse(row.metadata);
    expect(evidence).toMatchObject({ iss: CLUSTER_ISSUER, alg: 'RS256', token_exp: NOW + 900, aud: [AUDIENCE] });
    expect(row.metadata).not.toContain(assertion.split('.')[2]);
    expect(row.metadata).not.toContain(String(answer.json.access_token).split('.')[2]);
  });
});

describe('the form', () => {
  it.each<[string, Record<string, string>, string]>([
    ['A-04: a charset', {}, 'application/x-www-form-urlencoded; charset=UTF-8'],
    ['A-04: another case of the type', {}, 'Application/X-WWW-Form-Urlencoded'],
    ['A-07: an empty scope is none', { scope: '' }, 'application/x-www-form-urlencoded'],
    ['A-07: an empty client_id is none', { client_id: '' }, 'application/x-www-form-urlencoded'],
    ['A-07: an empty resource is none', { resource: '' }, 'application/x-www-form-urlencoded'],
    ['A-08: unknown parameters are ignored', { foo: 'bar' }, 'application/x-www-form-urlencoded'],
    ['H-13: audience never widens', { audience: 'https://evil.example' }, 'application/x-www-form-urlencoded'],
  ])('%s', async (_name, fields, type) => {
    const answer = await server.post('/oauth/token', form(fields), { 'content-type': type });
    expect(answer.status).toBe(200);
    expect(decodeJwt(String(answer.json.access_token)).aud).toBe(AUDIENCE);
    expect(answer.json.scope).toBe('read write');
  });

  it.each(['GET', 'PUT', 'DELETE', 'PATCH'])('A-01: %s is not allowed', async (method) => {
    const answer = await server.send(method, '/oauth/token');
    expectError(answer, 405, 'invalid_request');
    expect(answer.headers.allow).toBe('POST');
  });

  it('A-02: credentials in the address are not looked at', async () => {
    const query = new URLSearchParams(form()).toString();
    const answer = await server.post(`/oauth/token?${query}`, { grant_type: 'client_credentials' });
    expectError(answer, 400, 'invalid_client');
  });

  it.each([
    ['A-03: JSON', 'application/json', '{"grant_type":"client_credentials"}'],
    ['A-03: multipart', 'multipart/form-data; boundary=x', '--x--'],
    ['A-03: text', 'text/plain', 'grant_type=client_credentials'],
    ['another charset', 'application/x-www-form-urlencoded; charset=utf-16', 'a=1'],
  ])('%s is invalid_request', async (_name, type, body) => {
    expectError(
      await server.send('POST', '/oauth/token', { headers: { 'content-type': type }, body }),
      400,
      'invalid_request',
    );
  });

  it('A-03: no content type is invalid_request', async () => {
    expectError(
      await server.send('POST', '/oauth/token', { body: 'grant_type=client_credentials' }),
      400,
      'invalid_request',
    );
  });

  it.each(['grant_type', 'scope', 'client_id', 'client_assertion', 'client_assertion_type'])(
    'A-05: %s twice is invalid_request',
    async (name) => {
      const fields = Object.entries(form({ scope: 'read', client_id: 'edge-worker' }));
      const again = fields.filter(([field]) => field === name);
      expectError(await server.post('/oauth/token', [...fields, ...again]), 400, 'invalid_request');
    },
  );

  it('A-06: two resources give a token for both', async () => {
    const resources = ['https://api.example.com', 'https://b.example.com'];
    const answer = await server.post('/oauth/token', [
      ...Object.entries(form()),
      ...resources.map((resource): [string, string] => ['resource', resource]),
    ]);
    expect(decodeJwt(String(answer.json.access_token)).aud).toEqual(resources);
  });

  it.each<[string, Readonly<Record<string, string | undefined>>, string]>([
    ['A-09: no grant_type', { grant_type: undefined }, 'invalid_request'],
    ['A-10: password', { grant_type: 'password' }, 'unsupported_grant_type'],
    ['A-10: authorization_code', { grant_type: 'authorization_code' }, 'unsupported_grant_type'],
    ['A-12: another case', { grant_type: 'Client_Credentials' }, 'unsupported_grant_type'],
    ['A-12: a space', { grant_type: 'client_credentials ' }, 'unsupported_grant_type'],
    ['H-02: an unknown scope', { scope: 'admin' }, 'invalid_scope'],
    ['H-15: openid', { scope: 'openid' }, 'invalid_scope'],
    ['H-14: offline_access', { scope: 'read offline_access' }, 'invalid_scope'],
    ['H-07: a relative resource', { resource: '/x' }, 'invalid_target'],
    ['H-08: an unknown resource', { resource: 'https://evil.example' }, 'invalid_target'],
  ])('%s is refused, and the assertion stays usable', async (_name, changes, error) => {
    const client_assertion = freshAssertion().build();
    expectError(await server.post('/oauth/token', form({ ...changes, client_assertion })), 400, error);
    expect((await server.token(client_assertion)).status).toBe(200);
  });

  it.each(['scope=%ZZ', 'scope=%FF'])('A-13: %s is invalid_request', async (body) => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    expectError(await server.send('POST', '/oauth/token', { headers, body }), 400, 'invalid_request');
  });

  it('A-14: a megabyte is too large', async () => {
    const answer = await server.post('/oauth/token', { grant_type: 'x'.repeat(1024 * 1024) });
    expectError(answer, 413, 'invalid_request');
  });

  it('A-20: no other origin may read the answer', async () => {
    const answer = await server.post('/oauth/token', form(), { origin: 'https://evil.example' });
    expect(answer.headers['access-control-allow-origin']).toBeUndefined();
  });

  it('A-21: the Host header changes nothing', async () => {
    const answer = await server.post('/oauth/token', form(), { host: 'evil.test', 'x-forwarded-host': 'evil.test' });
    expect(decodeJwt(String(answer.json.access_token)).iss).toBe(AUDIENCE);
    const metadata = await server.send('GET', '/.well-known/oauth-authorization-server', {
      headers: { host: 'evil.test' },
    });
    expect(metadata.text).not.toContain('evil.test');
  });
});

describe('a client with a secret', () => {
  const basic = (id: string, secret: string) => ({
    authorization: `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString('base64')}`,
  });
  const grant = { grant_type: 'client_credentials' };
  let secret: string;

  beforeAll(async () => {
    const created = await server.createClient({ client_id: 'batch', with_client_secret: true });
    secret = String(created.client_secret);
  });

  it('gets a token with client_secret_post, without a workload claim', async () => {
    const answer = await server.post('/oauth/token', { ...grant, client_id: 'batch', client_secret: secret });
    expect(answer.status).toBe(200);
    expect(decodeJwt(String(answer.json.access_token))).toMatchObject({ sub: 'batch', client_id: 'batch' });
    expect(decodeJwt(String(answer.json.access_token)).workload).toBeUndefined();
  });

  it('gets a token with client_secret_basic', async () => {
    expect((await server.post('/oauth/token', grant, basic('batch', secret))).status).toBe(200);
  });

  it('B-03, B-04: a wrong secret in the header is 401 with a challenge', async () => {
    const answer = await server.post('/oauth/token', grant, basic('batch', 'wrong'));
    expectError(answer, 401, 'invalid_client');
    expect(answer.headers['www-authenticate']).toBe('Basic realm="countersign"');
  });

  it('B-04: a wrong secret in the body is 400 without a challenge', async () => {
    const answer = await server.post('/oauth/token', { ...grant, client_id: 'batch', client_secret: 'wrong' });
    expectError(answer, 400, 'invalid_client');
    expect(answer.headers['www-authenticate']).toBeUndefined();
  });

  it('B-12: an unknown client gets the same answer as a wrong secret', async () => {
    const wrong = await server.post('/oauth/token', { ...grant, client_id: 'batch', client_secret: 'x' });
    const unknown = await server.post('/oauth/token', { ...grant, client_id: 'nobody', client_secret: 'x' });
    expect(unknown.text).toBe(wrong.text);
    expect((await server.auditOf(wrong)).reason).toBe('client_secret_invalid');
    expect((await server.auditOf(unknown)).reason).toBe('client_unknown');
  });

  it('a client without a secret can not be reached with any', async () => {
    const answer = await server.post('/oauth/token', { ...grant, client_id: 'edge-worker', client_secret: '' });
    expectError(answer, 400, 'invalid_client');
    const guessed = await server.post('/oauth/token', {
      ...grant,
      client_id: 'edge-worker',
      client_secret: 'undefined',
    });
    expectError(guessed, 400, 'invalid_client');
  });

  it('keeps the old secret for the overlap when it is rotated, and not a second longer', async () => {
    const { client, client_secret: first } = await server.createClient({
      client_id: 'rotating',
      with_client_secret: true,
    });
    const rotate = 'mutation ($params: ClientRequest!) { _rotate_client_secret(params: $params) { client_secret } }';
    const { client_secret: second } = await server.admin<{ client_secret: string }>(rotate, { id: client.id });
    const status = async (client_secret: string) =>
      (await server.post('/oauth/token', { ...grant, client_id: 'rotating', client_secret })).status;
    expect([await status(String(first)), await status(second)]).toEqual([200, 200]);
    server.clock.advance(24 * 3600);
    expect([await status(String(first)), await status(second)]).toEqual([400, 200]);
    server.clock.set(NOW);
  });
});
