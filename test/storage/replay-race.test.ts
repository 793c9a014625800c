import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { openDatabase } from '../../src/storage/database.ts';
import { openStores } from '../../src/storage/open-stores.ts';
import { NOW } from '../fixtures/settable-clock.ts';
import { startChild } from './child-process.ts';
import { temporaryFolder } from './temporary-folder.ts';

const folder = temporaryFolder();
const keyOf = (text: string) => createHash('sha256').update(text).digest();
const openAt = async (url: string) =>
  openStores({ database: await openDatabase({ url }), keyEncryptionKey: Buffer.alloc(32), clock: () => NOW });
const claimOf = (key: Uint8Array, requestId: string) => ({ key, expiresAt: NOW + 3660, claimedAt: NOW, requestId });

describe('a replay claim', () => {
  it('RPL-03: is first exactly once among fifty over two processes, for each of twenty assertions', async () => {
    const url = `sqlite:${folder.file()}`;
    (await openDatabase({ url })).close();
    const children = ['a', 'b'].map((name) => startChild('claim-in-child.ts', url, '25', name));
    for (const child of children) expect(await child.line()).toBe('ready');

    for (let round = 0; round < 20; round += 1) {
      const key = keyOf(`assertion ${round}`).toString('hex');
      for (const child of children) child.tell(key);
      const answers = (await Promise.all(children.map(async (child) => JSON.parse(await child.line())))).flat();
      expect(answers).toHaveLength(50);
      expect(answers.filter((first) => first === null)).toHaveLength(1);
      expect(new Set(answers.filter((first) => first !== null)).size).toBe(1);
    }
    await Promise.all(children.map((child) => child.kill()));
  });

  it('DBS-06: that was answered survives kill -9, for the process that starts again and for another', async () => {
    const url = `sqlite:${folder.file()}`;
    const key = keyOf('assertion');
    const other = await openAt(url);
    const victim = startChild('claim-in-child.ts', url, '1', 'victim');
    expect(await victim.line()).toBe('ready');
    victim.tell(key.toString('hex'));
    expect(JSON.parse(await victim.line())).toEqual([null]);
    await victim.kill();

    const first = { ...claimOf(key, 'victim-0'), key: new Uint8Array(key) };
    expect(await other.replayStore.claim(claimOf(key, 'other'))).toEqual(first);
    await other.close();
    const again = await openAt(url);
    expect(await again.replayStore.claim(claimOf(key, 'again'))).toEqual(first);
    await again.close();
  });

  it('is first at most once when the process is killed in the midst of it', async () => {
    const url = `sqlite:${folder.file()}`;
    (await openDatabase({ url })).close();
    for (let round = 0; round < 3; round += 1) {
      const key = keyOf(`assertion ${round}`);
      const victim = startChild('claim-in-child.ts', url, '20', 'victim');
      expect(await victim.line()).toBe('ready');
      victim.tell(key.toString('hex'));
      const told = victim.line().then(
        (line) => JSON.parse(line),
        () => [],
      );
      await new Promise((resolve) => setTimeout(resolve, round));
      await victim.kill();

      const survivor = await openAt(url);
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, index) => survivor.replayStore.claim(claimOf(key, `survivor-${index}`))),
      );
      const firsts = [...(await told), ...answers.map((claim) => claim?.requestId ?? null)];
      expect(firsts.filter((first) => first === null).length).toBeLessThanOrEqual(1);
      await survivor.close();
    }
  });

  it('RPL-09: leaves in the table the hash, two instants and the request id, whatever the assertion was', async () => {
    const database = await openDatabase({ url: `sqlite:${folder.file()}` });
    const stores = openStores({ database, keyEncryptionKey: Buffer.alloc(32), clock: () => NOW });
    await stores.replayStore.claim(claimOf(keyOf('x'.repeat(1_000_000)), 'request-1'));
    const columns = database.client.prepare("select name from pragma_table_info('replay_claims')").pluck().all();
    expect(columns).toEqual(['key', 'expires_at', 'claimed_at', 'request_id']);
    const sizes = 'select length(key), typeof(key), typeof(expires_at), typeof(claimed_at) from replay_claims';
    expect(database.client.prepare(sizes).raw().all()).toEqual([[32, 'blob', 'integer', 'integer']]);
    await stores.close();
  });
});
