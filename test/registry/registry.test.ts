import { describe, expect, it } from 'vitest';
import { isClientSecretValid, SECRET_OVERLAP_SECONDS } from '../../src/issuance/client-secret.ts';
import { createRegistry } from '../../src/registry/registry.ts';
import type { RegistryStore } from '../../src/registry/registry-store.ts';
import { TEST_CA_PEM } from '../fixtures/issuer-server.ts';
import { P256, P256_B, publicJwk, RSA_A } from '../fixtures/keys.ts';
import { memoryAuditLog } from '../fixtures/memory-audit-log.ts';
import { BINDING, CLIENT, CLUSTER, PROVIDER } from '../fixtures/rows.ts';
import { NOW, settableClock } from '../fixtures/settable-clock.ts';
import { type StoredRows, sqliteStores } from '../fixtures/sqlite-stores.ts';

const OWN_ISSUER = 'https://as.example.com';
const ORIGIN = { requestId: 'request-1', ipAddress: '192.0.2.1', userAgent: 'test' };
const SUBJECT = 'system:serviceaccount:prod:app';
const jwks = (...keys: object[]) => JSON.stringify({ keys });
const ISSUER = {
  name: 'edge',
  issuer_url: 'https://oidc.example.com/id/ABC',
  issuer_type: 'kubernetes_sa',
  key_source_type: 'static_jwks',
  jwks: jwks(publicJwk(RSA_A, { kid: 'k1' })),
};

async function world(
  rows: StoredRows = { clients: [CLIENT], issuers: [CLUSTER] },
  overrides: Partial<RegistryStore> = {},
) {
  const clock = settableClock();
  const auditLog = memoryAuditLog();
  const store: RegistryStore = { ...(await sqliteStores(rows, clock)).registryStore, ...overrides };
  return { registry: createRegistry({ store, auditLog, clock, ownIssuer: OWN_ISSUER }), store, clock, auditLog };
}

type World = Awaited<ReturnType<typeof world>>;

/** The value of an outcome that must be good. */
function value<T>(result: { ok: true; value: T } | { ok: false; error: unknown }): T {
  if (!result.ok) throw new Error(`refused: ${JSON.stringify(result.error)}`);
  return result.value;
}

