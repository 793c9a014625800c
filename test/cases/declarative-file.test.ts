/**
 * The declarative file from outside: a server that trusts a fleet by it, what a change of the file does to tokens old
 * and new, and what the admin API may do with its rows.
 */
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AUDIENCE, aClusterAssertion, CLUSTER_ISSUER, KID, SUBJECT } from '../fixtures/assertions.ts';
import { publicJwk, RSA_A, RSA_B } from '../fixtures/keys.ts';
import { freshAssertion, type RunningServer, startServer } from '../fixtures/running-server.ts';
import { NOW } from '../fixtures/settable-clock.ts';
import { expectIssued, expectRefused } from './outcome.ts';

const keysOf = (key: typeof RSA_A) =>
  JSON.stringify({ keys: [publicJwk(key, { kid: KID, alg: 'RS256', use: 'sig' })] });
const API = 'https://api.example.com';
const FLEET = `clients:
  - client_id: edge-worker
    allowed_scopes: [read]
    allowed_resources: [${API}]
trusted_issuers:
  - name: prod-eks
    issuer_url: ${CLUSTER_ISSUER}
    issuer_type: kubernetes_sa
    jwks_file: keys.json
    require: { pod: true, node: true }
    bindings:
      - client: edge-worker
        subject: ${SUBJECT}
        token_claims: { runner_id: "{issuer.name}/{kubernetes.node.name|dots_to_underscores}" }
`;

let folder: string;
let path: string;
let server: RunningServer;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'countersign-fleet-'));
  path = join(folder, 'fleet.yaml');
  await writeFile(path, FLEET);
  await writeFile(join(folder, 'keys.json'), keysOf(RSA_A));
  server = await startServer({ declarativeFile: path });
});
afterEach(async () => {
  await server.close();
  await rm(folder, { recursive: true });
});

/** Writes the file anew and has it read, as SIGHUP does; the audit rows of that reading. */
async function reload(text: string) {
  await writeFile(path, text);
  await server.reloadDeclaration();
  server.clock.advance(1);
}
const auditOf = async (action: string) =>
  (await server.audit({ action })).map(({ metadata, ...row }) => ({ ...row, evidence: JSON.parse(metadata) }));
const ask = () => server.token(freshAssertion().build(), { resource: API });

async function isActive(token: string): Promise<unknown> {
  const { client, client_secret } = await server.createClient({
    allowed_scopes: [],
    resource_identifiers: [API],
    with_client_secret: true,
  });
  const api = { client_id: client.client_id, client_secret: String(client_secret) };
  return (await server.post('/oauth/introspect', { token, ...api })).json.active;
}

describe('a fleet from a file', () => {
  it('gets tokens that name the runner', async () => {
    const claims = await expectIssued(server, await server.token(aClusterAssertion().build()));
    expect(claims).toMatchObject({ sub: 'edge-worker', runner_id: 'prod-eks/node-1', aud: AUDIENCE });
  });

  it('writes dots of a node as underscores', async () => {
    const kubernetes = {
      namespace: 'edge-system',
      node: { name: 'ip-10-0-1-7.ec2.internal' },
      pod: { name: 'p', uid: 'u' },
      serviceaccount: { name: 'edge-worker', uid: 'u' },
    };
    const answer = await server.token(freshAssertion().with({ 'kubernetes.io': kubernetes }).build());
    expect(await expectIssued(server, answer)).toMatchObject({ runner_id: 'prod-eks/ip-10-0-1-7_ec2_internal' });
  });

  it('says where its rows are kept', async () => {
    const { trusted_issuers } = await server.admin<{ trusted_issuers: object[] }>(
      '{ _trusted_issuers { trusted_issuers { name managed_by require_pod require_node } } }',
    );
    expect(trusted_issuers).toEqual([{ name: 'prod-eks', managed_by: 'file', require_pod: true, require_node: true }]);
  });
});

