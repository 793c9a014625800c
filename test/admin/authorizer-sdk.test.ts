/**
 * Clients written for Authorizer must work unchanged. The documents are those that its Python SDK sends
 * (github.com/authorizerdev/authorizer-py, src/authorizer/_queries.py), the variables are shaped as its request types.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ADMIN_SECRET, type AdminServer, startAdminServer } from '../fixtures/admin-server.ts';

const PAGINATION = 'pagination { limit page offset total }';
const CLIENT = 'id client_id name description allowed_scopes is_active created_at updated_at';
const TRUSTED_ISSUER =
  'id service_account_id name issuer_url key_source_type jwks_url expected_aud subject_claim allowed_subjects issuer_type is_active spiffe_refresh_hint_seconds created_at updated_at';
const AUDIT_LOG =
  'id actor_id actor_type actor_email action resource_type resource_id ip_address user_agent metadata created_at';

const DOCUMENTS = {
  createClient: `mutation adminCreateClient($data: CreateClientRequest!) { _create_client(params: $data) { client { ${CLIENT} } client_secret } }`,
  updateClient: `mutation adminUpdateClient($data: UpdateClientRequest!) { _update_client(params: $data) { ${CLIENT} } }`,
  deleteClient: 'mutation adminDeleteClient($data: ClientRequest!) { _delete_client(params: $data) { message } }',
  rotateClientSecret: `mutation adminRotateClientSecret($data: ClientRequest!) { _rotate_client_secret(params: $data) { client { ${CLIENT} } client_secret } }`,
  client: `query adminClient($data: ClientRequest!) { _client(params: $data) { ${CLIENT} } }`,
  clients: `query adminClients($data: ListClientsRequest) { _clients(params: $data) { ${PAGINATION} clients { ${CLIENT} } } }`,
  addTrustedIssuer: `mutation adminAddTrustedIssuer($data: AddTrustedIssuerRequest!) { _add_trusted_issuer(params: $data) { ${TRUSTED_ISSUER} } }`,
  updateTrustedIssuer: `mutation adminUpdateTrustedIssuer($data: UpdateTrustedIssuerRequest!) { _update_trusted_issuer(params: $data) { ${TRUSTED_ISSUER} } }`,
  deleteTrustedIssuer:
    'mutation adminDeleteTrustedIssuer($data: TrustedIssuerRequest!) { _delete_trusted_issuer(params: $data) { message } }',
  trustedIssuer: `query adminTrustedIssuer($data: TrustedIssuerRequest!) { _trusted_issuer(params: $data) { ${TRUSTED_ISSUER} } }`,
  trustedIssuers: `query adminTrustedIssuers($data: ListTrustedIssuersRequest) { _trusted_issuers(params: $data) { ${PAGINATION} trusted_issuers { ${TRUSTED_ISSUER} } } }`,
  auditLogs: `query adminAuditLogs($data: ListAuditLogRequest) { _audit_logs(params: $data) { ${PAGINATION} audit_logs { ${AUDIT_LOG} } } }`,
};

let server: AdminServer;
beforeAll(async () => {
  server = await startAdminServer();
});
afterAll(() => server[Symbol.asyncDispose]());

/** As the SDK does it: its own header, and every document with the one variable `data`. */
async function call(document: keyof typeof DOCUMENTS, data: object | null = null) {
  const response = await server.fetch({
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-authorizer-admin-secret': ADMIN_SECRET },
    body: JSON.stringify({ query: DOCUMENTS[document], variables: { data } }),
  });
  expect(response.status).toBe(200);
  const body = (await response.json()) as { data: Record<string, unknown>; errors?: unknown };
  expect(body.errors).toBeUndefined();
  // biome-ignore lint/suspicious/noExplicitAny: tests say with their expectations what is in it
  return Object.values(body.data)[0] as any;
}

