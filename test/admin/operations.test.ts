import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TrustedIssuer } from '../../src/assertion/trusted-issuer.ts';
import { type AdminServer, SIGNING_KEY, startAdminServer } from '../fixtures/admin-server.ts';
import { publicJwk, RSA_2028, RSA_A } from '../fixtures/keys.ts';
import { BINDING, CLIENT, CLUSTER, PROVIDER } from '../fixtures/rows.ts';
import { NOW } from '../fixtures/settable-clock.ts';

const FILE_CLIENT = { ...CLIENT, id: 'client-row-2', clientId: 'from-file', managedBy: 'file' as const };

let server: AdminServer;
beforeAll(async () => {
  server = await startAdminServer({
    rows: { clients: [CLIENT, FILE_CLIENT], issuers: [CLUSTER, PROVIDER], bindings: [BINDING] },
    dependencies: {
      explainAssertion: async (assertion, requestId) => ({
        accepted: false,
        reason: 'aud_mismatch',
        trustedIssuerId: CLUSTER.id,
        clientId: null,
        checks: [
          { name: 'form', passed: true, detail: `${assertion.length} characters in ${requestId.length}`, hint: null },
          { name: 'audience', passed: false, detail: 'aud is not ours', hint: 'ask for our audience' },
        ],
      }),
      checkTrustedIssuer: async (issuer: TrustedIssuer) => ({
        passed: false,
        discoveryUrl: `${issuer.issuerUrl}/.well-known/openid-configuration`,
        discoveredIssuer: null,
        jwksUrl: null,
        keys: [{ kid: null, algorithms: ['RS256'], thumbprint: 't' }],
        skipped: [{ kid: 'old', reason: 'use is not "sig"' }],
        maxAgeSeconds: null,
        failure: { code: 'connection_failed', detail: 'connect ECONNREFUSED' },
      }),
      keyState: (id) =>
        id === CLUSTER.id
          ? {
              loadedAt: NOW - 5,
              stale: true,
              lastError: 'timeout',
              nextTryAt: NOW + 5,
              kids: ['a', null],
              sharedKeys: [{ thumbprint: 'print', otherIssuers: [{ id: 'issuer-2', name: 'other cluster' }] }],
            }
          : null,
    },
  });
});
afterAll(() => server[Symbol.asyncDispose]());

const ADD_ISSUER = 'mutation($data: AddTrustedIssuerRequest!) { _add_trusted_issuer(params: $data) { id warnings } }';
const ISSUER = {
  name: 'n',
  issuer_url: 'https://new.example.com',
  issuer_type: 'kubernetes_sa',
  key_source_type: 'oidc_discovery',
};

describe('list inputs', () => {
  it.each<[string, string]>([
    ['a list', '["a", "b"]'],
    ['one text with commas', '"a,b"'],
    ['one text with commas and spaces', '"a, b"'],
  ])('are taken as %s, in literals and in variables', async (_title, literal) => {
    const create = `_create_client(params: { name: "n", allowed_scopes: ${literal} }) { client { allowed_scopes } }`;
    const { data } = await server.graphql(`mutation { ${create} }`);
    expect(data._create_client.client.allowed_scopes).toEqual(['a', 'b']);
    const document =
      'mutation($data: CreateClientRequest!) { _create_client(params: $data) { client { allowed_scopes } } }';
    const byVariable = await server.graphql(document, { data: { name: 'n', allowed_scopes: JSON.parse(literal) } });
    expect(byVariable.data._create_client.client.allowed_scopes).toEqual(['a', 'b']);
    const declared = await server.graphql(
      'mutation($s: StringList!) { _create_client(params: { name: "n", allowed_scopes: $s }) { client { allowed_scopes } } }',
      { s: JSON.parse(literal) },
    );
    expect(declared.data._create_client.client.allowed_scopes).toEqual(['a', 'b']);
  });

  it.each(['7', '[1]', '{ a: "b" }', 'true'])('are not taken as %s', async (literal) => {
    const create = `_create_client(params: { name: "n", allowed_scopes: ${literal} }) { client { id } }`;
    const { errors, data } = await server.graphql(`mutation { ${create} }`);
    expect(data).toBeUndefined();
    expect(errors[0]?.extensions.code).toBe('GRAPHQL_VALIDATION_FAILED');
  });

  it('do not let a variable of another kind pass as one', async () => {
    const { errors } = await server.graphql(
      'mutation($s: Boolean!) { _create_client(params: { name: "n", allowed_scopes: $s }) { client { id } } }',
      { s: true },
    );
    expect(errors[0]?.message).toContain('used in position expecting type "StringList!"');
  });
});