describe('a change of the file', () => {
  it('is noticed by itself, also when the file is replaced', async () => {
    await writeFile(join(folder, 'next'), FLEET.replace('allowed_scopes: [read]', 'allowed_scopes: [read, write]'));
    await rename(join(folder, 'next'), path);
    await expect
      .poll(async () => (await server.token(freshAssertion().build(), { scope: 'write' })).status, { timeout: 10_000 })
      .toBe(200);
  });

  it('is noticed in a file that it names', async () => {
    await writeFile(join(folder, 'keys.json'), keysOf(RSA_B));
    const signed = () => server.token(freshAssertion().signedBy(RSA_B).build());
    await expect.poll(async () => (await signed()).status, { timeout: 10_000 }).toBe(200);
    await expectRefused(server, await ask(), 'signature_invalid');
  });

  it.each([
    ['the binding', / {4}bindings:[\s\S]*/, '', 'subject_not_bound'],
    ['the issuer', /trusted_issuers:[\s\S]*/, '', 'issuer_not_trusted'],
    ['everything', /[\s\S]*/, '{}', 'issuer_not_trusted'],
  ])(
    'that removes %s revokes it: the next request fails, and introspection says inactive',
    async (_title, what, by, reason) => {
      const { json } = await ask();
      const token = String(json.access_token);
      expect(await isActive(token)).toBe(true);
      await reload(FLEET.replace(what, by));
      await expectRefused(server, await ask(), reason);
      expect(await isActive(token)).toBe(false);
    },
  );

  it.each([
    ['the issuer', 'issuer_type: kubernetes_sa', 'issuer_type: kubernetes_sa\n    is_active: false', 'issuer_disabled'],
    ['the client', 'allowed_scopes: [read]', 'allowed_scopes: [read]\n    is_active: false', 'client_disabled'],
    ['the binding', 'client: edge-worker', 'client: edge-worker\n        is_active: false', 'binding_disabled'],
  ])('may switch off %s', async (_title, from, to, reason) => {
    await reload(FLEET.replace(from, to));
    await expectRefused(server, await ask(), reason);
  });

  it('may cut a node', async () => {
    const token = String((await ask()).json.access_token);
    await reload(
      `${FLEET}deny_list:\n  - { trusted_issuer: prod-eks, node_name: node-1, reason: "stolen, ticket 7" }\n`,
    );
    await expectRefused(
      server,
      await ask(),
      'workload_denied',
      /cuts off node_name "node-1" until it is removed: stolen/,
    );
    expect(await isActive(token)).toBe(false);
    await reload(FLEET);
    await expectIssued(server, await ask());
  });

  it('is audited with its difference', async () => {
    const [start] = await auditOf('declarative_file.applied');
    expect(start).toMatchObject({
      outcome: 'changed',
      evidence: { changes: [{ verb: 'created' }, { verb: 'created' }, { verb: 'created' }] },
    });
    await reload(FLEET.replace('pod: true, node: true', 'pod: true'));
    const [change] = await auditOf('declarative_file.applied');
    expect(change?.evidence.changes).toEqual([
      {
        resource_type: 'trusted_issuer',
        verb: 'updated',
        id: expect.any(String),
        name: 'prod-eks',
        fields: { require_node: { from: true, to: false } },
      },
    ]);
    expect(server.logLines.join('')).toContain(String(change?.request_id));
  });

  it.each([
    ['is no YAML', 'trusted_issuers: [', 'fleet.yaml:1: is not one YAML document: '],
    [
      'names an unknown field',
      FLEET.replace('require:', 'requires:'),
      'fleet.yaml:10: trusted_issuers.0.requires unknown field',
    ],
    [
      'names a client that is not there',
      FLEET.replace('client: edge', 'client: x'),
      'fleet.yaml:12: trusted_issuers.0.bindings.0.client no client has the client_id "x-worker"',
    ],
    ['is empty', '', 'fleet.yaml:1: is not one YAML document: '],
  ])('that %s is refused as a whole, audited once, and what was in force stays', async (_title, text, problem) => {
    await reload(text);
    await reload(text);
    await expectIssued(server, await ask());
    const refusals = await auditOf('declarative_file.refused');
    expect(refusals).toMatchObject([{ outcome: 'failed', reason: 'invalid_input' }]);
    expect(refusals[0]?.evidence.problems[0]).toContain(problem);
    expect((await server.send('GET', '/metrics')).text).toContain('countersign_declaration_refused 1');
    await reload(FLEET);
    expect((await server.send('GET', '/metrics')).text).toContain('countersign_declaration_refused 0');
    expect((await server.send('GET', '/metrics')).text).toMatch(
      new RegExp(`countersign_declaration_applied_timestamp_seconds ${NOW + 2}`),
    );
  });

  it('that deletes the file is refused', async () => {
    await rm(path);
    await server.reloadDeclaration();
    await expectIssued(server, await ask());
    expect(await auditOf('declarative_file.refused')).toHaveLength(1);
  });
});

