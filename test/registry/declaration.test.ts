/** A declaration against the rows that are there: what becomes of each, over a real database. */
import { describe, expect, it } from 'vitest';
import type { DenyListEntry } from '../../src/assertion/deny-list.ts';
import type { Client } from '../../src/issuance/client.ts';
import type { Declaration, Place } from '../../src/registry/declaration.ts';
import { createRegistry } from '../../src/registry/registry.ts';
import { trustedIssuerFieldsOf } from '../../src/registry/trusted-issuer-input.ts';
import { TEST_CA_PEM } from '../fixtures/issuer-server.ts';
import { P256, publicJwk } from '../fixtures/keys.ts';
import { memoryAuditLog } from '../fixtures/memory-audit-log.ts';
import { CLIENT, CLUSTER } from '../fixtures/rows.ts';
import { settableClock } from '../fixtures/settable-clock.ts';
import { type StoredRows, sqliteStores } from '../fixtures/sqlite-stores.ts';

const ORIGIN = { requestId: 'reading-1', file: 'fleet.yaml' };
const PLACE: Place = { document: 0, path: [] };
const SUBJECT = 'system:serviceaccount:edge:worker';
const URL = 'https://a.example.com';

async function world(rows: StoredRows = {}) {
  const clock = settableClock();
  const auditLog = memoryAuditLog();
  const { registryStore: store } = await sqliteStores(rows, clock);
  return {
    registry: createRegistry({ store, auditLog, clock, ownIssuer: 'https://as.example.com' }),
    store,
    clock,
    auditLog,
  };
}

const client = (clientId: string, changes: Partial<Client> = {}) => {
  const { id: _id, managedBy: _by, createdAt: _at, updatedAt: _then, ...fields } = { ...CLIENT, clientId, ...changes };
  return { place: PLACE, fields };
};
const issuer = (name: string, issuerUrl: string, changes: Partial<typeof CLUSTER> = {}) => {
  const row = { ...CLUSTER, name, issuerUrl, ...changes };
  const {
    id: _id,
    managedBy: _by,
    keySourceRevision: _r,
    keySourceUpdatedAt: _u,
    createdAt: _at,
    updatedAt: _then,
    ...fields
  } = row;
  return { place: PLACE, fields };
};
const binding = (trustedIssuer: string, clientId: string, subject = SUBJECT, changes: object = {}) => ({
  place: PLACE,
  clientPlace: PLACE,
  trustedIssuer,
  client: clientId,
  subject,
  claims: {},
  tokenClaims: {},
  isActive: true,
  ...changes,
});
const denial = (trustedIssuer: string, value: string, changes: Partial<DenyListEntry> = {}) => ({
  place: PLACE,
  trustedIssuer,
  member: 'node_name' as const,
  value,
  reason: 'stolen',
  expiresAt: null,
  ...changes,
});

function declaration(parts: Partial<Declaration> = {}): Declaration {
  const { clients = [], trustedIssuers = [] } = parts;
  return {
    workloadBindings: [],
    denyList: [],
    problems: [],
    named: {
      clients: new Set(clients.map(({ fields }) => fields.clientId)),
      trustedIssuers: new Set(trustedIssuers.map(({ fields }) => fields.name)),
    },
    ...parts,
    clients,
    trustedIssuers,
  };
}

const FLEET = declaration({
  clients: [client('worker')],
  trustedIssuers: [issuer('a', URL)],
  workloadBindings: [binding('a', 'worker')],
  denyList: [denial('a', 'node-9')],
});

type World = Awaited<ReturnType<typeof world>>;

/** Applies a declaration that must be good; `verb type name` of each change, and the rows there are. */
async function apply({ registry, store }: World, declared: Declaration) {
  const applied = await registry.applyDeclaration(declared, ORIGIN);
  if (!applied.ok) throw new Error(JSON.stringify(applied.error));
  const changes = applied.value.map(
    (difference) => `${difference.verb} ${difference.resource_type} ${difference.name}`,
  );
  return { changes, rows: await store.readRows() };
}

async function messagesOf({ registry }: World, declared: Declaration): Promise<readonly string[]> {
  const applied = await registry.applyDeclaration(declared, ORIGIN);
  return applied.ok ? [] : applied.error.map(({ message }) => message);
}