describe('a client', () => {
  it('is answered with every field that it was made from', async () => {
    const data = {
      client_id: 'full',
      name: 'n',
      description: 'd',
      allowed_scopes: ['s'],
      allowed_resources: ['https://a.example.com'],
      default_resource: 'https://b.example.com',
      access_token_ttl_seconds: 600,
      access_token_signing_alg: 'RS256',
      organization_id: 'org-1',
      jwks: JSON.stringify({ keys: [publicJwk(RSA_A, { kid: 'k' })] }),
      resource_identifiers: ['https://c.example.com'],
      is_active: false,
    };
    const fields = Object.keys(data).join(' ');
    const answer = await server.graphql(
      `mutation($data: CreateClientRequest!) { _create_client(params: $data) { client { ${fields} managed_by } client_secret } }`,
      { data: { ...data, with_client_secret: true } },
    );
    expect(answer.errors).toEqual([]);
    expect(answer.data._create_client).toEqual({
      client: { ...data, managed_by: 'api' },
      client_secret: expect.stringMatching(/^[\w-]{43}$/),
    });
  });

  it('is found by its id and by its client_id', async () => {
    for (const id of [CLIENT.id, CLIENT.clientId]) {
      const { data } = await server.graphql('query($id: ID!) { _client(params: { id: $id }) { id client_id } }', {
        id,
      });
      expect(data._client).toEqual({ id: CLIENT.id, client_id: CLIENT.clientId });
    }
  });
});

