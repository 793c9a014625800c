/** Cases of the theme `admin-revocation`: what an admin takes away is gone, on every replica, within seconds. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SUBJECT } from '../fixtures/assertions.ts';
import { freshAssertion } from '../fixtures/running-server.ts';
import { ecKey, keySetOf } from './issuer-key.ts';
import { expectIssued, expectRefused } from './outcome.ts';
import { pinIssuer } from './pinned-issuer.ts';
import { startTwoReplicas, type TwoReplicas } from './two-replicas.ts';

/** Design: what was taken away is gone on every replica after this many seconds. */
const BOUND_SECONDS = 5;

let replicas: TwoReplicas;

beforeAll(async () => {
  replicas = await startTwoReplicas();
});
afterAll(() => replicas.close());

const DELETE_CLIENT = 'mutation ($params: ClientRequest!) { _delete_client(params: $params) { message } }';
const UPDATE_CLIENT = 'mutation ($params: UpdateClientRequest!) { _update_client(params: $params) { id } }';
const UPDATE_ISSUER =
  'mutation ($params: UpdateTrustedIssuerRequest!) { _update_trusted_issuer(params: $params) { id } }';

describe('ADM-01: a client that is deleted and made again under its name', () => {
  it('ADM-01: has nothing of the old one: no binding, no scope, no live token', async () => {
    const { one, two } = replicas;
    const api = await one.createClient({
      client_id: 'api',
      allowed_scopes: [],
      resource_identifiers: ['https://api.example.com'],
      with_client_secret: true,
    });
    const isActive = async (token: string) => {
      const credentials = { client_id: 'api', client_secret: String(api.client_secret) };
      return (await two.post('/oauth/introspect', { token, ...credentials })).json.active;
    };
    const resources = { allowed_resources: ['https://api.example.com'] };
    const resource = { resource: 'https://api.example.com' };
    const { client, issuer } = await one.trustCluster({ client: { client_id: 'app-a', ...resources } });

    one.clock.advance(1);
    const old = await two.token(freshAssertion().build(), resource);
    expect(await expectIssued(two, old)).toMatchObject({ scope: 'read write' });
    expect(await isActive(String(old.json.access_token))).toBe(true);

    await one.admin(DELETE_CLIENT, { id: client.id });
    const again = await one.createClient({ client_id: 'app-a', allowed_scopes: ['other'], ...resources });
    expect(again.client.id).not.toBe(client.id);
    await expectRefused(one, await one.token(freshAssertion().build(), resource), 'subject_not_bound');
    one.clock.advance(1);
    await expectRefused(two, await two.token(freshAssertion().build(), resource), 'subject_not_bound');

    await one.addBinding({ trusted_issuer_id: issuer.id, client_id: 'app-a', subject: SUBJECT });
    one.clock.advance(1);
    for (const server of [one, two]) {
      const answer = await server.token(freshAssertion().build(), resource);
      expect(await expectIssued(server, answer)).toMatchObject({ sub: 'app-a', scope: 'other' });
      expect(await isActive(String(answer.json.access_token))).toBe(true);
      expect((await server.token(freshAssertion().build(), { ...resource, scope: 'read' })).json.error).toBe(
        'invalid_scope',
      );
    }
    expect(await isActive(String(old.json.access_token))).toBe(false);
  });
});

describe('ADM-03: a busy client that is disabled', () => {
  it('ADM-03: loses access on the other replica within the bound, however often it asks', async () => {
    const { one, two } = replicas;
    const { client } = await one.createClient({ client_id: 'busy' });
    const issuer = await pinIssuer(one, 'https://adm-03.example.com', 'busy', ['job']);
    const ask = (server = two) => server.token(issuer.assertion('job').build());
    for (let second = 0; second < 5; second += 1) {
      one.clock.advance(1);
      await expectIssued(two, await ask());
    }
    await one.admin(UPDATE_CLIENT, { id: client.id, is_active: false });
    await expectRefused(one, await ask(one), 'client_disabled', 'client "busy" is not active');

    const statuses: number[] = [];
    for (let second = 0; second < 60; second += 1) {
      statuses.push((await ask()).status);
      one.clock.advance(1);
    }
    expect(statuses.slice(BOUND_SECONDS)).toEqual(Array(60 - BOUND_SECONDS).fill(400));
    await expectRefused(two, await ask(), 'client_disabled');

    await one.admin(UPDATE_CLIENT, { id: client.id, is_active: true });
    one.clock.advance(BOUND_SECONDS);
    await expectIssued(two, await ask());
  });

  it('ADM-03: so does one whose issuer is disabled', async () => {
    const { one, two } = replicas;
    const issuer = await pinIssuer(one, 'https://adm-03-issuer.example.com', 'busy', ['job']);
    const ask = () => two.token(issuer.assertion('job').build());
    one.clock.advance(BOUND_SECONDS);
    await expectIssued(two, await ask());
    await one.admin(UPDATE_ISSUER, { id: issuer.id, is_active: false });
    one.clock.advance(BOUND_SECONDS);
    await expectRefused(two, await ask(), 'issuer_disabled');
  });
});

describe('ADM-05: a trusted issuer without subjects', () => {
  it('ADM-05: trusts nobody until one is bound', async () => {
    const { one } = replicas;
    const key = ecKey('k1');
    const { client } = await one.createClient({ client_id: 'app-d' });
    const issuer = await pinIssuer(one, 'https://i.example.com', 'app-d', [], {
      key,
      fields: { service_account_id: client.id, allowed_subjects: [], jwks: JSON.stringify(keySetOf(key)) },
    });
    for (const sub of ['job', 'app-d', client.id, '*', SUBJECT]) {
      const detail = `no binding for subject ${JSON.stringify(sub)}`;
      await expectRefused(one, await one.token(issuer.assertion(sub).build()), 'subject_not_bound', detail);
    }
    await one.admin(UPDATE_ISSUER, { id: issuer.id, allowed_subjects: ['job'] });
    await expectIssued(one, await one.token(issuer.assertion('job').build()));
    await one.admin(UPDATE_ISSUER, { id: issuer.id, allowed_subjects: [] });
    await expectRefused(one, await one.token(issuer.assertion('job').build()), 'subject_not_bound');
  });
});
