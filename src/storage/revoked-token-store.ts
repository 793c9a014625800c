/** The deny list of our own access tokens: `RevokedTokens` over `revoked_tokens`. */
import type { RevokedTokens } from '../issuance/ports.ts';
import type { Database } from './database.ts';
import { eq, sql } from './drizzle.ts';
import { revokedTokens } from './schema.ts';
import type { WriteQueue } from './write-queue.ts';

export function createRevokedTokenStore(database: Database, queue: WriteQueue): RevokedTokens {
  const { orm } = database;
  const insert = orm
    .insert(revokedTokens)
    .values({
      jti: sql.placeholder('jti'),
      expiresAt: sql.placeholder('expiresAt'),
      revokedAt: sql.placeholder('revokedAt'),
    })
    .onConflictDoNothing({ target: revokedTokens.jti })
    .prepare();
  const select = orm
    .select({ jti: revokedTokens.jti })
    .from(revokedTokens)
    .where(eq(revokedTokens.jti, sql.placeholder('jti')))
    .prepare();
  const remove = database.client.prepare<[number, number]>(
    'delete from revoked_tokens where rowid in ' +
      '(select rowid from revoked_tokens where expires_at < ? order by expires_at limit ?)',
  );

  return {
    revoke: (token) => queue.enqueue(() => void insert.run(token)),
    isRevoked: async (jti) => select.get({ jti }) !== undefined,
    purge: (now, limit) => queue.enqueue(() => remove.run(now, limit).changes),
  };
}
