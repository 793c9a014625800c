import { describe, expect, it } from 'vitest';
import { openDatabase } from '../../src/storage/database.ts';
import { openStores } from '../../src/storage/open-stores.ts';
import { createPurger } from '../../src/storage/purge.ts';
import { NOW, settableClock } from '../fixtures/settable-clock.ts';

/** A table of expired rows, with a note of each batch that was deleted. */
function expired(rows: number) {
  const batches: number[] = [];
  const purged = Promise.withResolvers<void>();
  let left = rows;
  return {
    batches,
    /** Resolves with the first batch that found less than it might have taken. */
    done: purged.promise,
    async purge(_now: number, limit: number) {
      const deleted = Math.min(left, limit);
      left -= deleted;
      batches.push(deleted);
      if (deleted < limit) purged.resolve();
      return deleted;
    },
  };
}

const fast = { batchPauseMilliseconds: 0, roundPauseMilliseconds: 60_000, clock: settableClock() };

describe('the purger', () => {
  it('deletes in batches of 500 until nothing is left, claims and revocations', async () => {
    const [replayStore, revokedTokens] = [expired(1200), expired(700)];
    const told: number[] = [];
    const purger = createPurger({
      replayStore,
      revokedTokens,
      onReplayClaimsPurged: (rows) => told.push(rows),
      ...fast,
    });
    purger.start();
    await revokedTokens.done;
    await purger.stop();
    expect(replayStore.batches).toEqual([500, 500, 200]);
    expect(revokedTokens.batches).toEqual([500, 200]);
    expect(told).toEqual([500, 500, 200]);
  });

  it('lets requests have their turn between two batches', async () => {
    const order: string[] = [];
    const replayStore = expired(2000);
    const revokedTokens = expired(0);
    const purger = createPurger({
      replayStore: {
        async purge(now, limit) {
          order.push('batch');
          return replayStore.purge(now, limit);
        },
      },
      revokedTokens,
      ...fast,
    });
    purger.start();
    const request = () => {
      order.push('request');
      if (order.filter((entry) => entry === 'batch').length < 5) setImmediate(request);
    };
    request();
    await revokedTokens.done;
    await purger.stop();
    expect(order.join(' ')).not.toContain('batch batch');
  });

  it('stops between two batches, and for good', async () => {
    const replayStore = expired(1_000_000);
    const purger = createPurger({ replayStore, revokedTokens: expired(0), ...fast, batchPauseMilliseconds: 60_000 });
    purger.start();
    purger.start();
    await purger.stop();
    await purger.stop();
    purger.start();
    expect(replayStore.batches).toEqual([500]);
  });

  it('goes on after a fault, which it reports', async () => {
    const faults: unknown[] = [];
    const revokedTokens = expired(0);
    let calls = 0;
    const fault = new Error('the database is away');
    const purger = createPurger({
      replayStore: {
        async purge() {
          calls += 1;
          if (calls === 1) throw fault;
          return 0;
        },
      },
      revokedTokens,
      ...fast,
      roundPauseMilliseconds: 0,
      onFault: (error) => faults.push(error),
    });
    purger.start();
    await revokedTokens.done;
    await purger.stop();
    expect(faults).toEqual([fault]);
  });

  it('RPL-09: bounds the real tables: all that has expired goes, all that lives stays', async () => {
    const clock = settableClock();
    const database = await openDatabase({ url: 'sqlite::memory:' });
    const stores = openStores({ database, keyEncryptionKey: Buffer.alloc(32), clock });
    const claim = (index: number, expiresAt: number) => {
      const key = Buffer.alloc(32);
      key.writeUInt32BE(index);
      return stores.replayStore.claim({ key, expiresAt, claimedAt: NOW, requestId: 'r' });
    };
    await Promise.all(Array.from({ length: 1300 }, (_, index) => claim(index, NOW + (index % 2 === 0 ? 60 : 3600))));
    await stores.revokedTokens.revoke({ jti: 'old', expiresAt: NOW + 60, revokedAt: NOW });

    clock.advance(61);
    const told: number[] = [];
    const enough = Promise.withResolvers<void>();
    const stop = stores.startPurging((rows) => {
      told.push(rows);
      if (rows < 500) enough.resolve();
    });
    await enough.promise;
    while (await stores.revokedTokens.isRevoked('old')) await new Promise((resolve) => setImmediate(resolve));
    await stop();
    expect(told).toEqual([500, 150]);
    expect(database.client.prepare('select count(*), min(expires_at) from replay_claims').raw().get()).toEqual([
      650,
      NOW + 3600,
    ]);
    await stores.close();
  });
});
