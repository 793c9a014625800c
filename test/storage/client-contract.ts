/** The contract of clients and their secrets. */
import { describe, expect, it } from 'vitest';
import type { Client, ClientSecret } from '../../src/issuance/client.ts';
import { BINDING, CLIENT, CLUSTER } from '../fixtures/rows.ts';
import { NOW } from '../fixtures/settable-clock.ts';
import type { CurrentStores } from './conformance.ts';

const OTHER: Client = { ...CLIENT, id: 'client-row-2', clientId: 'other', createdAt: CLIENT.createdAt + 1 };
const SECRET: ClientSecret = {
  id: 'secret-1',
  clientRowId: CLIENT.id,
  salt: new Uint8Array(16).fill(0xa5),
  hash: new Uint8Array(32).fill(0x5a),
  createdAt: NOW,
  expiresAt: null,
};
const WRITTEN = { written: true };
const PAGE = { limit: 10, offset: 0 };

export function clientContract(stores: CurrentStores): void {
  describe('keep clients and', () => {
    it.each<[string, Partial<Client>]>([
      ['as it is', {}],
      [
        'every optional field set',
        { description: 'd', defaultResource: 'r', organizationId: 'o', jwks: '{"keys":[]}' },
      ],
      ['lists whose values hold commas, quotes and nothing', { allowedScopes: ['a,b', '"', '', '[]'] }],
      ['empty lists', { allowedScopes: [], allowedResources: [], resourceIdentifiers: [] }],
      ['several resources', { allowedResources: ['urn:a', 'urn:b'], resourceIdentifiers: ['urn:c'] }],
      ['RS256', { accessTokenSigningAlg: 'RS256' }],
      ['a row of the file, not active', { managedBy: 'file', isActive: false }],
    ])('give a client back exactly: %s', async (_, change) => {
      const client = { ...CLIENT, ...change };
      expect(await stores().registryStore.insertClient(client, [])).toEqual(WRITTEN);
      expect(await stores().clients.findByClientId(client.clientId)).toEqual(client);
      expect(await stores().clients.findById(client.id)).toEqual(client);
      expect(await stores().registryStore.findClient(client.id)).toEqual(client);
      expect(await stores().registryStore.findClient(client.clientId)).toEqual(client);
    });

    it.each(['Edge-worker', 'edge-worker ', 'edge', '', 'edge-worker\0', '%'])(
      'find nothing under a client_id that differs: %j',
      async (clientId) => {
        await stores().registryStore.insertClient(CLIENT, []);
        expect(await stores().clients.findByClientId(clientId)).toBeNull();
      },
    );

    it('refuse a second client with the same client_id, and keep nothing of it', async () => {
      const { registryStore, clients } = stores();
      await registryStore.insertClient(CLIENT, []);
      const twin = { ...OTHER, clientId: CLIENT.clientId };
      const secret = { ...SECRET, clientRowId: twin.id };
      expect(await registryStore.insertClient(twin, [secret])).toEqual({ written: false, conflict: 'client_id' });
      expect(await clients.findById(twin.id)).toBeNull();
      expect(await clients.findSecrets(twin.id)).toEqual([]);
      expect(await clients.findByClientId(CLIENT.clientId)).toEqual(CLIENT);
    });

    it('refuse to rename a client to the client_id of another', async () => {
      const { registryStore, clients } = stores();
      await registryStore.insertClient(CLIENT, []);
      await registryStore.insertClient(OTHER, []);
      const renamed = { ...OTHER, clientId: CLIENT.clientId, name: 'renamed' };
      expect(await registryStore.updateClient(renamed)).toEqual({ written: false, conflict: 'client_id' });
      expect(await clients.findById(OTHER.id)).toEqual(OTHER);
    });

    it('throw, rather than name a conflict, for a row id that is taken', async () => {
      await stores().registryStore.insertClient(CLIENT, []);
      await expect(stores().registryStore.insertClient({ ...OTHER, id: CLIENT.id }, [])).rejects.toThrow();
    });

    it('change a client, seen by the next look-up', async () => {
      const { registryStore, clients } = stores();
      await registryStore.insertClient(CLIENT, []);
      await clients.findByClientId(CLIENT.clientId);
      const changed: Client = { ...CLIENT, isActive: false, allowedScopes: ['x'], updatedAt: NOW };
      expect(await registryStore.updateClient(changed)).toEqual(WRITTEN);
      expect(await clients.findByClientId(CLIENT.clientId)).toEqual(changed);
    });

    it('throw when the client to change is gone', async () => {
      await expect(stores().registryStore.updateClient(CLIENT)).rejects.toThrow('deleted meanwhile');
    });

    it('keep secrets with their client, replace them and delete them with it', async () => {
      const { registryStore, clients } = stores();
      await registryStore.insertClient(CLIENT, [SECRET]);
      expect(await clients.findSecrets(CLIENT.id)).toEqual([SECRET]);

      const old = { ...SECRET, expiresAt: NOW + 60 };
      const next = { ...SECRET, id: 'secret-2', hash: new Uint8Array(32).fill(1), createdAt: NOW + 1 };
      await registryStore.replaceClientSecrets(CLIENT.id, [next, old]);
      expect(await clients.findSecrets(CLIENT.id)).toEqual([old, next]);
      expect(await registryStore.findClientSecrets(CLIENT.id)).toEqual([old, next]);

      await registryStore.replaceClientSecrets(CLIENT.id, []);
      expect(await clients.findSecrets(CLIENT.id)).toEqual([]);

      await registryStore.replaceClientSecrets(CLIENT.id, [next]);
      await registryStore.deleteClient(CLIENT.id);
      expect(await clients.findSecrets(CLIENT.id)).toEqual([]);
    });

    it('ADM-01: delete a client with its bindings, so that one made again under its client_id inherits nothing', async () => {
      const { registryStore, clients, workloadBindings, trustedIssuers } = stores();
      await registryStore.insertClient(CLIENT, [SECRET]);
      await registryStore.insertTrustedIssuer({ ...CLUSTER, serviceAccountId: CLIENT.id }, [BINDING]);
      expect(await workloadBindings.findBySubject(CLUSTER.id, BINDING.subject)).toEqual([BINDING]);

      expect(await registryStore.deleteClient(CLIENT.id)).toBe(true);
      expect(await registryStore.deleteClient(CLIENT.id)).toBe(false);
      const again = { ...CLIENT, id: 'client-row-3', allowedScopes: ['other'] };
      await registryStore.insertClient(again, []);

      expect(await clients.findByClientId(CLIENT.clientId)).toEqual(again);
      expect(await clients.findSecrets(again.id)).toEqual([]);
      expect(await workloadBindings.findBySubject(CLUSTER.id, BINDING.subject)).toEqual([]);
      expect(await trustedIssuers.findById(CLUSTER.id)).toEqual(CLUSTER);
    });

    it('prefer a row id over a client_id that reads the same', async () => {
      const { registryStore } = stores();
      const confusing = { ...OTHER, clientId: CLIENT.id };
      await registryStore.insertClient(confusing, []);
      expect(await registryStore.findClient(CLIENT.id)).toEqual(confusing);
      await registryStore.insertClient(CLIENT, []);
      expect(await registryStore.findClient(CLIENT.id)).toEqual(CLIENT);
      expect(await registryStore.findClient('nobody')).toBeNull();
    });

    it('list clients by creation and then id, a page at a time', async () => {
      const { registryStore } = stores();
      const sameSecond = { ...OTHER, id: 'client-row-0', clientId: 'zero' };
      for (const client of [OTHER, CLIENT, sameSecond]) await registryStore.insertClient(client, []);
      expect(await registryStore.listClients(PAGE)).toEqual({ rows: [CLIENT, sameSecond, OTHER], total: 3 });
      expect(await registryStore.listClients({ limit: 1, offset: 1 })).toEqual({ rows: [sameSecond], total: 3 });
      expect(await registryStore.listClients({ limit: 5, offset: 3 })).toEqual({ rows: [], total: 3 });
    });
  });
}
