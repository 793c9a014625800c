import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { openDatabase } from '../../src/storage/database.ts';
import { openStores, type Stores } from '../../src/storage/open-stores.ts';
import { CLIENT, CLUSTER } from '../fixtures/rows.ts';
import { NOW, settableClock } from '../fixtures/settable-clock.ts';
import { startChild } from './child-process.ts';
import { temporaryFolder } from './temporary-folder.ts';

const folder = temporaryFolder();
const keyOf = (text: string) => createHash('sha256').update(text).digest();
const openAt = async (url: string) =>
  openStores({ database: await openDatabase({ url }), keyEncryptionKey: Buffer.alloc(32), clock: settableClock() });

const claim = (stores: Stores, name: string, expiresAt = NOW + 3660) =>
  stores.replayStore.claim({ key: keyOf(name), expiresAt, claimedAt: NOW, requestId: name });
const audit = (stores: Stores, requestId: string) =>
  stores.auditLog.append({
    createdAt: NOW,
    requestId,
    action: 'token.requested',
    outcome: 'accepted',
    reason: null,
    actorType: 'workload',
    actorId: null,
    resourceType: null,
    resourceId: null,
    trustedIssuerId: null,
    subject: null,
    clientId: null,
    ipAddress: null,
    userAgent: null,
    evidence: {},
  });

/** What a token request writes: its claim, and then its audit record. */
async function tokenRequest(stores: Stores, name: string): Promise<'first' | 'replayed'> {
  const first = await claim(stores, name);
  await audit(stores, name);
  return first === null ? 'first' : 'replayed';
}

/** Registry writes of every kind, one after the other. */
async function adminWrites(stores: Stores, round: number): Promise<void> {
  const client = { ...CLIENT, id: `c${round}`, clientId: `client-${round}` };
  const issuer = { ...CLUSTER, id: `i${round}`, issuerUrl: `https://${round}.example.com` };
  await stores.registryStore.insertClient(client, []);
  await stores.registryStore.insertTrustedIssuer(issuer, []);
  await stores.registryStore.updateTrustedIssuer({ ...issuer, name: 'renamed' }, null);
  await stores.registryStore.deleteClient(client.id);
}

describe('many writers at once', () => {
  it('DBS-01: fifty token requests, registry writes, revocations and the purge all succeed', async () => {
    const stores = await openAt(`sqlite:${folder.file()}`);
    await Promise.all(Array.from({ length: 1200 }, (_, index) => claim(stores, `expired ${index}`, NOW - 1)));
    const faults: unknown[] = [];
    const stop = stores.startPurging(undefined, (fault) => faults.push(fault));
    for (let round = 0; round < 5; round += 1) {
      const requests = Array.from({ length: 50 }, (_, index) => tokenRequest(stores, `${round} ${index}`));
      const others = [
        adminWrites(stores, round),
        stores.revokedTokens.revoke({ jti: `${round}`, expiresAt: NOW + 60, revokedAt: NOW }),
        stores.ping(),
      ];
      expect(await Promise.all(requests)).toEqual(Array(50).fill('first'));
      await Promise.all(others);
    }
    await stop();
    expect(faults).toEqual([]);
    expect((await stores.auditLog.list({}, { limit: 1, offset: 0 })).total).toBe(250);
    await stores.close();
  });

  it('DBS-01: none of it fails either when another process writes all the while', async () => {
    const url = `sqlite:${folder.file()}`;
    const stores = await openAt(url);
    const neighbour = startChild('claim-in-child.ts', url, '50', 'neighbour');
    expect(await neighbour.line()).toBe('ready');
    for (let round = 0; round < 10; round += 1) {
      neighbour.tell(keyOf(`neighbour ${round}`).toString('hex'));
      const requests = Array.from({ length: 50 }, (_, index) => tokenRequest(stores, `${round} ${index}`));
      const [answers] = await Promise.all([Promise.all(requests), adminWrites(stores, round)]);
      expect(answers).toEqual(Array(50).fill('first'));
    }
    for (let round = 0; round < 10; round += 1) {
      expect(JSON.parse(await neighbour.line()).filter((first: unknown) => first === null)).toHaveLength(1);
    }
    await neighbour.kill();
    await stores.close();
  });

  it('a close waits for what is queued', async () => {
    const url = `sqlite:${folder.file()}`;
    const stores = await openAt(url);
    const claims = Promise.all(Array.from({ length: 600 }, (_, index) => claim(stores, `${index}`)));
    await stores.close();
    expect(await claims).toEqual(Array(600).fill(null));
    const again = await openAt(url);
    expect(await claim(again, '599')).not.toBeNull();
    await again.close();
  });
});
