/** Single use of assertions: `ReplayStore` over `replay_claims`. The unique key decides, never a look beforehand. */
import type { ReplayClaim, ReplayStore } from '../assertion/ports.ts';
import type { Database } from './database.ts';
import { eq, sql } from './drizzle.ts';
import { replayClaims } from './schema.ts';
import type { WriteQueue } from './write-queue.ts';

/** A claim that is still in the table counts, expired or not: the key covers `exp`, so it never becomes free again. */
export function createReplayStore(database: Database, queue: WriteQueue): ReplayStore {
  const { orm } = database;
  const insert = orm
    .insert(replayClaims)
    .values({
      key: sql.placeholder('key'),
      expiresAt: sql.placeholder('expiresAt'),
      claimedAt: sql.placeholder('claimedAt'),
      requestId: sql.placeholder('requestId'),
    })
    .onConflictDoNothing({ target: replayClaims.key })
    .prepare();
  const select = orm
    .select()
    .from(replayClaims)
    .where(eq(replayClaims.key, sql.placeholder('key')))
    .prepare();
  const remove = database.client.prepare<[number, number]>(
    'delete from replay_claims where rowid in ' +
      '(select rowid from replay_claims where expires_at < ? order by expires_at limit ?)',
  );
  const find = (key: Uint8Array): ReplayClaim | null => select.get({ key }) ?? null;

  return {
    claim: (claim) => queue.enqueue(() => (insert.run(claim).changes === 1 ? null : find(claim.key))),
    find: async (key) => find(key),
    purge: (now, limit) => queue.enqueue(() => remove.run(now, limit).changes),
  };
}