describe('clients', () => {
  it('are stored as written, without a secret unless one is asked for', async () => {
    const { registry, store } = await world();
    const created = value(
      await registry.createClient({ name: 'a', client_id: 'app-a', allowed_scopes: ['s'] }, ORIGIN),
    );
    expect(created.clientSecret).toBeNull();
    expect(await store.findClient('app-a')).toEqual(created.client);
    expect(created.client).toMatchObject({ clientId: 'app-a', managedBy: 'api', createdAt: NOW, updatedAt: NOW });
    expect(await store.findClientSecrets(created.client.id)).toEqual([]);
  });

  it('get a secret that is shown once and stored as a hash', async () => {
    const { registry, store, auditLog } = await world();
    const input = { name: 'a', allowed_scopes: ['s'], with_client_secret: true };
    const { client, clientSecret } = value(await registry.createClient(input, ORIGIN));
    const stored = await store.findClientSecrets(client.id);
    expect(isClientSecretValid(clientSecret ?? '', stored, NOW)).toBe(true);
    expect(JSON.stringify([stored, auditLog.records])).not.toContain(clientSecret);
  });

  it.each([CLIENT.clientId, CLIENT.id])('can not take the client_id %s, by which another row is found', async (id) => {
    const { registry } = await world();
    expect(await registry.createClient({ name: 'a', client_id: id, allowed_scopes: ['s'] }, ORIGIN)).toEqual({
      ok: false,
      error: { code: 'conflict', problems: [{ path: ['client_id'], message: 'is taken by another client' }] },
    });
  });

  it('that sign by themselves can not be named like a trusted issuer, nor the other way round', async () => {
    const { registry } = await world();
    const clientInput = { name: 'a', client_id: CLUSTER.issuerUrl, allowed_scopes: ['s'] };
    const withKeys = { ...clientInput, jwks: jwks(publicJwk(P256)) };
    expect(await registry.createClient(withKeys, ORIGIN)).toMatchObject({
      error: { code: 'invalid_input', problems: [{ path: ['jwks'] }] },
    });
    const { client } = value(await registry.createClient(clientInput, ORIGIN));
    expect(await registry.updateClient({ id: client.id, jwks: withKeys.jwks }, ORIGIN)).toMatchObject({
      error: { code: 'invalid_input', problems: [{ path: ['jwks'] }] },
    });

    const signing = { name: 'b', client_id: 'https://b.example.com', allowed_scopes: ['s'], jwks: withKeys.jwks };
    value(await registry.createClient(signing, ORIGIN));
    const issuer = { ...ISSUER, issuer_url: signing.client_id };
    expect(await registry.addTrustedIssuer(issuer, ORIGIN)).toMatchObject({
      error: { code: 'invalid_input', problems: [{ path: ['issuer_url'] }] },
    });
  });

  it('change in what is given, and the record says from what to what', async () => {
    const { registry, clock, auditLog } = await world();
    clock.advance(60);
    const keys = jwks(publicJwk(P256, { kid: 'new' }), publicJwk(P256_B));
    const changes = { id: CLIENT.id, allowed_scopes: ['read'], is_active: false, jwks: keys };
    const client = value(await registry.updateClient(changes, ORIGIN));
    expect(client).toEqual({ ...CLIENT, allowedScopes: ['read'], isActive: false, jwks: keys, updatedAt: NOW + 60 });
    expect(auditLog.records).toEqual([
      {
        id: expect.any(String),
        createdAt: NOW + 60,
        requestId: 'request-1',
        action: 'client.updated',
        outcome: 'changed',
        reason: null,
        actorType: 'admin',
        actorId: 'admin',
        resourceType: 'client',
        resourceId: CLIENT.id,
        trustedIssuerId: null,
        subject: null,
        clientId: CLIENT.clientId,
        ipAddress: '192.0.2.1',
        userAgent: 'test',
        evidence: {
          changed: {
            allowed_scopes: { from: ['read', 'write'], to: ['read'] },
            is_active: { from: true, to: false },
            jwks: { from: null, to: { kids: ['new', 'no kid'] } },
          },
        },
      },
    ]);
  });

  it('stay as they are when an update changes nothing', async () => {
    const { registry, clock, auditLog } = await world();
    clock.advance(60);
    expect(value(await registry.updateClient({ id: CLIENT.id, name: CLIENT.name }, ORIGIN))).toEqual(CLIENT);
    expect(auditLog.records).toEqual([]);
  });

  it('go with their bindings', async () => {
    const { registry, store } = await world({ clients: [CLIENT], issuers: [CLUSTER], bindings: [BINDING] });
    value(await registry.deleteClient(CLIENT.clientId, ORIGIN));
    expect(await store.findClient(CLIENT.id)).toBeNull();
    expect(await store.findWorkloadBinding(BINDING.id)).toBeNull();
  });

  it('keep their old secret for a day after a rotation, and lose it at once after two', async () => {
    const { registry, store, clock } = await world();
    const rotate = async () => value(await registry.rotateClientSecret(CLIENT.id, ORIGIN)).clientSecret;
    const isValid = async (secret: string) =>
      isClientSecretValid(secret, await store.findClientSecrets(CLIENT.id), clock());
    const first = await rotate();
    expect(await isValid(first)).toBe(true);
    const second = await rotate();
    clock.advance(SECRET_OVERLAP_SECONDS - 1);
    expect([await isValid(first), await isValid(second)]).toEqual([true, true]);
    clock.advance(1);
    expect([await isValid(first), await isValid(second)]).toEqual([false, true]);
    const third = await rotate();
    const fourth = await rotate();
    expect([await isValid(second), await isValid(third), await isValid(fourth)]).toEqual([false, true, true]);
  });

  it('are updated one after the other: no update undoes another', async () => {
    const { registry } = await world();
    await Promise.all([
      registry.updateClient({ id: CLIENT.id, name: 'new' }, ORIGIN),
      registry.updateClient({ id: CLIENT.id, is_active: false }, ORIGIN),
      registry.updateClient({ id: CLIENT.id, organization_id: 'org-1' }, ORIGIN),
    ]);
    expect(await registry.findClient(CLIENT.id)).toMatchObject({
      name: 'new',
      isActive: false,
      organizationId: 'org-1',
    });
  });
});