describe('a declaration', () => {
  it('makes its rows, marked as those of the file', async () => {
    const here = await world();
    const { changes, rows } = await apply(here, FLEET);
    expect(changes).toEqual([
      'created client worker',
      'created trusted_issuer a',
      `created workload_binding ${SUBJECT}`,
      'created deny_list_entry node_name node-9',
    ]);
    const [a] = rows.trustedIssuers;
    expect(rows).toMatchObject({
      clients: [{ clientId: 'worker', managedBy: 'file', createdAt: here.clock() }],
      trustedIssuers: [{ name: 'a', issuerUrl: URL, managedBy: 'file', keySourceRevision: 1 }],
      workloadBindings: [
        { trustedIssuerId: a?.id, clientRowId: rows.clients[0]?.id, subject: SUBJECT, managedBy: 'file' },
      ],
      denyList: [{ trustedIssuerId: a?.id, member: 'node_name', value: 'node-9', managedBy: 'file' }],
    });
  });

  it('changes, writes and records nothing when it is in force already', async () => {
    const here = await world();
    const before = await apply(here, FLEET);
    here.clock.advance(60);
    const records = here.auditLog.records.length;
    expect(await apply(here, FLEET)).toEqual({ changes: [], rows: before.rows });
    expect(here.auditLog.records).toHaveLength(records);
  });

  it('takes away what it no longer has', async () => {
    const here = await world();
    await apply(here, FLEET);
    const { changes, rows } = await apply(here, declaration());
    expect(changes.toSorted()).toEqual([
      'deleted client worker',
      'deleted deny_list_entry node_name node-9',
      'deleted trusted_issuer a',
      `deleted workload_binding ${SUBJECT}`,
    ]);
    expect(rows).toEqual({ clients: [], trustedIssuers: [], workloadBindings: [], denyList: [] });
  });

  it('keeps a row that it changes, with the ids that bindings, denials and audit records mean', async () => {
    const here = await world();
    const before = (await apply(here, FLEET)).rows;
    here.clock.advance(60);
    const { changes, rows } = await apply(here, {
      ...FLEET,
      clients: [client('worker', { accessTokenTtlSeconds: 60 })],
      trustedIssuers: [issuer('a', URL, { requireNode: true })],
      workloadBindings: [binding('a', 'worker', SUBJECT, { claims: { x: 1 } })],
      denyList: [denial('a', 'node-9', { reason: 'sold' })],
    });
    expect(changes).toEqual([
      'updated client worker',
      'updated trusted_issuer a',
      `updated workload_binding ${SUBJECT}`,
      'updated deny_list_entry node_name node-9',
    ]);
    const ids = (of: typeof rows) => Object.values(of).map((list) => list.map(({ id }) => id));
    expect(ids(rows)).toEqual(ids(before));
    expect(rows.trustedIssuers).toMatchObject([{ requireNode: true, keySourceRevision: 1, updatedAt: here.clock() }]);
  });

  it.each([
    [
      'the address of the keys',
      { keySourceType: 'static_jwks_url' as const, jwks: null, jwksUrl: 'https://keys.example.com' },
    ],
    ['the certificates', { caPem: TEST_CA_PEM }],
    ['the issuer', { issuerUrl: 'https://new.example.com' }],
    ['an additional issuer', { additionalIssuerUrls: ['https://new.example.com'] }],
  ])('drops the keys of an issuer when it changes %s', async (_title, change) => {
    const here = await world();
    await apply(here, FLEET);
    here.clock.advance(60);
    const { rows } = await apply(here, { ...FLEET, trustedIssuers: [issuer('a', URL, change)] });
    expect(rows.trustedIssuers).toMatchObject([{ keySourceRevision: 2, keySourceUpdatedAt: here.clock() }]);
  });

  it('may give an issuer another name', async () => {
    const here = await world();
    const before = (await apply(here, FLEET)).rows;
    const renamed = declaration({
      clients: FLEET.clients,
      trustedIssuers: [issuer('b', URL)],
      workloadBindings: [binding('b', 'worker')],
      denyList: [denial('b', 'node-9')],
    });
    const { changes, rows } = await apply(here, renamed);
    expect(changes).toEqual(['updated trusted_issuer b']);
    expect(rows.trustedIssuers).toMatchObject([{ id: before.trustedIssuers[0]?.id, name: 'b' }]);
  });

  it.each<[string, ReturnType<typeof issuer>[]]>([
    ['exchange their strings', [issuer('a', 'https://b.example.com'), issuer('b', URL)]],
    ['hand a string on', [issuer('a', 'https://b.example.com'), issuer('b', 'https://c.example.com')]],
    [
      'exchange main and additional strings',
      [issuer('a', 'https://b.example.com', { additionalIssuerUrls: [URL] }), issuer('b', 'https://c.example.com')],
    ],
  ])('may have two issuers %s', async (_title, trustedIssuers) => {
    const here = await world();
    await apply(here, declaration({ trustedIssuers: [issuer('a', URL), issuer('b', 'https://b.example.com')] }));
    const { rows } = await apply(here, declaration({ trustedIssuers }));
    const stringsOf = (list: readonly { name: string; issuerUrl: string; additionalIssuerUrls: readonly string[] }[]) =>
      list.map(({ name, issuerUrl, additionalIssuerUrls }) => [name, issuerUrl, additionalIssuerUrls]).toSorted();
    expect(stringsOf(rows.trustedIssuers)).toEqual(stringsOf(trustedIssuers.map(({ fields }) => fields)));
    const urls = await here.store.listIssuerUrls();
    expect(urls.map(({ url }) => url).toSorted()).toEqual(
      trustedIssuers.flatMap(({ fields }) => [fields.issuerUrl, ...fields.additionalIssuerUrls]).toSorted(),
    );
  });

  it('records the difference, a hundred rows to a record, under one request id', async () => {
    const here = await world();
    await apply(here, FLEET);
    const many = Array.from({ length: 250 }, (_, n) => binding('a', 'worker', `${SUBJECT}-${n}`));
    here.auditLog.records.length = 0;
    await apply(here, { ...FLEET, clients: [client('worker', { name: 'renamed' })], workloadBindings: many });
    expect(here.auditLog.records).toHaveLength(3);
    expect(here.auditLog.records[0]).toMatchObject({
      action: 'declarative_file.applied',
      outcome: 'changed',
      reason: null,
      requestId: 'reading-1',
      actorType: 'system',
      actorId: 'declarative_file',
      resourceType: 'declarative_file',
      resourceId: 'fleet.yaml',
      evidence: {
        part: 1,
        parts: 3,
        changes: expect.arrayContaining([
          expect.objectContaining({
            resource_type: 'client',
            verb: 'updated',
            name: 'worker',
            fields: { name: { from: CLIENT.name, to: 'renamed' } },
          }),
        ]),
      },
    });
    const changes = here.auditLog.records.flatMap(({ evidence }) => evidence.changes);
    expect(changes).toHaveLength(252);
  });

  it('shows a key set by the names of its keys, and certificates by their fingerprint', async () => {
    const here = await world();
    await apply(here, declaration({ trustedIssuers: [issuer('a', URL)] }));
    const [record] = here.auditLog.records;
    expect(JSON.stringify(record)).toContain('"kids"');
    expect(JSON.stringify(record)).not.toContain('"n":');
  });
});

