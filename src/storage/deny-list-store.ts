/** The deny list at rest. Rows are `DenyListEntry` as they are: the columns do the parsing. */
import type { DenyListEntry } from '../assertion/deny-list.ts';
import type { DenyList } from '../assertion/ports.ts';
import type { DenyListEntryFilter, Page, Paged } from '../registry/registry-store.ts';
import type { Database } from './database.ts';
import { and, asc, count, eq, sql } from './drizzle.ts';
import { denyListEntries } from './schema.ts';
import { StorageError } from './storage-error.ts';
import { orConflict } from './unique-conflict.ts';

export type DenyListStore = DenyList & {
  /** Whether the issuer has any entry at all, expired ones included. */
  hasEntries(trustedIssuerId: string): Promise<boolean>;
  findById(id: string): Promise<DenyListEntry | null>;
  /** Ordered by creation, then id. */
  list(page: Page, filter: DenyListEntryFilter): Promise<Paged<DenyListEntry>>;
  /** Statements for inside a write transaction. */
  readonly write: {
    insert(entry: DenyListEntry): void;
    update(entry: DenyListEntry): void;
    delete(id: string): boolean;
  };
};

export function createDenyListStore({ orm }: Database): DenyListStore {
  const ofIssuer = eq(denyListEntries.trustedIssuerId, sql.placeholder('trustedIssuerId'));
  // One look-up in the unique index for each member: the time does not grow with the number of entries.
  const byMember = orm
    .select()
    .from(denyListEntries)
    .where(
      and(
        ofIssuer,
        eq(denyListEntries.member, sql.placeholder('member')),
        eq(denyListEntries.value, sql.placeholder('value')),
      ),
    )
    .prepare();
  const anyEntry = orm.select({ id: denyListEntries.id }).from(denyListEntries).where(ofIssuer).limit(1).prepare();

  return {
    find: async (trustedIssuerId, members) =>
      members
        // Bound as UTF-8, a lone surrogate would turn into U+FFFD and equal another value.
        .filter(({ value }) => value.isWellFormed())
        .flatMap(({ member, value }) => byMember.all({ trustedIssuerId, member, value })),
    hasEntries: async (trustedIssuerId) => anyEntry.get({ trustedIssuerId }) !== undefined,
    findById: async (id) => orm.select().from(denyListEntries).where(eq(denyListEntries.id, id)).get() ?? null,
    async list({ limit, offset }, { trustedIssuerId }) {
      const matching = trustedIssuerId === undefined ? undefined : eq(denyListEntries.trustedIssuerId, trustedIssuerId);
      const rows = orm
        .select()
        .from(denyListEntries)
        .where(matching)
        .orderBy(asc(denyListEntries.createdAt), asc(denyListEntries.id))
        .limit(limit)
        .offset(offset)
        .all();
      return { rows, total: orm.select({ total: count() }).from(denyListEntries).where(matching).get()?.total ?? 0 };
    },
    write: {
      insert(entry) {
        orConflict('deny_list_entry', 'SQLITE_CONSTRAINT_UNIQUE', () =>
          orm.insert(denyListEntries).values(entry).run(),
        );
      },
      update(entry) {
        const { changes } = orConflict('deny_list_entry', 'SQLITE_CONSTRAINT_UNIQUE', () =>
          orm.update(denyListEntries).set(entry).where(eq(denyListEntries.id, entry.id)).run(),
        );
        if (changes === 0) throw new StorageError('the deny list entry was deleted meanwhile');
      },
      delete: (id) => orm.delete(denyListEntries).where(eq(denyListEntries.id, id)).run().changes === 1,
    },
  };
}
