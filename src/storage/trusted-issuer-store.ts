/**
 * Trusted issuers at rest. Rows are `TrustedIssuer` as they are: the columns do the parsing. The issuer strings stand
 * in `issuer_urls` once more, which makes them unique and finds a row by any of them; only this file writes both.
 */
import type { ActiveIssuer, TrustedIssuers } from '../assertion/ports.ts';
import type { TrustedIssuer } from '../assertion/trusted-issuer.ts';
import type { Page, Paged, TrustedIssuerFilter } from '../registry/registry-store.ts';
import type { Database } from './database.ts';
import { and, asc, count, eq, getTableColumns, sql } from './drizzle.ts';
import { preparedInsert } from './prepared-insert.ts';
import { issuerUrls, trustedIssuers } from './schema.ts';
import { StorageError } from './storage-error.ts';
import { orConflict } from './unique-conflict.ts';

export type TrustedIssuerStore = TrustedIssuers & {
  list(page: Page, filter: TrustedIssuerFilter): Promise<Paged<TrustedIssuer>>;
  findDeclaredByName(name: string): Promise<TrustedIssuer | null>;
  listUrls(): Promise<readonly { readonly url: string; readonly trustedIssuerId: string }[]>;
  /** All that are active, in no order: for 10,000 of them, an order would double the time. */
  listActive(): Promise<readonly ActiveIssuer[]>;
  /** Statements for inside a write transaction. */
  readonly write: {
    insert(issuer: TrustedIssuer): void;
    update(issuer: TrustedIssuer): void;
    /** Lets go of the issuer's strings until it is updated. */
    releaseUrls(id: string): void;
    /** With its bindings, which the foreign keys take along. */
    delete(id: string): boolean;
  };
};

export function createTrustedIssuerStore(database: Database): TrustedIssuerStore {
  const { orm } = database;
  const insertIssuer = preparedInsert(database, trustedIssuers);
  const insertUrl = preparedInsert(database, issuerUrls);
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
  const active = orm
    .select({
      id: trustedIssuers.id,
      name: trustedIssuers.name,
      keySourceType: trustedIssuers.keySourceType,
      keySourceRevision: trustedIssuers.keySourceRevision,
      keySourceUpdatedAt: trustedIssuers.keySourceUpdatedAt,
      updatedAt: trustedIssuers.updatedAt,
    })
    .from(trustedIssuers)
    .where(eq(trustedIssuers.isActive, true))
    .prepare();
  const insertUrls = (issuer: TrustedIssuer) => {
    for (const url of new Set([issuer.issuerUrl, ...issuer.additionalIssuerUrls])) {
      orConflict('issuer_url', 'SQLITE_CONSTRAINT_PRIMARYKEY', () => insertUrl({ url, trustedIssuerId: issuer.id }));
    }
  };

  const releaseUrls = (id: string) => void orm.delete(issuerUrls).where(eq(issuerUrls.trustedIssuerId, id)).run();

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
    findDeclaredByName: async (name) =>
      orm
        .select()
        .from(trustedIssuers)
        .where(and(eq(trustedIssuers.name, name), eq(trustedIssuers.managedBy, 'file')))
        .get() ?? null,
    listUrls: async () => orm.select().from(issuerUrls).all(),
    listActive: async () => active.all(),
    write: {
      insert(issuer) {
        insertIssuer(issuer);
        insertUrls(issuer);
      },
      update(issuer) {
        const { changes } = orm.update(trustedIssuers).set(issuer).where(eq(trustedIssuers.id, issuer.id)).run();
        if (changes === 0) throw new StorageError('the trusted issuer was deleted meanwhile');
        releaseUrls(issuer.id);
        insertUrls(issuer);
      },
      releaseUrls,
      delete: (id) => orm.delete(trustedIssuers).where(eq(trustedIssuers.id, id)).run().changes === 1,
    },
  };
}
