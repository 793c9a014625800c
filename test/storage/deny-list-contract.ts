/** The contract of the deny list. */
import { beforeEach, describe, expect, it } from 'vitest';
import { DENIED_MEMBERS, type DenyListEntry } from '../../src/assertion/deny-list.ts';
import { CLUSTER, DENIAL, PROVIDER } from '../fixtures/rows.ts';
import { NOW } from '../fixtures/settable-clock.ts';
import type { CurrentStores } from './conformance.ts';

const WRITTEN = { written: true };
const PAGE = { limit: 10, offset: 0 };
const NODE = [{ member: 'node_name', value: 'node-1' }] as const;

export function denyListContract(stores: CurrentStores): void {
  describe('keep the deny list and', () => {
    beforeEach(async () => {
      for (const issuer of [CLUSTER, PROVIDER]) await stores().registryStore.insertTrustedIssuer(issuer, []);
    });

    it.each<[string, Partial<DenyListEntry>]>([
      ...DENIED_MEMBERS.map((member): [string, Partial<DenyListEntry>] => [`one that names a ${member}`, { member }]),
      ['one with an end', { expiresAt: NOW + 1 }],
      ['one of the file', { managedBy: 'file' }],
      ['one with letters of all kinds', { value: '"e\u0301" \\ %_* 🜁', reason: "it's \u00e9 🜁" }],
    ])('give back exactly %s', async (_name, changes) => {
      const entry = { ...DENIAL, ...changes };
      const { registryStore, denyList } = stores();
      expect(await registryStore.insertDenyListEntry(entry)).toEqual(WRITTEN);
      expect(await registryStore.findDenyListEntry(entry.id)).toEqual(entry);
      expect(await denyList.find(CLUSTER.id, [entry])).toEqual([entry]);
    });

    it.each<[string, string, readonly Pick<DenyListEntry, 'member' | 'value'>[]]>([
      ['another issuer', PROVIDER.id, NODE],
      ['another member of the same value', CLUSTER.id, [{ member: 'subject', value: 'node-1' }]],
      ['another value', CLUSTER.id, [{ member: 'node_name', value: 'node-10' }]],
      ['another case', CLUSTER.id, [{ member: 'node_name', value: 'NODE-1' }]],
      ['a pattern', CLUSTER.id, [{ member: 'node_name', value: 'node%' }]],
      ['no member at all', CLUSTER.id, []],
    ])('find nothing for %s', async (_name, issuerId, members) => {
      await stores().registryStore.insertDenyListEntry(DENIAL);
      expect(await stores().denyList.find(issuerId, members)).toEqual([]);
    });

    it('tell a lone surrogate from what it would be stored as', async () => {
      await stores().registryStore.insertDenyListEntry({ ...DENIAL, member: 'subject', value: '\ufffd' });
      expect(await stores().denyList.find(CLUSTER.id, [{ member: 'subject', value: '\ud800' }])).toEqual([]);
    });

    it('find what names any of the members, expired or not, among thousands', async () => {
      const { registryStore, denyList } = stores();
      for (let number = 0; number < 2000; number += 1) {
        await registryStore.insertDenyListEntry({
          ...DENIAL,
          id: `pod-${number}`,
          member: 'pod_uid',
          value: `${number}`,
        });
      }
      const ofFile = { ...DENIAL, id: 'of-file', managedBy: 'file' as const, expiresAt: NOW - 1 };
      for (const entry of [DENIAL, ofFile]) await registryStore.insertDenyListEntry(entry);
      const found = await denyList.find(CLUSTER.id, [...NODE, { member: 'pod_uid', value: '1999' }]);
      expect(found.map(({ id }) => id).toSorted()).toEqual([DENIAL.id, 'of-file', 'pod-1999'].toSorted());
    });

    it('name one thing once for each side, and tell whose entry it is', async () => {
      const { registryStore } = stores();
      const ofFile = { ...DENIAL, id: 'of-file', managedBy: 'file' as const };
      expect(await registryStore.insertDenyListEntry(DENIAL)).toEqual(WRITTEN);
      expect(await registryStore.findDenyListEntryOf(DENIAL, 'file')).toBeNull();
      expect(await registryStore.insertDenyListEntry(ofFile)).toEqual(WRITTEN);
      expect(await registryStore.findDenyListEntryOf(DENIAL, 'file')).toEqual(ofFile);
      expect(await registryStore.findDenyListEntryOf(DENIAL, 'api')).toEqual(DENIAL);
      const conflict = { written: false, conflict: 'deny_list_entry' };
      expect(await registryStore.insertDenyListEntry({ ...DENIAL, id: 'again' })).toEqual(conflict);
      expect(await registryStore.updateDenyListEntry({ ...ofFile, managedBy: 'api' })).toEqual(conflict);
      expect(await registryStore.findDenyListEntry('of-file')).toEqual(ofFile);
    });

    it('change and delete an entry, seen by the next look-up', async () => {
      const { registryStore, denyList } = stores();
      expect(await denyList.find(CLUSTER.id, NODE)).toEqual([]);
      await registryStore.insertDenyListEntry(DENIAL);
      expect(await denyList.find(CLUSTER.id, NODE)).toEqual([DENIAL]);
      const changed = { ...DENIAL, reason: 'found again', expiresAt: NOW + 60, updatedAt: NOW };
      expect(await registryStore.updateDenyListEntry(changed)).toEqual(WRITTEN);
      expect(await denyList.find(CLUSTER.id, NODE)).toEqual([changed]);
      expect(await registryStore.deleteDenyListEntry(DENIAL.id)).toBe(true);
      expect(await registryStore.deleteDenyListEntry(DENIAL.id)).toBe(false);
      expect(await denyList.find(CLUSTER.id, NODE)).toEqual([]);
      await expect(registryStore.updateDenyListEntry(DENIAL)).rejects.toThrow('deleted meanwhile');
    });

    it('delete an issuer with its entries', async () => {
      const { registryStore, denyList } = stores();
      await registryStore.insertDenyListEntry(DENIAL);
      await registryStore.deleteTrustedIssuer(CLUSTER.id);
      expect(await registryStore.findDenyListEntry(DENIAL.id)).toBeNull();
      await registryStore.insertTrustedIssuer(CLUSTER, []);
      expect(await denyList.find(CLUSTER.id, NODE)).toEqual([]);
    });

    it('throw, rather than name a conflict, for an issuer that does not exist', async () => {
      const orphan = { ...DENIAL, trustedIssuerId: 'none' };
      await expect(stores().registryStore.insertDenyListEntry(orphan)).rejects.toThrow();
    });

    it('list entries by creation and then id, of one issuer or of all', async () => {
      const { registryStore } = stores();
      const rows = [
        { ...DENIAL, id: 'd1', createdAt: 1 },
        { ...DENIAL, id: 'd0', createdAt: 2, value: 'node-2' },
        { ...DENIAL, id: 'd2', createdAt: 2, trustedIssuerId: PROVIDER.id },
        { ...DENIAL, id: 'd3', createdAt: 0, trustedIssuerId: PROVIDER.id, value: 'node-2' },
      ];
      for (const row of rows) await registryStore.insertDenyListEntry(row);
      const list = async (filter: Parameters<typeof registryStore.listDenyListEntries>[1], page = PAGE) => {
        const found = await registryStore.listDenyListEntries(page, filter);
        return [found.total, ...found.rows.map(({ id }) => id)];
      };
      expect(await list({})).toEqual([4, 'd3', 'd1', 'd0', 'd2']);
      expect(await list({}, { limit: 2, offset: 1 })).toEqual([4, 'd1', 'd0']);
      expect(await list({ trustedIssuerId: PROVIDER.id })).toEqual([2, 'd3', 'd2']);
      expect(await list({ trustedIssuerId: 'none' })).toEqual([0]);
    });
  });
}
