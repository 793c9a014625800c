/** The contract of the audit log. */
import { describe, expect, it } from 'vitest';
import type { AuditEntry, AuditFilter } from '../../src/observe/audit-log.ts';
import { NOW } from '../fixtures/settable-clock.ts';
import type { CurrentStores } from './conformance.ts';

const ENTRY: AuditEntry = {
  createdAt: NOW,
  requestId: 'request-1',
  action: 'token.requested',
  outcome: 'refused',
  reason: 'aud_mismatch',
  actorType: 'workload',
  actorId: 'edge-worker',
  resourceType: null,
  resourceId: null,
  trustedIssuerId: 'issuer-1',
  subject: 'system:serviceaccount:a:b',
  clientId: 'edge-worker',
  ipAddress: '10.0.0.7',
  userAgent: 'node',
  evidence: { jti: 'j,"1', presented: ['a', 'b'], exp: NOW, nested: { deep: [null, true, 1.5] } },
};
const NEWEST = { limit: 10, offset: 0 };

export function auditContract(stores: CurrentStores): void {
  const append = async (...changes: Partial<AuditEntry>[]) => {
    for (const change of changes) await stores().auditLog.append({ ...ENTRY, ...change });
  };
  const requestIds = async (filter: AuditFilter, page: Parameters<ReturnType<CurrentStores>['auditLog']['list']>[1]) =>
    (await stores().auditLog.list(filter, page)).rows.map(({ requestId }) => requestId);

  describe('keep the audit log and', () => {
    it.each<[string, Partial<AuditEntry>]>([
      ['as it is', {}],
      ['nothing known', { reason: null, actorId: null, trustedIssuerId: null, subject: null, clientId: null }],
      ['nobody there', { ipAddress: null, userAgent: null, evidence: {} }],
      ['an admin write', { outcome: 'changed', actorType: 'admin', resourceType: 'client', resourceId: 'c' }],
      ['no decision', { outcome: 'unavailable', actorType: 'system' }],
    ])('give a record back exactly: %s', async (_, change) => {
      await append(change);
      const { rows, total } = await stores().auditLog.list({}, NEWEST);
      expect(rows).toEqual([{ ...ENTRY, ...change, id: expect.stringMatching(/^\d+$/) }]);
      expect(total).toBe(1);
    });

    it.each<[keyof AuditFilter, AuditFilter, Partial<AuditEntry>]>([
      ['action', { action: 'client.created' }, { action: 'client.created' }],
      ['outcome', { outcome: 'accepted' }, { outcome: 'accepted' }],
      ['reason', { reason: 'replayed' }, { reason: 'replayed' }],
      ['clientId', { clientId: 'c' }, { clientId: 'c' }],
      ['trustedIssuerId', { trustedIssuerId: 'i' }, { trustedIssuerId: 'i' }],
      ['subject', { subject: 's' }, { subject: 's' }],
      ['requestId', { requestId: 'match' }, {}],
      ['resourceType', { resourceType: 'client' }, { resourceType: 'client' }],
      ['resourceId', { resourceId: 'row' }, { resourceId: 'row' }],
      ['actorId', { actorId: 'admin' }, { actorId: 'admin' }],
      ['fromTimestamp', { fromTimestamp: NOW + 10 }, { createdAt: NOW + 10 }],
      ['toTimestamp', { toTimestamp: NOW - 10 }, { createdAt: NOW - 10 }],
    ])('filter by %s', async (_, filter, matching) => {
      await append({}, { ...matching, requestId: 'match' }, { reason: null, subject: null, clientId: null });
      expect(await requestIds(filter, NEWEST)).toEqual(['match']);
      expect((await stores().auditLog.list(filter, NEWEST)).total).toBe(1);
    });

    it('filter by everything that is given', async () => {
      await append({ requestId: '1' }, { requestId: '2', outcome: 'accepted' }, { requestId: '3', clientId: 'c' });
      const filter = { outcome: 'refused', clientId: 'edge-worker', fromTimestamp: NOW, toTimestamp: NOW } as const;
      expect(await requestIds(filter, NEWEST)).toEqual(['1']);
    });

    it('list the newest first, by order of arrival and not by clock', async () => {
      await append({ requestId: '1', createdAt: NOW + 9 }, { requestId: '2', createdAt: NOW - 9 }, { requestId: '3' });
      expect(await requestIds({}, NEWEST)).toEqual(['3', '2', '1']);
      expect(await requestIds({}, { limit: 1, offset: 1 })).toEqual(['2']);
    });

    it('page by a cursor that new records do not move', async () => {
      await append(...Array.from({ length: 6 }, (_, index) => ({ requestId: `old-${index}` })));
      const first = await stores().auditLog.list({}, { limit: 2, offset: 0 });
      await append({ requestId: 'new' });
      const second = await stores().auditLog.list({}, { limit: 2, offset: 0, beforeId: first.rows[1]?.id ?? '' });
      await append({ requestId: 'newer' });
      const third = await stores().auditLog.list({}, { limit: 9, offset: 0, beforeId: second.rows[1]?.id ?? '' });
      const seen = [first, second, third].flatMap(({ rows }) => rows.map(({ requestId }) => requestId));
      expect(seen).toEqual(['old-5', 'old-4', 'old-3', 'old-2', 'old-1', 'old-0']);
      expect([first.total, second.total, third.total]).toEqual([6, 7, 8]);
    });

    it.each(['', 'x', '0', '-1', '1.5', '1 or 1=1', '9'.repeat(40)])(
      'list nothing behind a foreign cursor: %j',
      async (id) => {
        await append({});
        expect(await requestIds({}, { ...NEWEST, beforeId: id })).toEqual([]);
      },
    );

    it('keep every one of many records that arrive at once, each with an id of its own', async () => {
      await Promise.all(Array.from({ length: 700 }, (_, index) => append({ requestId: `r${index}` })));
      const { rows, total } = await stores().auditLog.list({}, { limit: 1000, offset: 0 });
      expect(total).toBe(700);
      expect(new Set(rows.map(({ id }) => id)).size).toBe(700);
      expect(new Set(rows.map(({ requestId }) => requestId)).size).toBe(700);
    });

    it('fail a record that cannot be written as JSON, and none of its neighbours', async () => {
      const circular: Record<string, unknown> = {};
      circular.self = circular;
      const outcomes = await Promise.allSettled([append({}), append({ evidence: circular }), append({})]);
      expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
      expect((await stores().auditLog.list({}, NEWEST)).total).toBe(2);
    });
  });
}