describe('trusted issuers', () => {
  it('ADM-05: trust nobody until a subject is bound', async () => {
    const { registry } = await world();
    for (const allowed_subjects of [[], undefined]) {
      const input = {
        ...ISSUER,
        issuer_url: `https://${String(allowed_subjects?.length)}.example.com`,
        allowed_subjects,
      };
      const { issuer } = value(await registry.addTrustedIssuer(input, ORIGIN));
      expect(await registry.listWorkloadBindings({ limit: 10, offset: 0 }, { trustedIssuerId: issuer.id })).toEqual({
        rows: [],
        total: 0,
      });
    }
  });

  it('bind each subject of the short form to its client', async () => {
    const { registry, store } = await world();
    const input = { ...ISSUER, service_account_id: CLIENT.clientId, allowed_subjects: [SUBJECT, `${SUBJECT}-2`] };
    const { issuer } = value(await registry.addTrustedIssuer(input, ORIGIN));
    expect(issuer).toMatchObject({ serviceAccountId: CLIENT.id, keySourceRevision: 1, keySourceUpdatedAt: NOW });
    const { rows } = await store.listWorkloadBindings({ limit: 10, offset: 0 }, { trustedIssuerId: issuer.id });
    expect(rows.map(({ subject, clientRowId, isActive }) => [subject, clientRowId, isActive]).toSorted()).toEqual([
      [SUBJECT, CLIENT.id, true],
      [`${SUBJECT}-2`, CLIENT.id, true],
    ]);
    expect(await registry.allowedSubjects(issuer)).toEqual([SUBJECT, `${SUBJECT}-2`]);
  });

  it('replace the bindings to their client on update, and no others', async () => {
    const conditioned = {
      ...BINDING,
      id: 'b-1',
      trustedIssuerId: PROVIDER.id,
      subject: 'kept',
      claims: { env: 'prod' },
    };
    const off = { ...conditioned, id: 'b-2', subject: 'off', isActive: false };
    const gone = { ...conditioned, id: 'b-3', subject: 'gone' };
    const other = { ...conditioned, id: 'b-4', clientRowId: 'client-row-2' };
    const { registry, store, auditLog } = await world({
      clients: [CLIENT, { ...CLIENT, id: 'client-row-2', clientId: 'other' }],
      issuers: [{ ...PROVIDER, serviceAccountId: CLIENT.id }],
      bindings: [conditioned, off, gone, other],
    });
    const changes = { id: PROVIDER.id, allowed_subjects: 'kept,off,new' };
    value(await registry.updateTrustedIssuer(changes, ORIGIN));
    const { rows } = await store.listWorkloadBindings({ limit: 10, offset: 0 }, { trustedIssuerId: PROVIDER.id });
    expect(rows.map(({ id, subject, claims, isActive }) => ({ id, subject, claims, isActive }))).toEqual(
      expect.arrayContaining([
        { id: 'b-1', subject: 'kept', claims: { env: 'prod' }, isActive: true },
        { id: 'b-2', subject: 'off', claims: { env: 'prod' }, isActive: true },
        { id: expect.any(String), subject: 'new', claims: {}, isActive: true },
        { id: 'b-4', subject: 'kept', claims: { env: 'prod' }, isActive: true },
      ]),
    );
    expect(rows).toHaveLength(4);
    expect(auditLog.records[0]?.evidence.changed).toEqual({
      allowed_subjects: { from: ['gone', 'kept'], to: ['kept', 'new', 'off'] },
    });
  });

  it('deny everyone again when the list of subjects is emptied', async () => {
    const { registry } = await world();
    const input = { ...ISSUER, service_account_id: CLIENT.id, allowed_subjects: [SUBJECT] };
    const { issuer } = value(await registry.addTrustedIssuer(input, ORIGIN));
    value(await registry.updateTrustedIssuer({ id: issuer.id, allowed_subjects: '' }, ORIGIN));
    expect(await registry.allowedSubjects(issuer)).toEqual([]);
  });

  it('count a new key source, and only that', async () => {
    const { registry, clock } = await world();
    clock.advance(60);
    const renamed = value(await registry.updateTrustedIssuer({ id: CLUSTER.id, name: 'new' }, ORIGIN)).issuer;
    expect(renamed).toMatchObject({ keySourceRevision: 1, keySourceUpdatedAt: CLUSTER.keySourceUpdatedAt });
    clock.advance(60);
    const keys = jwks(publicJwk(P256, { kid: 'k2' }));
    const rekeyed = value(await registry.updateTrustedIssuer({ id: CLUSTER.id, jwks: keys }, ORIGIN)).issuer;
    expect(rekeyed).toMatchObject({ keySourceRevision: 2, keySourceUpdatedAt: NOW + 120, updatedAt: NOW + 120 });
  });

  it('are recorded with key names and fingerprints, not with the pasted texts', async () => {
    const { registry, auditLog } = await world();
    value(await registry.addTrustedIssuer({ ...ISSUER, ca_pem: TEST_CA_PEM }, ORIGIN));
    expect(auditLog.records[0]).toMatchObject({
      action: 'trusted_issuer.created',
      outcome: 'changed',
      evidence: {
        created: {
          issuer_url: ISSUER.issuer_url,
          jwks: { kids: ['k1'] },
          ca_pem: { sha256_fingerprint: expect.stringMatching(/^([0-9A-F]{2}:){31}/) },
        },
      },
    });
  });

  const SLASHED = {
    ...CLUSTER,
    id: 'issuer-9',
    issuerUrl: 'https://idp.example.com/',
    additionalIssuerUrls: ['https://old.example.com'],
  };

  it.each([
    ['https://idp.example.com', 'https://idp.example.com/'],
    ['https://old.example.com/', 'https://old.example.com'],
  ])('ISS-01: refuse %s where %s is registered, naming both', async (url, other) => {
    const { registry } = await world({ issuers: [SLASHED] });
    const message = `"${url}" and "${other}" of trusted issuer issuer-9 differ only by a trailing slash: register the one that tokens really have in iss`;
    expect(await registry.addTrustedIssuer({ ...ISSUER, issuer_url: url }, ORIGIN)).toEqual({
      ok: false,
      error: { code: 'invalid_input', problems: [{ path: ['issuer_url'], message }] },
    });
    expect(await registry.addTrustedIssuer({ ...ISSUER, additional_issuer_urls: ['x', url] }, ORIGIN)).toEqual({
      ok: false,
      error: { code: 'invalid_input', problems: [{ path: ['additional_issuer_urls', '1'], message }] },
    });
  });

  it('ISS-01: may be written again under their own strings', async () => {
    const { registry } = await world({ issuers: [SLASHED] });
    const changes = { id: SLASHED.id, issuer_url: 'https://idp.example.com' };
    expect(value(await registry.updateTrustedIssuer(changes, ORIGIN)).issuer.issuerUrl).toBe('https://idp.example.com');
  });

  it.each(['https://idp.example.com/', 'https://old.example.com'])('can not share %s with another row', async (url) => {
    const { registry } = await world({ issuers: [SLASHED] });
    expect(await registry.addTrustedIssuer({ ...ISSUER, issuer_url: url }, ORIGIN)).toEqual({
      ok: false,
      error: {
        code: 'conflict',
        problems: [{ path: ['issuer_url'], message: `"${url}" is registered already, by trusted issuer issuer-9` }],
      },
    });
  });

  it('can not be written when another process was faster', async () => {
    const { registry } = await world({ issuers: [SLASHED] }, { listIssuerUrls: async () => [] });
    expect(await registry.addTrustedIssuer({ ...ISSUER, issuer_url: SLASHED.issuerUrl }, ORIGIN)).toEqual({
      ok: false,
      error: { code: 'conflict', problems: [{ path: ['issuer_url'], message: 'is registered already' }] },
    });
  });

  it('are refused a client that is not there, or of another organization', async () => {
    const { registry } = await world();
    expect(await registry.addTrustedIssuer({ ...ISSUER, service_account_id: 'nobody' }, ORIGIN)).toEqual({
      ok: false,
      error: {
        code: 'invalid_input',
        problems: [{ path: ['service_account_id'], message: 'no client has the id "nobody"' }],
      },
    });
    value(await registry.updateClient({ id: CLIENT.id, organization_id: 'org-1' }, ORIGIN));
    const foreign = { ...ISSUER, service_account_id: CLIENT.id, organization_id: 'org-2' };
    expect(await registry.addTrustedIssuer(foreign, ORIGIN)).toMatchObject({
      error: { code: 'invalid_input', problems: [{ path: ['service_account_id'] }] },
    });
  });

  it('can be switched off whatever has become of the client of their short form', async () => {
    const client = { ...CLIENT, managedBy: 'file' as const };
    const { registry } = await world({ clients: [client], issuers: [{ ...CLUSTER, serviceAccountId: client.id }] });
    const written = value(await registry.updateTrustedIssuer({ id: CLUSTER.id, is_active: false }, ORIGIN));
    expect(written.issuer.isActive).toBe(false);
  });

  it('K8S-05: carry their warnings into the answer and the record', async () => {
    const { registry, auditLog } = await world();
    const subject = 'system:serviceaccount:prod:default';
    const input = { ...ISSUER, service_account_id: CLIENT.id, allowed_subjects: [subject] };
    const { warnings } = value(await registry.addTrustedIssuer(input, ORIGIN));
    expect(warnings).toEqual([expect.stringContaining(`"${subject}" is the account of every pod in its namespace`)]);
    expect(auditLog.records[0]?.evidence.warnings).toEqual(warnings);
  });
});

