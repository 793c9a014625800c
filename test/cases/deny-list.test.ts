/** The deny list from outside: two replicas on one database, real tokens, and an admin who reaches only one of them. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CLUSTER_CLAIMS, KID, SUBJECT } from '../fixtures/assertions.ts';
import { publicJwk, RSA_B } from '../fixtures/keys.ts';
import { freshAssertion, type RunningServer } from '../fixtures/running-server.ts';
import { expectIssued, expectRefused } from './outcome.ts';
import { startTwoReplicas, type TwoReplicas } from './two-replicas.ts';

/** What was cut is cut on every replica after this many seconds. */
const BOUND_SECONDS = 5;
const API = 'https://api.example.com';
const WORKLOAD = {
  subject: SUBJECT,
  node_name: 'node-1',
  pod_uid: '22222222-2222-4222-8222-222222222222',
  service_account_uid: '11111111-1111-4111-8111-111111111111',
};
const DELETE = 'mutation ($params: DenyListEntryRequest!) { _delete_deny_list_entry(params: $params) { message } }';
const UPDATE = 'mutation ($params: UpdateDenyListEntryRequest!) { _update_deny_list_entry(params: $params) { id } }';
const EXPLAIN = `query ($params: ExplainAssertionRequest!) { _explain_assertion(params: $params) {
  accepted reason client_id checks { name passed detail hint } } }`;

let replicas: TwoReplicas;
let issuerId: string;
let api: Readonly<Record<string, string>>;

beforeEach(async () => {
  replicas = await startTwoReplicas();
  const { issuer } = await replicas.one.trustCluster({ client: { allowed_resources: [API] } });
  issuerId = issuer.id;
  const { client, client_secret } = await replicas.one.createClient({
    client_id: 'api',
    allowed_scopes: [],
    resource_identifiers: [API],
    with_client_secret: true,
  });
  api = { client_id: client.client_id, client_secret: String(client_secret) };
  replicas.one.clock.advance(1);
});
afterEach(() => replicas.close());

const onNode = (name: string) =>
  freshAssertion()
    .with({ 'kubernetes.io': { ...Object(CLUSTER_CLAIMS['kubernetes.io']), node: { name } } })
    .build();
const ask = (server: RunningServer, assertion = freshAssertion().build()) => server.token(assertion, { resource: API });
const isActive = async (server: RunningServer, token: string) =>
  (await server.post('/oauth/introspect', { token, ...api })).json.active;

async function issued(server: RunningServer): Promise<string> {
  const answer = await ask(server);
  await expectIssued(server, answer);
  return String(answer.json.access_token);
}

describe('what is put on the deny list through one replica', () => {
  it.each(Object.entries(WORKLOAD))('is cut on both, new tokens and old: %s', async (member, value) => {
    const { one, two } = replicas;
    const token = await issued(two);
    const { id } = await one.deny({ trusted_issuer_id: issuerId, [member]: value, reason: 'incident 7' });
    const detail = `deny list entry ${id} cuts off ${member} ${JSON.stringify(value)} until it is removed: incident 7`;

    // At once where it was written, within the bound everywhere.
    await expectRefused(one, await ask(one), 'workload_denied', detail);
    expect(await isActive(one, token)).toBe(false);
    one.clock.advance(BOUND_SECONDS);
    await expectRefused(two, await ask(two), 'workload_denied', detail);
    expect(await isActive(two, token)).toBe(false);

    await two.admin(DELETE, { id });
    one.clock.advance(BOUND_SECONDS);
    for (const server of [one, two]) {
      await issued(server);
      expect(await isActive(server, token)).toBe(true);
    }
  });

  it('is let in again when the entry ends, and cut again when that is moved', async () => {
    const { one, two } = replicas;
    const token = await issued(two);
    const end = one.clock() + 60;
    const { id } = await one.deny({ trusted_issuer_id: issuerId, node_name: 'node-1', expires_at: end });
    one.clock.set(end - 1);
    for (const server of [one, two]) {
      await expectRefused(server, await ask(server), 'workload_denied', /until 2026-11-30T12:01:01\.000Z: stolen$/);
      expect(await isActive(server, token)).toBe(false);
    }
    one.clock.set(end);
    for (const server of [one, two]) {
      await issued(server);
      expect(await isActive(server, token)).toBe(true);
    }
    await one.admin(UPDATE, { id, expires_at: 0 });
    one.clock.advance(BOUND_SECONDS);
    await expectRefused(two, await ask(two), 'workload_denied');
    expect(await isActive(two, token)).toBe(false);
  });

  it('leaves other nodes of the cluster, and the same node of another cluster, alone', async () => {
    const { one } = replicas;
    await one.deny({ trusted_issuer_id: issuerId, node_name: 'node-1' });
    await expectIssued(one, await ask(one, onNode('node-2')));
    await expectIssued(one, await ask(one, onNode('node-10')));
    const url = 'https://other.example.com';
    const jwks = JSON.stringify({ keys: [publicJwk(RSA_B, { kid: KID })] });
    const other = await one.addIssuer({ name: 'other', issuer_url: url, jwks });
    await one.addBinding({ trusted_issuer_id: other.id, client_id: 'edge-worker' });
    await expectIssued(one, await ask(one, freshAssertion().with({ iss: url }).signedBy(RSA_B).build()));
    await expectRefused(one, await ask(one, onNode('node-1')), 'workload_denied');
  });

  it('is explained to the admin, and the assertion stays unused', async () => {
    const { one } = replicas;
    const assertion = freshAssertion().build();
    const { id } = await one.deny({ trusted_issuer_id: issuerId, node_name: 'node-1' });
    expect(await one.admin(EXPLAIN, { assertion })).toMatchObject({
      accepted: false,
      reason: 'workload_denied',
      client_id: null,
      checks: expect.arrayContaining([
        {
          name: 'deny_list',
          passed: false,
          detail: `deny list entry ${id} cuts off node_name "node-1" until it is removed: stolen`,
          hint: 'Once the cause is gone, remove the entry: _delete_deny_list_entry, or in the declarative file.',
        },
      ]),
    });
    await expectRefused(one, await ask(one, assertion), 'workload_denied');
    await one.admin(DELETE, { id });
    await expectIssued(one, await ask(one, assertion));
  });

  it('goes with its issuer', async () => {
    const { one } = replicas;
    const { id } = await one.deny({ trusted_issuer_id: issuerId, node_name: 'node-1' });
    await one.admin(
      'mutation ($params: TrustedIssuerRequest!) { _delete_trusted_issuer(params: $params) { message } }',
      {
        id: issuerId,
      },
    );
    const gone = await one.graphql('query ($id: ID!) { _deny_list_entry(params: { id: $id }) { id } }', { id });
    expect(gone.text).toContain('"deny list entry not found"');
  });
});

describe('a deny list that can not be read', () => {
  it('lets nobody through and says that nothing is wrong with them', async () => {
    const { one, database } = replicas;
    const token = await issued(one);
    await one.deny({ trusted_issuer_id: issuerId, node_name: 'node-2' });
    await issued(one);
    database.exec('alter table deny_list_entries rename to lost');
    for (const answer of [await ask(one), await one.post('/oauth/introspect', { token, ...api })]) {
      expect([answer.status, answer.json.error]).toEqual([503, 'temporarily_unavailable']);
      expect(answer.headers['retry-after']).toBe('5');
    }
    database.exec('alter table lost rename to deny_list_entries');
    await issued(one);
    expect(await isActive(one, token)).toBe(true);
  });
});
