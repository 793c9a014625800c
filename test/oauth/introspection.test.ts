import { decodeJwt } from 'jose';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AUDIENCE, SUBJECT } from '../fixtures/assertions.ts';
import { type Answer, freshAssertion, type RunningServer, startServer } from '../fixtures/running-server.ts';

const API = 'https://api.example.com';
/** Every member of the workload's identity that an entry of the deny list can name. */
const WORKLOAD = {
  subject: SUBJECT,
  node_name: 'node-1',
  pod_uid: '22222222-2222-4222-8222-222222222222',
  service_account_uid: '11111111-1111-4111-8111-111111111111',
};

let server: RunningServer;
let rows: Awaited<ReturnType<RunningServer['trustCluster']>>;
/** The protected API, the workload's own other secret, and a stranger. */
let api: Credentials;
let owner: Credentials;
let stranger: Credentials;

type Credentials = { readonly client_id: string; readonly client_secret: string };

beforeEach(async () => {
  server = await startServer();
  rows = await server.trustCluster({ client: { allowed_resources: [API], with_client_secret: true } });
  owner = { client_id: 'edge-worker', client_secret: String(rows.clientSecret) };
  api = await withSecret({ client_id: 'api', allowed_scopes: [], resource_identifiers: [API] });
  stranger = await withSecret({ client_id: 'stranger' });
});
afterEach(() => server.close());

async function withSecret(params: Readonly<Record<string, unknown>>): Promise<Credentials> {
  const { client, client_secret } = await server.createClient({ ...params, with_client_secret: true });
  return { client_id: client.client_id, client_secret: String(client_secret) };
}

async function issue(): Promise<string> {
  const answer = await server.token(freshAssertion().build(), { resource: API });
  expect(answer.status).toBe(200);
  return String(answer.json.access_token);
}

const introspect = (token: string, credentials: Credentials = api): Promise<Answer> =>
  server.post('/oauth/introspect', { token, ...credentials });
const isActive = async (token: string, credentials?: Credentials) => (await introspect(token, credentials)).json.active;

describe('introspection', () => {
  it('M-04: tells a protected API what is in a live token meant for it', async () => {
    const token = await issue();
    const answer = await introspect(token);
    expect(answer.status).toBe(200);
    expect(answer.headers['cache-control']).toBe('no-store');
    expect(answer.json).toEqual({ active: true, token_type: 'Bearer', ...decodeJwt(token) });
  });

  it('tells the owner', async () => {
    expect(await isActive(await issue(), owner)).toBe(true);
  });

  it('M-06: tells nobody else', async () => {
    expect((await introspect(await issue(), stranger)).text).toBe('{"active":false}');
  });

  it('M-02: needs client authentication', async () => {
    const answer = await server.post('/oauth/introspect', { token: await issue() });
    expect(answer).toMatchObject({ status: 400, json: { error: 'invalid_client' } });
  });

  it('B-15: takes a workload assertion as well, and for our issuer identifier only', async () => {
    const token = await issue();
    const assertion = (aud: string) => ({
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: freshAssertion()
        .with({ aud: [aud] })
        .build(),
    });
    expect((await server.post('/oauth/introspect', { token, ...assertion(AUDIENCE) })).json.active).toBe(true);
    const wrong = await server.post('/oauth/introspect', { token, ...assertion(`${AUDIENCE}/oauth/introspect`) });
    expect(wrong.json.error).toBe('invalid_client');
  });

  it('M-01: needs a token, once', async () => {
    expect((await server.post('/oauth/introspect', { ...api })).json.error).toBe('invalid_request');
    const twice = await server.post('/oauth/introspect', [...Object.entries(api), ['token', 'a'], ['token', 'a']]);
    expect(twice.json.error).toBe('invalid_request');
    expect((await server.send('GET', '/oauth/introspect')).status).toBe(405);
  });

  it('M-08: an API without scopes gets no tokens itself', async () => {
    const answer = await server.post('/oauth/token', { grant_type: 'client_credentials', ...api });
    expect(answer).toMatchObject({ status: 400, json: { error: 'unauthorized_client' } });
  });

  it('M-05: everything that is not a live token of ours is inactive, without a word why', async () => {
    const token = await issue();
    const [header, claims, signature = ''] = token.split('.');
    const forged = `${header}.${claims}.${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`;
    for (const other of ['x', 'a.b.c', `${token}.x`, forged, freshAssertion().build(), 'x'.repeat(20_000)]) {
      expect((await introspect(other)).text).toBe('{"active":false}');
    }
  });

  it('M-09: token_type_hint is only a hint', async () => {
    const token = await issue();
    for (const token_type_hint of ['refresh_token', 'access_token', 'nonsense']) {
      expect((await server.post('/oauth/introspect', { token, token_type_hint, ...api })).json.active).toBe(true);
    }
  });
});