it('runs every admin document of the SDK for clients and trusted issuers, from first to last', async () => {
  const created = await call('createClient', { name: 'worker', allowed_scopes: ['read', 'write'], description: 'd' });
  expect(created).toEqual({
    client: {
      id: expect.any(String),
      client_id: expect.any(String),
      name: 'worker',
      description: 'd',
      allowed_scopes: ['read', 'write'],
      is_active: true,
      created_at: server.clock(),
      updated_at: server.clock(),
    },
    client_secret: null,
  });
  const { client } = created;

  const issuer = await call('addTrustedIssuer', {
    service_account_id: client.id,
    name: 'cluster',
    issuer_url: 'https://oidc.example.com/',
    key_source_type: 'static_jwks_url',
    jwks_url: 'https://oidc.example.com/keys',
    expected_aud: 'https://a.example.com',
    issuer_type: 'kubernetes_sa',
    subject_claim: 'sub',
    allowed_subjects: 'system:serviceaccount:prod:b,system:serviceaccount:prod:a',
    spiffe_refresh_hint_seconds: 0,
  });
  expect(issuer).toEqual({
    id: expect.any(String),
    service_account_id: client.id,
    name: 'cluster',
    issuer_url: 'https://oidc.example.com/',
    key_source_type: 'static_jwks_url',
    jwks_url: 'https://oidc.example.com/keys',
    expected_aud: 'https://a.example.com',
    subject_claim: 'sub',
    allowed_subjects: 'system:serviceaccount:prod:a,system:serviceaccount:prod:b',
    issuer_type: 'kubernetes_sa',
    is_active: true,
    spiffe_refresh_hint_seconds: null,
    created_at: server.clock(),
    updated_at: server.clock(),
  });

  const changes = { id: issuer.id, expected_aud: 'a,b', allowed_subjects: '', is_active: false };
  expect(await call('updateTrustedIssuer', changes)).toEqual({
    ...issuer,
    expected_aud: 'a,b',
    allowed_subjects: '',
    is_active: false,
  });
  expect(await call('trustedIssuer', { id: issuer.id })).toMatchObject({ expected_aud: 'a,b' });

  // The SDK's lists nest `pagination` once more, except for the audit log.
  const nested = { pagination: { pagination: { page: 1, limit: 5 } } };
  expect(await call('trustedIssuers', { service_account_id: client.id, ...nested })).toMatchObject({
    pagination: { limit: 5, page: 1, offset: 0, total: 1 },
    trusted_issuers: [{ id: issuer.id }],
  });
  expect(await call('trustedIssuers', { service_account_id: 'nobody' })).toMatchObject({ trusted_issuers: [] });
  expect(await call('trustedIssuers')).toMatchObject({ pagination: { total: 1 } });

  expect(await call('updateClient', { id: client.id, name: 'renamed', is_active: false })).toMatchObject({
    name: 'renamed',
    is_active: false,
    allowed_scopes: ['read', 'write'],
  });
  expect(await call('client', { id: client.id })).toMatchObject({ name: 'renamed' });
  expect(await call('clients', nested)).toMatchObject({ pagination: { limit: 5 }, clients: [{ id: client.id }] });
  expect(await call('clients')).toMatchObject({ pagination: { limit: 10, page: 1, offset: 0, total: 1 } });
  expect((await call('rotateClientSecret', { id: client.id })).client_secret).toMatch(/^[\w-]{43}$/);

  expect(await call('deleteTrustedIssuer', { id: issuer.id })).toEqual({ message: expect.any(String) });
  expect(await call('deleteClient', { id: client.id })).toEqual({ message: expect.any(String) });

  const filter = { action: 'client.updated', resource_type: 'client', actor_id: 'admin', from_timestamp: 0 };
  const { pagination, audit_logs } = await call('auditLogs', { ...filter, pagination: { limit: 3, page: 1 } });
  expect(pagination).toEqual({ limit: 3, page: 1, offset: 0, total: 1 });
  expect(audit_logs).toEqual([
    {
      id: expect.any(String),
      actor_id: 'admin',
      actor_type: 'admin',
      actor_email: null,
      action: 'client.updated',
      resource_type: 'client',
      resource_id: client.id,
      ip_address: '127.0.0.1',
      user_agent: expect.any(String),
      metadata: JSON.stringify({
        changed: { name: { from: 'worker', to: 'renamed' }, is_active: { from: true, to: false } },
      }),
      created_at: server.clock(),
    },
  ]);
});

it('runs scripts that declare plain string variables, as Authorizer’s schema has them', async () => {
  const { data, errors } = await server.graphql(
    `mutation($name: String!, $scopes: [String!]!) {
      _create_client(params: { name: $name, allowed_scopes: $scopes }) { client { id allowed_scopes } }
    }`,
    { name: 'n', scopes: ['a', 'b'] },
  );
  expect(errors).toEqual([]);
  expect(data._create_client.client.allowed_scopes).toEqual(['a', 'b']);
  const added = await server.graphql(
    `mutation($id: String!, $aud: String!, $subjects: String) {
      _add_trusted_issuer(params: {
        service_account_id: $id, name: "n", issuer_url: "https://x.example.com", issuer_type: "oidc",
        key_source_type: "oidc_discovery", expected_aud: $aud, allowed_subjects: $subjects
      }) { expected_aud_list allowed_subject_list }
    }`,
    { id: data._create_client.client.id, aud: 'https://a.example.com', subjects: 'x,y' },
  );
  expect(added.errors).toEqual([]);
  expect(added.data._add_trusted_issuer).toEqual({
    expected_aud_list: ['https://a.example.com'],
    allowed_subject_list: ['x', 'y'],
  });
  const found = await server.graphql(
    'query($id: String!, $s: ID) { _client(params: { id: $id }) { id } _workload_bindings(params: { subject: $s }) { pagination { total } } }',
    {
      id: data._create_client.client.id,
      s: 'x',
    },
  );
  expect(found.errors).toEqual([]);
  expect(found.data._workload_bindings.pagination.total).toBe(1);
});

it('refuses null where a value must be, however the variable is declared', async () => {
  const { errors } = await server.graphql('query($id: String) { _client(params: { id: $id }) { id } }', { id: null });
  expect(errors).toHaveLength(1);
  expect(errors[0]?.extensions.code).toBe('INVALID_ARGUMENT');
});