describe('workload bindings', () => {
  const input = { trusted_issuer_id: CLUSTER.id, client_id: CLIENT.clientId, subject: SUBJECT };

  it.each(['id', 'clientId'] as const)('name their client by %s', async (name) => {
    const { registry, auditLog } = await world();
    const { binding } = value(await registry.addWorkloadBinding({ ...input, client_id: CLIENT[name] }, ORIGIN));
    expect(binding).toMatchObject({ trustedIssuerId: CLUSTER.id, clientRowId: CLIENT.id, subject: SUBJECT });
    expect(auditLog.records[0]).toMatchObject({
      action: 'workload_binding.created',
      outcome: 'changed',
      resourceId: binding.id,
      trustedIssuerId: CLUSTER.id,
      subject: SUBJECT,
      clientId: CLIENT.clientId,
    });
  });

  it.each<[string, object, string]>([
    ['an issuer that is not there', { trusted_issuer_id: 'nobody' }, 'trusted_issuer_id'],
    ['a client that is not there', { client_id: 'nobody' }, 'client_id'],
    ['a subject that can not exist', { subject: 'repo:org/repo' }, 'subject'],
    ['a template that names nothing', { token_claims: { a: '{node}' } }, 'token_claims.a'],
  ])('are refused with %s', async (_title, changes, path) => {
    const { registry } = await world();
    expect(await registry.addWorkloadBinding({ ...input, ...changes }, ORIGIN)).toMatchObject({
      ok: false,
      error: { code: 'invalid_input', problems: [{ path: path.split('.') }] },
    });
  });

  it('exist once for an issuer, a subject and a client', async () => {
    const { registry } = await world();
    value(await registry.addWorkloadBinding(input, ORIGIN));
    expect(await registry.addWorkloadBinding({ ...input, claims: { a: 'b' } }, ORIGIN)).toMatchObject({
      error: { code: 'conflict', problems: [{ path: ['subject'] }] },
    });
  });

  it('SUB-02: keep their subject byte for byte, commas and all', async () => {
    const { registry } = await world({ clients: [CLIENT], issuers: [PROVIDER] });
    for (const subject of [
      'system:serviceaccount:a:b',
      'repo:org/repo:environment:prod',
      'spiffe://td.example/ns/a/sa/b',
      'project_path:g/sg/p:ref_type:branch:ref:feat/x',
      'a,b , c',
      'ä\u{308}\u{1f600}',
    ]) {
      const added = value(
        await registry.addWorkloadBinding({ ...input, trusted_issuer_id: PROVIDER.id, subject }, ORIGIN),
      );
      expect((await registry.findWorkloadBinding(added.binding.id))?.subject).toBe(subject);
    }
  });

  it('change in what is given', async () => {
    const { registry, auditLog } = await world();
    const { binding } = value(await registry.addWorkloadBinding({ ...input, claims: { a: 'b' } }, ORIGIN));
    const updated = value(await registry.updateWorkloadBinding({ id: binding.id, is_active: false }, ORIGIN));
    expect(updated.binding).toEqual({ ...binding, isActive: false });
    expect(auditLog.records[1]?.evidence).toEqual({ changed: { is_active: { from: true, to: false } } });
  });
});