describe('M-10: a token is inactive', () => {
  const update = (type: string, input: string, params: Readonly<Record<string, unknown>>) =>
    server.admin(`mutation ($params: ${input}!) { _update_${type}(params: $params) { id } }`, params);
  const remove = (type: string, input: string, id: string) =>
    server.admin(`mutation ($params: ${input}!) { _delete_${type}(params: $params) { message } }`, { id });

  it.each<[string, () => Promise<unknown>]>([
    ['once it has expired', async () => server.clock.advance(901)],
    [
      'once its client is disabled',
      () => update('client', 'UpdateClientRequest', { id: rows.client.id, is_active: false }),
    ],
    ['once its client is deleted', () => remove('client', 'ClientRequest', rows.client.id)],
    [
      'once its trusted issuer is disabled',
      () => update('trusted_issuer', 'UpdateTrustedIssuerRequest', { id: rows.issuer.id, is_active: false }),
    ],
    ['once its trusted issuer is deleted', () => remove('trusted_issuer', 'TrustedIssuerRequest', rows.issuer.id)],
    [
      'once its binding is disabled',
      () => update('workload_binding', 'UpdateWorkloadBindingRequest', { id: rows.binding.id, is_active: false }),
    ],
    ...Object.entries(WORKLOAD).map(([member, value]): [string, () => Promise<unknown>] => [
      `once its ${member} is on the deny list`,
      () => server.deny({ trusted_issuer_id: rows.issuer.id, [member]: value }),
    ]),
    ['once its binding is deleted', () => remove('workload_binding', 'WorkloadBindingRequest', rows.binding.id)],
    [
      'L-20: once its signing key is compromised',
      () =>
        server.admin('mutation ($params: RotateSigningKeyRequest) { _rotate_signing_key(params: $params) { kid } }', {
          compromised: true,
        }),
    ],
  ])('%s', async (_name, end) => {
    const token = await issue();
    expect(await isActive(token)).toBe(true);
    await end();
    expect((await introspect(token)).text).toBe('{"active":false}');
  });

  it('while what is on the deny list names it, and no longer', async () => {
    const token = await issue();
    const deny = (params: object) => server.deny({ trusted_issuer_id: rows.issuer.id, ...params });
    await deny({ node_name: 'node-2' });
    await deny({ pod_uid: WORKLOAD.service_account_uid });
    expect(await isActive(token)).toBe(true);
    await deny({ node_name: 'node-1', expires_at: server.clock() + 10 });
    expect(await isActive(token)).toBe(false);
    server.clock.advance(9);
    expect(await isActive(token)).toBe(false);
    server.clock.advance(1);
    expect(await isActive(token)).toBe(true);
    const { id } = await deny({ subject: SUBJECT });
    expect(await isActive(token)).toBe(false);
    await remove('deny_list_entry', 'DenyListEntryRequest', id);
    expect(await isActive(token)).toBe(true);
  });

  it('ADM-01: once its client is deleted, even when another one takes the same client_id', async () => {
    const token = await issue();
    await remove('client', 'ClientRequest', rows.client.id);
    const again = await server.createClient({
      client_id: 'edge-worker',
      allowed_scopes: ['other'],
      allowed_resources: [API],
    });
    await server.addBinding({ trusted_issuer_id: rows.issuer.id, client_id: again.client.id, subject: SUBJECT });
    expect(await isActive(token)).toBe(false);
    const answer = await server.token(freshAssertion().build(), { resource: API });
    expect(answer.json.scope).toBe('other');
    expect(await isActive(String(answer.json.access_token))).toBe(true);
  });
});

describe('revocation', () => {
  const revoke = (token: string, credentials: Credentials = owner) =>
    server.post('/oauth/revoke', { token, ...credentials });

  it('N-02, N-07, N-08: ends the caller’s own token at once, as often as asked', async () => {
    const token = await issue();
    for (let time = 0; time < 2; time += 1) expect(await revoke(token)).toMatchObject({ status: 200, text: '' });
    expect(await isActive(token)).toBe(false);
  });

  it('N-04: leaves another client’s token alone, with the same answer', async () => {
    const token = await issue();
    expect(await revoke(token, stranger)).toMatchObject({ status: 200, text: '' });
    expect(await isActive(token)).toBe(true);
  });

  it('N-03: answers 200 for what is no token of ours', async () => {
    for (const token of ['x', 'a.b.c', freshAssertion().build()]) expect((await revoke(token)).status).toBe(200);
  });

  it('N-06: ignores a wrong hint', async () => {
    const token = await issue();
    await server.post('/oauth/revoke', { token, token_type_hint: 'refresh_token', ...owner });
    expect(await isActive(token)).toBe(false);
  });

  it('N-01: needs a token and client authentication', async () => {
    expect((await server.post('/oauth/revoke', { ...owner })).json.error).toBe('invalid_request');
    expect((await server.post('/oauth/revoke', { token: 'x' })).json.error).toBe('invalid_client');
  });
});