describe('the admin API', () => {
  it.each([
    ['_delete_client', 'ClientRequest', 'message', 'clients'],
    ['_delete_trusted_issuer', 'TrustedIssuerRequest', 'message', 'trusted_issuers'],
    ['_delete_workload_binding', 'WorkloadBindingRequest', 'message', 'workload_bindings'],
  ])('is refused to write rows of the file: %s', async (operation, type, field, list) => {
    const rows = await server.admin<Record<string, { id: string }[]>>(`{ _${list} { ${list} { id } } }`);
    const query = `mutation ($params: ${type}!) { ${operation}(params: $params) { ${field} } }`;
    const { json } = await server.graphql(query, { params: { id: rows[list]?.[0]?.id } });
    expect(json).toMatchObject({ errors: [{ extensions: { code: 'PERMISSION_DENIED', managed_by: 'file' } }] });
    await expectIssued(server, await ask());
  });

  it('keeps its own rows, which a reload does not touch', async () => {
    server.clock.advance(1);
    await server.createClient({ client_id: 'of-the-api' });
    await reload(FLEET.replace('read', 'write'));
    const { clients } = await server.admin<{ clients: object[] }>('{ _clients { clients { client_id managed_by } } }');
    expect(clients).toEqual([
      { client_id: 'edge-worker', managed_by: 'file' },
      { client_id: 'of-the-api', managed_by: 'api' },
    ]);
  });

  it('and the file may not both have a client: the reload is refused', async () => {
    await server.createClient({ client_id: 'of-the-api' });
    await reload(FLEET.replaceAll('edge-worker\n    allowed', 'of-the-api\n    allowed'));
    const [refusal] = await auditOf('declarative_file.refused');
    expect(refusal?.evidence.problems[0]).toMatch(
      /^fleet\.yaml:2: clients\.0\.client_id client "of-the-api" is kept by the admin API already/,
    );
  });
});

describe('a start', () => {
  it('with a bad file fails, with every problem', async () => {
    await writeFile(path, FLEET.replace('prod-eks', 'Prod').replace('require:', 'requires:'));
    await expect(startServer({ declarativeFile: path })).rejects.toThrow(
      [
        'fleet.yaml:6: trusted_issuers.0.name must be 1 to 40 of the characters a-z, 0-9 and -',
        'fleet.yaml:10: trusted_issuers.0.requires unknown field',
      ].join('\n'),
    );
  });

  it('without the file that rows of the database come from fails', async () => {
    const databaseUrl = `sqlite:${join(folder, 'countersign.db')}`;
    await (await startServer({ declarativeFile: path, databaseUrl })).close();
    await expect(startServer({ databaseUrl })).rejects.toThrow(
      /^COUNTERSIGN_CONFIG is not set, but the database has rows/,
    );
    await writeFile(path, '{}');
    await (await startServer({ declarativeFile: path, databaseUrl })).close();
    await (await startServer({ databaseUrl })).close();
  });
});