describe('every refused write', () => {
  it.each<[string, (registry: World['registry']) => Promise<unknown>, object]>([
    [
      'of a client that is not there',
      (r) => r.updateClient({ id: 'x', name: 'a' }, ORIGIN),
      { action: 'client.updated', reason: 'not_found', resourceId: 'x' },
    ],
    [
      'without an id',
      (r) => r.updateClient({ name: 'a' }, ORIGIN),
      {
        action: 'client.updated',
        reason: 'invalid_input',
        evidence: { problems: [{ path: ['id'], message: 'is required' }] },
      },
    ],
    [
      'that deletes nothing',
      (r) => r.deleteTrustedIssuer('x', ORIGIN),
      { action: 'trusted_issuer.deleted', reason: 'not_found', resourceId: 'x' },
    ],
    [
      'with a wrong field',
      (r) => r.addTrustedIssuer({ ...ISSUER, name: '' }, ORIGIN),
      {
        action: 'trusted_issuer.created',
        reason: 'invalid_input',
        evidence: { problems: [{ path: ['name'], message: 'must not be empty' }] },
      },
    ],
    [
      'of a taken client_id',
      (r) => r.createClient({ name: 'a', client_id: CLIENT.clientId, allowed_scopes: 's' }, ORIGIN),
      { action: 'client.created', reason: 'conflict', clientId: CLIENT.clientId },
    ],
    [
      'of a binding that is not there',
      (r) => r.updateWorkloadBinding({ id: 'x' }, ORIGIN),
      { action: 'workload_binding.updated', reason: 'not_found', resourceId: 'x' },
    ],
  ])('%s is recorded with its reason', async (_title, write, expected) => {
    const { registry, auditLog } = await world();
    expect(await write(registry)).toMatchObject({ ok: false });
    expect(auditLog.records).toHaveLength(1);
    expect(auditLog.records[0]).toMatchObject({
      outcome: 'failed',
      actorId: 'admin',
      requestId: 'request-1',
      ...expected,
    });
  });

  it('leaves no private key behind', async () => {
    const { registry, auditLog } = await world();
    await registry.addTrustedIssuer({ ...ISSUER, jwks: jwks(P256) }, ORIGIN);
    expect(JSON.stringify(auditLog.records)).not.toContain(P256.d);
  });
});