describe('rows of the admin API', () => {
  const API_ROWS = { clients: [CLIENT], issuers: [CLUSTER] };

  it('are not touched', async () => {
    const here = await world(API_ROWS);
    const { changes, rows } = await apply(here, declaration());
    expect(changes).toEqual([]);
    expect(rows).toMatchObject({ clients: [CLIENT], trustedIssuers: [CLUSTER] });
  });

  it('may be bound: a declared issuer leads to a client of the API, which then stays', async () => {
    const here = await world(API_ROWS);
    await apply(
      here,
      declaration({ trustedIssuers: [issuer('a', URL)], workloadBindings: [binding('a', CLIENT.clientId)] }),
    );
    const origin = { requestId: 'r', ipAddress: null, userAgent: null };
    expect(await here.registry.deleteClient(CLIENT.id, origin)).toMatchObject({
      ok: false,
      error: { code: 'managed_by_file', resourceType: 'workload_binding' },
    });
    await apply(here, declaration());
    expect(await here.registry.deleteClient(CLIENT.id, origin)).toMatchObject({ ok: true });
  });

  it.each<[string, Partial<Declaration>, string]>([
    [
      'a client_id',
      { clients: [client(CLIENT.clientId)] },
      `client "${CLIENT.clientId}" is kept by the admin API already (id ${CLIENT.id}): delete it there, or leave it out here`,
    ],
    [
      "a client's id",
      { clients: [client(CLIENT.id)] },
      `client "${CLIENT.id}" is kept by the admin API already (id ${CLIENT.id}): delete it there, or leave it out here`,
    ],
    [
      'an issuer',
      { trustedIssuers: [issuer('a', CLUSTER.issuerUrl)] },
      `trusted issuer "${CLUSTER.issuerUrl}" is kept by the admin API already (id ${CLUSTER.id}): delete it there, or leave it out here`,
    ],
    [
      'an issuer with another final slash',
      { trustedIssuers: [issuer('a', `${CLUSTER.issuerUrl}/`)] },
      `trusted issuer "${CLUSTER.issuerUrl}" is kept by the admin API already (id ${CLUSTER.id}): delete it there, or leave it out here`,
    ],
    [
      'the name of an issuer',
      { trustedIssuers: [issuer(CLUSTER.name, URL)] },
      `a trusted issuer named "${CLUSTER.name}" is kept by the admin API already (id ${CLUSTER.id}): delete it there, or leave it out here`,
    ],
    [
      'an issuer as the client_id of a client that signs by itself',
      { clients: [client(CLUSTER.issuerUrl, { jwks: JSON.stringify({ keys: [publicJwk(P256)] }) })] },
      `the client_id "${CLUSTER.issuerUrl}" is also a trusted issuer's string`,
    ],
  ])('clash with %s', async (_title, parts, message) => {
    const here = await world(API_ROWS);
    expect(await messagesOf(here, declaration(parts))).toEqual([message]);
    expect(await here.store.readRows()).toMatchObject({ clients: [CLIENT], trustedIssuers: [CLUSTER] });
  });

  it('of another organization are not bound', async () => {
    const here = await world({ clients: [{ ...CLIENT, organizationId: 'one' }] });
    const parts = {
      trustedIssuers: [issuer('a', URL, { organizationId: 'two' })],
      workloadBindings: [binding('a', CLIENT.clientId)],
    };
    expect(await messagesOf(here, declaration(parts))).toEqual(['is of another organization than the trusted issuer']);
  });
});

