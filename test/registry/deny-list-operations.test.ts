import { describe, expect, it } from 'vitest';
import { createRegistry } from '../../src/registry/registry.ts';
import type { RegistryStore } from '../../src/registry/registry-store.ts';
import { memoryAuditLog } from '../fixtures/memory-audit-log.ts';
import { CLUSTER, DENIAL, PROVIDER } from '../fixtures/rows.ts';
import { NOW, settableClock } from '../fixtures/settable-clock.ts';
import { type StoredRows, sqliteStores } from '../fixtures/sqlite-stores.ts';

const ORIGIN = { requestId: 'request-1', ipAddress: '192.0.2.1', userAgent: 'test' };
const INPUT = { trusted_issuer_id: CLUSTER.id, node_name: 'node-1', reason: 'stolen' };
const FIELDS = {
  trusted_issuer_id: CLUSTER.id,
  subject: null,
  node_name: 'node-1',
  pod_uid: null,
  service_account_uid: null,
  reason: 'stolen',
  expires_at: null,
};

async function world(rows: StoredRows = { issuers: [CLUSTER, PROVIDER] }, overrides: Partial<RegistryStore> = {}) {
  const clock = settableClock();
  const auditLog = memoryAuditLog();
  const store: RegistryStore = { ...(await sqliteStores(rows, clock)).registryStore, ...overrides };
  const registry = createRegistry({ store, auditLog, clock, ownIssuer: 'https://as.example.com' });
  return { registry, store, clock, auditLog };
}

type World = Awaited<ReturnType<typeof world>>;

/** The value of an outcome that must be good. */
function value<T>(result: { ok: true; value: T } | { ok: false; error: unknown }): T {
  if (!result.ok) throw new Error(`refused: ${JSON.stringify(result.error)}`);
  return result.value;
}

