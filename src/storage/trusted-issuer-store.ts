/**
 * Trusted issuers at rest. Rows are `TrustedIssuer` as they are: the columns do the parsing. The issuer strings stand
 * in `issuer_urls` once more, which makes them unique and finds a row by any of them; only this file writes both.
 */

import type { TrustedIssuers } from '../assertion/ports.ts';
import type { TrustedIssuer } from '../assertion/trusted-issuer.ts';
import type { Page, Paged, TrustedIssuerFilter } from '../registry/registry-store.ts';
import type { Database } from './database.ts';
import { and, asc, count, eq, getTableColumns, sql } from './drizzle.ts';
import { issuerUrls, trustedIssuers } from './schema.ts';
import { StorageError } from './storage-error.ts';
import { orConflict } from './unique-conflict.ts';

export type TrustedIssuerStore = TrustedIssuers & {
  list(page: Page, filter: TrustedIssuerFilter): Promise<Paged<TrustedIssuer>>;
  listUrls(): Promise<readonly { readonly url: string; readonly trustedIssuerId: string }[]>;
  /** Statements for inside a write transaction. */
  readonly write: {
    insert(issuer: TrustedIssuer): void;
    update(issuer: TrustedIssuer): void;
    /** With its bindings, which the foreign keys take along. */
    delete(id: string): boolean;
  };
};

export function createTrustedIssuerStore({ orm }: Database): TrustedIssuerStore {
  const byUrl = orm
    .select(getTableColumns(trustedIssuers))
    .from(issuerUrls)
    .innerJoin(trustedIssuers, eq(trustedIssuers.id, issuerUrls.trustedIssuerId))
    .where(eq(issuerUrls.url, sql.placeholder('url')))
    .prepare();
  const byId = orm
    .select()
    .from(trustedIssuers)
    .where(eq(trustedIssuers.id, sql.placeholder('id')))
    .prepare();
  const insertUrls = (issuer: TrustedIssuer) => {
    for (const url of new Set([issuer.issuerUrl, ...issuer.additionalIssuerUrls])) {
      orConflict('issuer_url', 'SQLITE_CONSTRAINT_PRIMARYKEY', () =>
        orm.insert(issuerUrls).values({ url, trustedIssuerId: issuer.id }).run(),
      );
    }
  };

  return {
    // Bound as UTF-8, a lone surrogate would turn into U+FFFD and equal another string.
    findByIssuerUrl: async (iss) => (iss.isWellFormed() ? (byUrl.get({ url: iss }) ?? null) : null),
    findById: async (id) => byId.get({ id }) ?? null,
    async list({ limit, offset }, { serviceAccountId }) {
      const matching = and(
        serviceAccountId === undefined ? undefined : eq(trustedIssuers.serviceAccountId, serviceAccountId),
      );
      const rows = orm
        .select()
        .from(trustedIssuers)
        .where(matching)
        .orderBy(asc(trustedIssuers.createdAt), asc(trustedIssuers.id))
        .limit(limit)
        .offset(offset)
        .all();
      return { rows, total: orm.select({ total: count() }).from(trustedIssuers).where(matching).get()?.total ?? 0 };
    },
    listUrls: async () => orm.select().from(issuerUrls).all(),
    write: {
      insert(issuer) {
        orm.insert(trustedIssuers).values(issuer).run();
        insertUrls(issuer);
      },
      update(issuer) {
        const { changes } = orm.update(trustedIssuers).set(issuer).where(eq(trustedIssuers.id, issuer.id)).run();
        if (changes === 0) throw new StorageError('the trusted issuer was deleted meanwhile');
        orm.delete(issuerUrls).where(eq(issuerUrls.trustedIssuerId, issuer.id)).run();
        insertUrls(issuer);
      },
      delete: (id) => orm.delete(trustedIssuers).where(eq(trustedIssuers.id, id)).run().changes === 1,
    },
  };
}