describe('all or nothing', () => {
  it('leaves everything as it was when one entry is wrong', async () => {
    const here = await world();
    const before = (await apply(here, FLEET)).rows;
    const wrong = { ...declaration(), workloadBindings: [binding('a', 'nobody')] };
    expect(await messagesOf(here, wrong)).toEqual([
      'no entry of trusted_issuers has the name "a"',
      'no client has the client_id "nobody": add it under clients',
    ]);
    expect(await here.store.readRows()).toEqual(before);
  });

  it('comes to one result when several apply it at once', async () => {
    const here = await world();
    const applied = await Promise.all(Array.from({ length: 4 }, () => here.registry.applyDeclaration(FLEET, ORIGIN)));
    expect(applied.map((one) => one.ok && one.value.length).toSorted()).toEqual([0, 0, 0, 4]);
    expect((await here.store.readRows()).trustedIssuers).toHaveLength(1);
  });

  it('records a refusal with its problems, as they were shown', async () => {
    const here = await world();
    await here.registry.recordRefusedDeclaration(
      Array.from({ length: 30 }, (_, n) => `fleet.yaml:${n}: wrong`),
      ORIGIN,
    );
    expect(here.auditLog.records).toMatchObject([
      {
        action: 'declarative_file.refused',
        outcome: 'failed',
        reason: 'invalid_input',
        evidence: { problems: expect.arrayContaining(['fleet.yaml:0: wrong']), problem_count: 30 },
      },
    ]);
  });
});

it('the rows that tests declare are whole', () => {
  expect(trustedIssuerFieldsOf(issuer('a', URL).fields).issuer_url).toBe(URL);
});