describe('deny list entries', () => {
  it('are stored as written, with a record and a warning', async () => {
    const { registry, auditLog } = await world();
    const { entry, warnings } = value(await registry.addDenyListEntry(INPUT, ORIGIN));
    expect(entry).toEqual({
      ...DENIAL,
      id: entry.id,
      reason: 'stolen',
      managedBy: 'api',
      createdAt: NOW,
      updatedAt: NOW,
    });
    expect(await registry.findDenyListEntry(entry.id)).toEqual(entry);
    expect(warnings).toEqual([expect.stringContaining('tokens that name no node are not cut')]);
    expect(auditLog.records).toMatchObject([
      {
        action: 'deny_list_entry.created',
        outcome: 'changed',
        actorId: 'admin',
        resourceType: 'deny_list_entry',
        resourceId: entry.id,
        trustedIssuerId: CLUSTER.id,
        subject: null,
        evidence: { created: FIELDS, warnings },
      },
    ]);
  });

  it('that name a subject are found in the records by it', async () => {
    const { registry, auditLog } = await world();
    const input = { trusted_issuer_id: PROVIDER.id, subject: 'repo:o/r', reason: 'leaked' };
    expect(value(await registry.addDenyListEntry(input, ORIGIN)).warnings).toEqual([]);
    expect(auditLog.records).toMatchObject([{ subject: 'repo:o/r', trustedIssuerId: PROVIDER.id }]);
  });

  it.each<[string, object, string]>([
    ['an issuer that is not there', { trusted_issuer_id: 'nobody' }, 'trusted_issuer_id'],
    ['a node of an issuer that is no cluster', { trusted_issuer_id: PROVIDER.id }, 'node_name'],
    ['a subject that can not exist', { node_name: null, subject: 'repo:o/r' }, 'subject'],
    ['an end that is past', { expires_at: NOW }, 'expires_at'],
    ['a node that can not exist', { node_name: 'a_b' }, 'node_name'],
  ])('are refused with %s', async (_title, changes, path) => {
    const { registry, auditLog } = await world();
    expect(await registry.addDenyListEntry({ ...INPUT, ...changes }, ORIGIN)).toMatchObject({
      ok: false,
      error: { code: 'invalid_input', problems: [{ path: [path] }] },
    });
    expect(auditLog.records).toMatchObject([
      { action: 'deny_list_entry.created', outcome: 'failed', reason: 'invalid_input' },
    ]);
  });

  it('exist once for an issuer, a member and a value: the conflict names the one that is there', async () => {
    const { registry, clock } = await world();
    const { entry } = value(await registry.addDenyListEntry({ ...INPUT, expires_at: NOW + 10 }, ORIGIN));
    const conflict = (end: string) => ({
      ok: false,
      error: {
        code: 'conflict',
        problems: [
          {
            path: ['node_name'],
            message: `is on the deny list of this issuer already (entry ${entry.id}, ${end}): update that entry`,
          },
        ],
      },
    });
    expect(await registry.addDenyListEntry(INPUT, ORIGIN)).toEqual(conflict(`until ${NOW + 10}`));
    // One that is over is in the way as well.
    clock.advance(11);
    expect(await registry.addDenyListEntry(INPUT, ORIGIN)).toEqual(conflict(`until ${NOW + 10}`));
    value(await registry.updateDenyListEntry({ id: entry.id, expires_at: 0 }, ORIGIN));
    expect(await registry.addDenyListEntry(INPUT, ORIGIN)).toEqual(conflict('without an end'));
    value(await registry.addDenyListEntry({ ...INPUT, node_name: 'node-2' }, ORIGIN));
  });

  it('are refused by the index when another process was faster', async () => {
    const { registry } = await world(
      { issuers: [CLUSTER], denied: [DENIAL] },
      { findDenyListEntryOf: async () => null },
    );
    expect(await registry.addDenyListEntry(INPUT, ORIGIN)).toMatchObject({ ok: false, error: { code: 'conflict' } });
  });

  it('change in reason and end, and in nothing else', async () => {
    const { registry, clock, auditLog } = await world({ issuers: [CLUSTER], denied: [DENIAL] });
    clock.advance(5);
    const { entry } = value(
      await registry.updateDenyListEntry({ id: DENIAL.id, reason: 'found again', expires_at: NOW + 60 }, ORIGIN),
    );
    expect(entry).toEqual({ ...DENIAL, reason: 'found again', expiresAt: NOW + 60, updatedAt: NOW + 5 });
    expect(auditLog.records).toMatchObject([
      {
        action: 'deny_list_entry.updated',
        outcome: 'changed',
        resourceId: DENIAL.id,
        evidence: {
          changed: {
            reason: { from: DENIAL.reason, to: 'found again' },
            expires_at: { from: null, to: NOW + 60 },
          },
        },
      },
    ]);
    expect(value(await registry.updateDenyListEntry({ id: DENIAL.id, reason: 'found again' }, ORIGIN)).entry).toEqual(
      entry,
    );
    expect(auditLog.records).toHaveLength(1);
  });

  it('take new words when they are over, but no end that is past', async () => {
    const over = { ...DENIAL, expiresAt: NOW - 10 };
    const { registry } = await world({ issuers: [CLUSTER], denied: [over] });
    const { entry } = value(await registry.updateDenyListEntry({ id: over.id, reason: 'repaired' }, ORIGIN));
    expect(entry).toMatchObject({ reason: 'repaired', expiresAt: NOW - 10 });
    expect(await registry.updateDenyListEntry({ id: over.id, expires_at: NOW }, ORIGIN)).toMatchObject({
      ok: false,
      error: { code: 'invalid_input', problems: [{ path: ['expires_at'] }] },
    });
  });

  it('are deleted, with what they said in the record', async () => {
    const { registry, auditLog } = await world({ issuers: [CLUSTER], denied: [DENIAL] });
    expect(value(await registry.deleteDenyListEntry(DENIAL.id, ORIGIN))).toEqual(DENIAL);
    expect(await registry.findDenyListEntry(DENIAL.id)).toBeNull();
    expect(auditLog.records).toMatchObject([
      {
        action: 'deny_list_entry.deleted',
        resourceId: DENIAL.id,
        evidence: { deleted: { ...FIELDS, reason: DENIAL.reason } },
      },
    ]);
  });

  it.each<[string, (registry: World['registry']) => Promise<unknown>, object]>([
    ['an update', (r) => r.updateDenyListEntry({ id: 'x' }, ORIGIN), { action: 'deny_list_entry.updated' }],
    ['a deletion', (r) => r.deleteDenyListEntry('x', ORIGIN), { action: 'deny_list_entry.deleted' }],
  ])('that are not there refuse %s', async (_title, write, record) => {
    const { registry, auditLog } = await world();
    expect(await write(registry)).toEqual({
      ok: false,
      error: { code: 'not_found', resourceType: 'deny_list_entry', id: 'x' },
    });
    expect(auditLog.records).toMatchObject([{ ...record, outcome: 'failed', reason: 'not_found', resourceId: 'x' }]);
  });
});

describe('entries of the declarative file', () => {
  const ofFile = { ...DENIAL, managedBy: 'file' as const };
  const rows = { issuers: [{ ...CLUSTER, managedBy: 'file' as const }], denied: [ofFile] };

  it.each<[string, (registry: World['registry']) => Promise<unknown>]>([
    ['update one', (r) => r.updateDenyListEntry({ id: ofFile.id, expires_at: NOW + 1 }, ORIGIN)],
    ['delete one', (r) => r.deleteDenyListEntry(ofFile.id, ORIGIN)],
  ])('are not for the API: it can not %s', async (_title, write) => {
    const { registry, auditLog } = await world(rows);
    expect(await write(registry)).toEqual({
      ok: false,
      error: { code: 'managed_by_file', resourceType: 'deny_list_entry', id: ofFile.id },
    });
    expect(await registry.findDenyListEntry(ofFile.id)).toEqual(ofFile);
    expect(auditLog.records).toMatchObject([{ outcome: 'failed', reason: 'managed_by_file' }]);
  });

  it('do not keep the API from cutting more, or the same once more, of an issuer of the file', async () => {
    const { registry } = await world(rows);
    for (const node_name of ['node-2', 'node-1']) {
      const { entry } = value(await registry.addDenyListEntry({ ...INPUT, node_name }, ORIGIN));
      expect(entry.managedBy).toBe('api');
    }
    const { total } = await registry.listDenyListEntries({ limit: 10, offset: 0 }, { trustedIssuerId: CLUSTER.id });
    expect(total).toBe(3);
  });
});
