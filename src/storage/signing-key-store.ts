/** Our signing keys at rest: `SigningKeyStore` over `signing_keys`. Private parts leave this file unsealed, once. */
import type { SigningKeyStore } from '../issuance/ports.ts';
import type { SigningKey } from '../issuance/signing-key.ts';
import type { Database } from './database.ts';
import { and, asc, eq, gt, isNull, or } from './drizzle.ts';
import { signingKeys } from './schema.ts';
import { seal, unseal } from './sealing.ts';
import { writeTransaction } from './write-transaction.ts';

/** `keyEncryptionKey`: 32 bytes, from `COUNTERSIGN_KEY_FILE`. */
export function createSigningKeyStore(database: Database, keyEncryptionKey: Uint8Array): SigningKeyStore {
  const { client, orm } = database;
  const notRemovedAt = (now: number) => or(isNull(signingKeys.removeAt), gt(signingKeys.removeAt, now));

  const toRow = ({ privateKeyDer, publicJwk, ...rest }: SigningKey): typeof signingKeys.$inferInsert => ({
    ...rest,
    publicJwk: { ...publicJwk },
    sealedPrivateKey: seal(keyEncryptionKey, rest.kid, privateKeyDer),
  });
  const toSigningKey = ({ sealedPrivateKey, ...rest }: typeof signingKeys.$inferSelect): SigningKey => ({
    ...rest,
    privateKeyDer: unseal(keyEncryptionKey, rest.kid, sealedPrivateKey),
  });

  return {
    async list(now) {
      const rows = orm
        .select()
        .from(signingKeys)
        .where(notRemovedAt(now))
        .orderBy(asc(signingKeys.createdAt), asc(signingKeys.kid))
        .all();
      return rows.map(toSigningKey);
    },

    async insertFirst(key) {
      const row = toRow(key);
      return writeTransaction(client, () => {
        const other = orm
          .select({ kid: signingKeys.kid })
          .from(signingKeys)
          .where(and(eq(signingKeys.alg, key.alg), notRemovedAt(key.createdAt)))
          .get();
        if (other !== undefined) return false;
        orm.insert(signingKeys).values(row).run();
        return true;
      });
    },

    async rotate(next, end, endAll) {
      const row = toRow(next);
      // After a compromise every end moves forward, never back: a key that was leaving sooner still does.
      const ended = endAll
        ? and(eq(signingKeys.alg, next.alg), notRemovedAt(end.removeAt))
        : and(eq(signingKeys.alg, next.alg), isNull(signingKeys.activeUntil));
      await writeTransaction(client, () => {
        for (const key of orm.select().from(signingKeys).where(ended).all()) {
          const activeUntil = Math.min(key.activeUntil ?? end.activeUntil, end.activeUntil);
          orm
            .update(signingKeys)
            .set({ activeUntil, removeAt: end.removeAt })
            .where(eq(signingKeys.kid, key.kid))
            .run();
        }
        orm.insert(signingKeys).values(row).run();
      });
    },
  };
}