describe('a refusal', () => {
  it.each<[string, string, object, object]>([
    [
      'of wrong fields',
      ADD_ISSUER,
      { ...ISSUER, key_source_type: 'static_jwks_url', subject_claim: 'email' },
      {
        code: 'INVALID_ARGUMENT',
        field: 'subject_claim',
        problems: [
          { path: ['subject_claim'], message: 'must be sub for issuer_type kubernetes_sa' },
          { path: ['jwks_url'], message: 'is required for key_source_type static_jwks_url' },
        ],
      },
    ],
    [
      'of weak keys',
      ADD_ISSUER,
      {
        ...ISSUER,
        key_source_type: 'static_jwks',
        jwks: JSON.stringify({ keys: [publicJwk(RSA_2028, { kid: 'X' })] }),
      },
      { code: 'INVALID_ARGUMENT', field: 'jwks' },
    ],
    [
      'of a client that is not there',
      ADD_ISSUER,
      { ...ISSUER, service_account_id: 'nobody' },
      { code: 'INVALID_ARGUMENT', field: 'service_account_id' },
    ],
    [
      'ISS-01: of a trailing slash',
      ADD_ISSUER,
      { ...ISSUER, issuer_url: `${PROVIDER.issuerUrl}/` },
      { code: 'INVALID_ARGUMENT', field: 'issuer_url' },
    ],
    [
      'of a taken issuer',
      ADD_ISSUER,
      { ...ISSUER, issuer_url: PROVIDER.issuerUrl },
      { code: 'ALREADY_EXISTS', field: 'issuer_url' },
    ],
    [
      'of a taken client_id',
      'mutation($data: CreateClientRequest!) { _create_client(params: $data) { client_secret } }',
      { name: 'n', client_id: CLIENT.clientId, allowed_scopes: 's' },
      { code: 'ALREADY_EXISTS', field: 'client_id' },
    ],
    [
      'of a row that is not there',
      'mutation($data: UpdateClientRequest!) { _update_client(params: $data) { id } }',
      { id: 'nobody', name: 'n' },
      { code: 'NOT_FOUND' },
    ],
    [
      'of a read that finds nothing',
      'query($data: TrustedIssuerRequest!) { _trusted_issuer(params: $data) { id } }',
      { id: 'nobody' },
      { code: 'NOT_FOUND' },
    ],
    [
      'of a check of nothing',
      'query($data: TrustedIssuerRequest!) { _check_trusted_issuer(params: $data) { passed } }',
      { id: 'nobody' },
      { code: 'NOT_FOUND' },
    ],
    [
      'of a row from the declarative file',
      'mutation($data: UpdateClientRequest!) { _update_client(params: $data) { id } }',
      { id: FILE_CLIENT.id, name: 'n' },
      { code: 'PERMISSION_DENIED', managed_by: 'file' },
    ],
    [
      'of an unknown audit outcome',
      'query($data: ListAuditLogRequest) { _audit_logs(params: $data) { pagination { total } } }',
      { outcome: 'fine' },
      { code: 'INVALID_ARGUMENT', field: 'outcome' },
    ],
    [
      'of an unknown signing algorithm',
      'mutation($data: RotateSigningKeyRequest) { _rotate_signing_key(params: $data) { kid } }',
      { alg: 'HS256' },
      { code: 'INVALID_ARGUMENT', field: 'alg' },
    ],
  ])('%s says so with its code and place', async (_title, document, data, extensions) => {
    const answer = await server.graphql(document, { data });
    expect(answer.status).toBe(200);
    expect(answer.data ?? null).toBeNull();
    expect(answer.errors).toHaveLength(1);
    const requestId = answer.headers.get('x-request-id');
    if ('problems' in extensions) extensions.problems = expect.arrayContaining(extensions.problems as unknown[]);
    expect(answer.errors[0]?.extensions).toMatchObject({ ...extensions, request_id: requestId });
  });

  it('K8S-03: of an issuer without issuer_url names the field', async () => {
    const { issuer_url, ...rest } = ISSUER;
    const { errors } = await server.graphql(ADD_ISSUER, { data: rest });
    expect(errors[0]?.message).toContain('issuer_url');
    expect(errors[0]?.extensions.code).toMatch(/^(INVALID_ARGUMENT|GRAPHQL_VALIDATION_FAILED)$/);
  });

  it('ALG-15: of our own issuer identifier names the field', async () => {
    const { errors } = await server.graphql(ADD_ISSUER, { data: { ...ISSUER, issuer_url: 'https://as.example.com' } });
    expect(errors[0]?.extensions).toMatchObject({ code: 'INVALID_ARGUMENT', field: 'issuer_url' });
  });
});

describe('a trusted issuer', () => {
  it('K8S-05: is answered with warnings', async () => {
    const data = {
      ...ISSUER,
      service_account_id: CLIENT.id,
      allowed_subjects: ['system:serviceaccount:prod:default'],
    };
    const answer = await server.graphql(ADD_ISSUER, { data });
    expect(answer.data._add_trusted_issuer.warnings).toEqual([expect.stringContaining('account of every pod')]);
  });

  it('shows how its keys stand', async () => {
    const document =
      'query($id: ID!) { _trusted_issuer(params: { id: $id }) { keys { loaded_at stale last_error next_try_at kids ' +
      'shared_keys { thumbprint other_issuers { trusted_issuer_id name } } } } }';
    expect((await server.graphql(document, { id: CLUSTER.id })).data._trusted_issuer.keys).toEqual({
      loaded_at: NOW - 5,
      stale: true,
      last_error: 'timeout',
      next_try_at: NOW + 5,
      kids: ['a', null],
      shared_keys: [{ thumbprint: 'print', other_issuers: [{ trusted_issuer_id: 'issuer-2', name: 'other cluster' }] }],
    });
    expect((await server.graphql(document, { id: PROVIDER.id })).data._trusted_issuer.keys).toBeNull();
  });

  it('is checked on demand', async () => {
    const { data } = await server.graphql(
      `query($id: ID!) { _check_trusted_issuer(params: { id: $id }) {
        passed discovery_url discovered_issuer jwks_url max_age_seconds
        keys { kid algorithms thumbprint } skipped { kid reason } failure { code detail } } }`,
      { id: PROVIDER.id },
    );
    expect(data._check_trusted_issuer).toEqual({
      passed: false,
      discovery_url: `${PROVIDER.issuerUrl}/.well-known/openid-configuration`,
      discovered_issuer: null,
      jwks_url: null,
      max_age_seconds: null,
      keys: [{ kid: null, algorithms: ['RS256'], thumbprint: 't' }],
      skipped: [{ kid: 'old', reason: 'use is not "sig"' }],
      failure: { code: 'connection_failed', detail: 'connect ECONNREFUSED' },
    });
  });
});