describe('a template that gives two workloads one claim', () => {
  it.each([
    ['{kubernetes.node.name}', ['two clusters can have the same {kubernetes.node.name}: begin with {issuer.name}/']],
    ['{issuer.name}/{kubernetes.node.name|dots_to_underscores}', []],
  ])('is a warning: %s', async (template, ambiguities) => {
    const { registry } = await world();
    const input = {
      trusted_issuer_id: CLUSTER.id,
      client_id: CLIENT.id,
      subject: SUBJECT,
      token_claims: { runner_id: template },
    };
    expect(value(await registry.addWorkloadBinding(input, ORIGIN)).warnings).toEqual(
      ambiguities.map((ambiguity) => `token_claims.runner_id can be the same for two workloads: ${ambiguity}`),
    );
  });
});

describe('rows of the declarative file', () => {
  const fileClient = { ...CLIENT, managedBy: 'file' as const };
  const fileIssuer = { ...CLUSTER, managedBy: 'file' as const };
  const rows = { clients: [fileClient], issuers: [fileIssuer], bindings: [{ ...BINDING, managedBy: 'file' as const }] };

  it.each<[string, (registry: World['registry']) => Promise<unknown>]>([
    ['update a client', (r) => r.updateClient({ id: CLIENT.id, name: 'x' }, ORIGIN)],
    ['delete a client', (r) => r.deleteClient(CLIENT.id, ORIGIN)],
    ['rotate a secret', (r) => r.rotateClientSecret(CLIENT.id, ORIGIN)],
    ['update an issuer', (r) => r.updateTrustedIssuer({ id: CLUSTER.id, is_active: false }, ORIGIN)],
    ['delete an issuer', (r) => r.deleteTrustedIssuer(CLUSTER.id, ORIGIN)],
    [
      'bind another subject',
      (r) => r.addWorkloadBinding({ trusted_issuer_id: CLUSTER.id, client_id: CLIENT.id, subject: SUBJECT }, ORIGIN),
    ],
    ['update a binding', (r) => r.updateWorkloadBinding({ id: BINDING.id, claims: {} }, ORIGIN)],
    ['delete a binding', (r) => r.deleteWorkloadBinding(BINDING.id, ORIGIN)],
    [
      'reach a client through an issuer of the API',
      (r) => r.addTrustedIssuer({ ...ISSUER, service_account_id: CLIENT.id }, ORIGIN),
    ],
  ])('are not for the API: it can not %s', async (_title, write) => {
    const { registry, auditLog } = await world(rows);
    expect(await write(registry)).toMatchObject({ ok: false, error: { code: 'managed_by_file' } });
    expect(auditLog.records).toMatchObject([{ outcome: 'failed', reason: 'managed_by_file' }]);
  });

  it('keep their names to themselves', async () => {
    const { registry, auditLog } = await world(rows);
    expect(await registry.addTrustedIssuer({ ...ISSUER, name: CLUSTER.name }, ORIGIN)).toMatchObject({
      ok: false,
      error: { code: 'conflict', problems: [{ path: ['name'], message: expect.stringContaining('declarative file') }] },
    });
    expect(auditLog.records).toMatchObject([{ outcome: 'failed', reason: 'conflict' }]);
  });
});
