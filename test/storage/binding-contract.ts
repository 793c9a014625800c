/** The contract of workload bindings. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { WorkloadBinding } from '../../src/assertion/workload-binding.ts';
import { BINDING, CLIENT, CLUSTER, PROVIDER } from '../fixtures/rows.ts';
import { NOW } from '../fixtures/settable-clock.ts';
import type { CurrentStores } from './conformance.ts';

const WRITTEN = { written: true };
const PAGE = { limit: 10, offset: 0 };
const SECOND_CLIENT = { ...CLIENT, id: 'client-row-2', clientId: 'second' };

export function bindingContract(stores: CurrentStores): void {
  describe('keep workload bindings and', () => {
    beforeEach(async () => {
      const { registryStore } = stores();
      for (const client of [CLIENT, SECOND_CLIENT]) await registryStore.insertClient(client, []);
      for (const issuer of [CLUSTER, PROVIDER]) await registryStore.insertTrustedIssuer(issuer, []);
    });

    it.each([
      'system:serviceaccount:a:b',
      'repo:org/repo:environment:prod',
      'spiffe://td.example/ns/a/sa/b',
      'project_path:g/sg/p:ref_type:branch:ref:feat/x',
      'a,b,c',
      '"quoted" \\ and \' and %_*',
      ' space around ',
      'e\u0301',
      '🜁'.repeat(256),
    ])('SUB-02: give a subject back exactly and find it by its bytes alone: %j', async (subject) => {
      const binding = { ...BINDING, subject };
      expect(await stores().registryStore.insertWorkloadBinding(binding)).toEqual(WRITTEN);
      expect(await stores().workloadBindings.findBySubject(CLUSTER.id, subject)).toEqual([binding]);
      for (const other of [`${subject} `, subject.slice(0, -1), `${subject}\0`, subject.normalize('NFC').concat('x')]) {
        expect(await stores().workloadBindings.findBySubject(CLUSTER.id, other)).toEqual([]);
      }
    });

    it.each([
      ['another case', BINDING.subject.toUpperCase()],
      ['a part of a list', `${BINDING.subject},other`],
      ['nothing', ''],
    ])('find nothing for %s', async (_, subject) => {
      await stores().registryStore.insertWorkloadBinding(BINDING);
      expect(await stores().workloadBindings.findBySubject(CLUSTER.id, subject)).toEqual([]);
    });

    it('tell composed from decomposed letters, and a lone surrogate from what it would be stored as', async () => {
      const { registryStore, workloadBindings } = stores();
      await registryStore.insertWorkloadBinding({ ...BINDING, subject: '\u00e9\ufffd' });
      expect(await workloadBindings.findBySubject(CLUSTER.id, 'e\u0301\ufffd')).toEqual([]);
      expect(await workloadBindings.findBySubject(CLUSTER.id, '\u00e9\ud800')).toEqual([]);
    });

    it('keep subjects of different issuers apart', async () => {
      await stores().registryStore.insertWorkloadBinding(BINDING);
      expect(await stores().workloadBindings.findBySubject(PROVIDER.id, BINDING.subject)).toEqual([]);
    });

    it('keep claim conditions with their types, and templates', async () => {
      const binding: WorkloadBinding = {
        ...BINDING,
        claims: { 'kubernetes.io.namespace': 'a,b', flag: true, word: 'true', count: 1, digits: '1' },
        tokenClaims: { runner_id: '{issuer.name}/{kubernetes.node.name}' },
        isActive: false,
      };
      await stores().registryStore.insertWorkloadBinding(binding);
      expect(await stores().registryStore.findWorkloadBinding(binding.id)).toEqual(binding);
    });

    it('let one subject act as several clients, but bind it to each only once', async () => {
      const { registryStore, workloadBindings } = stores();
      const second = { ...BINDING, id: 'binding-2', clientRowId: SECOND_CLIENT.id };
      expect(await registryStore.insertWorkloadBinding(BINDING)).toEqual(WRITTEN);
      expect(await registryStore.insertWorkloadBinding(second)).toEqual(WRITTEN);
      const found = await workloadBindings.findBySubject(CLUSTER.id, BINDING.subject);
      expect(found.map(({ id }) => id).sort()).toEqual([BINDING.id, second.id]);

      const conflict = { written: false, conflict: 'binding' };
      expect(await registryStore.insertWorkloadBinding({ ...BINDING, id: 'binding-3' })).toEqual(conflict);
      expect(await registryStore.updateWorkloadBinding({ ...second, clientRowId: CLIENT.id })).toEqual(conflict);
      expect(await registryStore.findWorkloadBinding(second.id)).toEqual(second);
    });

    it('change and delete a binding, seen by the next look-up', async () => {
      const { registryStore, workloadBindings } = stores();
      await registryStore.insertWorkloadBinding(BINDING);
      await workloadBindings.findBySubject(CLUSTER.id, BINDING.subject);
      const disabled = { ...BINDING, isActive: false, updatedAt: NOW };
      expect(await registryStore.updateWorkloadBinding(disabled)).toEqual(WRITTEN);
      expect(await workloadBindings.findBySubject(CLUSTER.id, BINDING.subject)).toEqual([disabled]);
      expect(await registryStore.deleteWorkloadBinding(BINDING.id)).toBe(true);
      expect(await registryStore.deleteWorkloadBinding(BINDING.id)).toBe(false);
      expect(await workloadBindings.findBySubject(CLUSTER.id, BINDING.subject)).toEqual([]);
      await expect(registryStore.updateWorkloadBinding(BINDING)).rejects.toThrow('deleted meanwhile');
    });

    it('delete an issuer with its bindings', async () => {
      const { registryStore, workloadBindings } = stores();
      await registryStore.insertWorkloadBinding(BINDING);
      await registryStore.deleteTrustedIssuer(CLUSTER.id);
      expect(await workloadBindings.findBySubject(CLUSTER.id, BINDING.subject)).toEqual([]);
      expect(await registryStore.findWorkloadBinding(BINDING.id)).toBeNull();
    });

    it('throw, rather than name a conflict, for an issuer or client that does not exist', async () => {
      const { registryStore } = stores();
      await expect(registryStore.insertWorkloadBinding({ ...BINDING, clientRowId: 'nobody' })).rejects.toThrow();
      await expect(registryStore.insertWorkloadBinding({ ...BINDING, trustedIssuerId: 'none' })).rejects.toThrow();
    });

    it('list bindings by creation and then id, by each filter and by all of them', async () => {
      const { registryStore } = stores();
      const rows = [
        { ...BINDING, id: 'b1', createdAt: 1 },
        { ...BINDING, id: 'b0', createdAt: 2, clientRowId: SECOND_CLIENT.id },
        { ...BINDING, id: 'b2', createdAt: 2, trustedIssuerId: PROVIDER.id },
        { ...BINDING, id: 'b3', createdAt: 0, trustedIssuerId: PROVIDER.id, subject: 'other' },
      ];
      for (const row of rows) await registryStore.insertWorkloadBinding(row);
      const list = async (filter: Parameters<typeof registryStore.listWorkloadBindings>[1], page = PAGE) => {
        const found = await registryStore.listWorkloadBindings(page, filter);
        return [found.total, ...found.rows.map(({ id }) => id)];
      };
      expect(await list({})).toEqual([4, 'b3', 'b1', 'b0', 'b2']);
      expect(await list({}, { limit: 2, offset: 1 })).toEqual([4, 'b1', 'b0']);
      expect(await list({ trustedIssuerId: PROVIDER.id })).toEqual([2, 'b3', 'b2']);
      expect(await list({ clientRowId: SECOND_CLIENT.id })).toEqual([1, 'b0']);
      expect(await list({ subject: 'other' })).toEqual([1, 'b3']);
      expect(await list({ trustedIssuerId: PROVIDER.id, clientRowId: CLIENT.id, subject: BINDING.subject })).toEqual([
        1,
        'b2',
      ]);
      expect(await list({ trustedIssuerId: CLUSTER.id, subject: 'other' })).toEqual([0]);
    });
  });
}