describe('a workload binding', () => {
  const FIELDS = 'id trusted_issuer_id client_id subject claims token_claims is_active warnings';

  it('takes conditions as JSON text in a literal and as an object in variables', async () => {
    const { data, errors } = await server.graphql(
      `mutation { _add_workload_binding(params: { trusted_issuer_id: "${PROVIDER.id}", client_id: "${CLIENT.clientId}",
        subject: "repo:o/r", claims: "{\\"a.b\\":1}", token_claims: { runner: "{issuer.name}/{subject}" } }) { ${FIELDS} } }`,
    );
    expect(errors).toEqual([]);
    expect(data._add_workload_binding).toEqual({
      id: expect.any(String),
      trusted_issuer_id: PROVIDER.id,
      client_id: CLIENT.id,
      subject: 'repo:o/r',
      claims: { 'a.b': 1 },
      token_claims: { runner: '{issuer.name}/{subject}' },
      is_active: true,
      warnings: [],
    });
    const updated = await server.graphql(
      `mutation($data: UpdateWorkloadBindingRequest!) { _update_workload_binding(params: $data) { ${FIELDS} } }`,
      { data: { id: data._add_workload_binding.id, claims: { 'c.d': true }, token_claims: {} } },
    );
    expect(updated.data._update_workload_binding).toMatchObject({ claims: { 'c.d': true }, token_claims: {} });
  });

  it('is listed by issuer, client and subject, read by id, and deleted', async () => {
    const list = async (filter: object) => {
      const document =
        'query($data: ListWorkloadBindingsRequest) { _workload_bindings(params: $data) { pagination { total } workload_bindings { id } } }';
      return (await server.graphql(document, { data: filter })).data._workload_bindings.workload_bindings;
    };
    const only = [{ id: BINDING.id }];
    expect(await list({ trusted_issuer_id: CLUSTER.id })).toEqual(only);
    expect(await list({ client_id: CLIENT.clientId, subject: BINDING.subject })).toEqual(only);
    expect(await list({ client_id: 'nobody' })).toEqual([]);
    const byId = 'query($id: ID!) { _workload_binding(params: { id: $id }) { subject } }';
    expect((await server.graphql(byId, { id: BINDING.id })).data._workload_binding.subject).toBe(BINDING.subject);
    const remove = 'mutation($id: ID!) { _delete_workload_binding(params: { id: $id }) { message } }';
    expect((await server.graphql(remove, { id: BINDING.id })).errors).toEqual([]);
    expect(await list({ trusted_issuer_id: CLUSTER.id })).toEqual([]);
    expect((await server.graphql(byId, { id: BINDING.id })).errors[0]?.extensions.code).toBe('NOT_FOUND');
  });
});

describe('the server', () => {
  it('explains an assertion', async () => {
    const { data } = await server.graphql(
      'query { _explain_assertion(params: { assertion: "a.b.c" }) { accepted reason trusted_issuer_id client_id checks { name passed detail hint } } }',
    );
    expect(data._explain_assertion).toEqual({
      accepted: false,
      reason: 'aud_mismatch',
      trusted_issuer_id: CLUSTER.id,
      client_id: null,
      checks: [
        { name: 'form', passed: true, detail: '5 characters in 36', hint: null },
        { name: 'audience', passed: false, detail: 'aud is not ours', hint: 'ask for our audience' },
      ],
    });
  });

  it('lists its signing keys without their private parts', async () => {
    const { data } = await server.graphql(
      '{ _signing_keys { kid alg state created_at active_from active_until remove_at } }',
    );
    expect(data._signing_keys).toEqual([
      {
        kid: SIGNING_KEY.kid,
        alg: 'ES256',
        state: 'active',
        created_at: NOW - 100,
        active_from: NOW - 100,
        active_until: null,
        remove_at: null,
      },
    ]);
  });

  it.each<[string, string, object]>([
    ['planned, ES256', '', { alg: 'ES256', compromised: false }],
    ['after a compromise, RS256', '(params: { alg: "RS256", compromised: true })', { alg: 'RS256', compromised: true }],
  ])('rotates its signing key: %s', async (_title, params, evidence) => {
    const { data, headers } = await server.graphql(`mutation { _rotate_signing_key${params} { kid alg state } }`);
    expect(data._rotate_signing_key).toMatchObject({ kid: 'signing-key-2', state: 'next' });
    const requestId = headers.get('x-request-id') ?? '';
    const { rows } = await server.stores.auditLog.list({ requestId }, { limit: 10, offset: 0 });
    expect(rows).toMatchObject([
      { action: 'signing_key.rotated', outcome: 'changed', actorId: 'admin', resourceId: 'signing-key-2', evidence },
    ]);
  });
});

describe('the audit log', () => {
  const FIELDS =
    'pagination { limit page offset total } audit_logs { id action outcome reason resource_id client_id request_id metadata }';
  const list = async (data: object) =>
    (await server.graphql(`query($data: ListAuditLogRequest) { _audit_logs(params: $data) { ${FIELDS} } }`, { data }))
      .data._audit_logs;

  it('has every write, good or refused, under the request id of its answer', async () => {
    const update = 'mutation($data: UpdateClientRequest!) { _update_client(params: $data) { id } }';
    const good = await server.graphql(update, { data: { id: CLIENT.id, description: 'audited' } });
    const bad = await server.graphql(update, { data: { id: CLIENT.id, name: '' } });
    const [of, refused] = await Promise.all(
      [good, bad].map(({ headers }) => list({ request_id: headers.get('x-request-id') })),
    );
    expect(of.audit_logs).toMatchObject([
      {
        action: 'client.updated',
        outcome: 'changed',
        reason: null,
        resource_id: CLIENT.id,
        client_id: CLIENT.clientId,
      },
    ]);
    expect(JSON.parse(of.audit_logs[0].metadata)).toEqual({ changed: { description: { from: null, to: 'audited' } } });
    expect(refused.audit_logs).toMatchObject([{ outcome: 'failed', reason: 'invalid_input' }]);
  });

  it('is filtered', async () => {
    const failed = await list({ outcome: 'failed', action: 'client.updated' });
    expect(failed.audit_logs.length).toBeGreaterThan(0);
    expect(failed.audit_logs.every((row: { outcome: string }) => row.outcome === 'failed')).toBe(true);
    expect((await list({ from_timestamp: NOW + 1 })).audit_logs).toEqual([]);
    expect((await list({ to_timestamp: NOW - 1 })).audit_logs).toEqual([]);
  });

  it('is turned page by page from a cursor that stays put while new records arrive', async () => {
    const first = await list({ pagination: { limit: 2 } });
    await server.graphql('mutation { _rotate_signing_key { kid } }');
    const older = await list({ before: first.audit_logs[1].id, pagination: { limit: 2 } });
    const ids = [...first.audit_logs, ...older.audit_logs].map((row: { id: string }) => row.id);
    expect(new Set(ids).size).toBe(4);
    const all = await list({ pagination: { limit: 5 } });
    expect(all.audit_logs.slice(1).map((row: { id: string }) => row.id)).toEqual(ids);
  });

  it.each<[object, object]>([
    [{ limit: 1000 }, { limit: 100, page: 1, offset: 0 }],
    [{ limit: 0 }, { limit: 10, page: 1, offset: 0 }],
    [
      { limit: -1, page: -1 },
      { limit: 10, page: 1, offset: 0 },
    ],
    [
      { limit: 7, page: 3 },
      { limit: 7, page: 3, offset: 14 },
    ],
  ])('bounds the page %j', async (pagination, expected) => {
    expect((await list({ pagination })).pagination).toMatchObject(expected);
  });
});
