/** Workload bindings at rest. Rows are `WorkloadBinding` as they are: the columns do the parsing. */
import type { WorkloadBindings } from '../assertion/ports.ts';
import type { WorkloadBinding } from '../assertion/workload-binding.ts';
import type { Page, Paged, WorkloadBindingFilter } from '../registry/registry-store.ts';
import type { Database } from './database.ts';
import { and, asc, count, eq, sql } from './drizzle.ts';
import { preparedInsert } from './prepared-insert.ts';
import { workloadBindings } from './schema.ts';
import { StorageError } from './storage-error.ts';
import { orConflict } from './unique-conflict.ts';

export type WorkloadBindingStore = WorkloadBindings & {
  findById(id: string): Promise<WorkloadBinding | null>;
  list(page: Page, filter: WorkloadBindingFilter): Promise<Paged<WorkloadBinding>>;
  /** Statements for inside a write transaction. */
  readonly write: {
    insert(binding: WorkloadBinding): void;
    update(binding: WorkloadBinding): void;
    delete(id: string): boolean;
    /** All bindings of one issuer to one client. */
    deleteBetween(trustedIssuerId: string, clientRowId: string): void;
  };
};

export function createWorkloadBindingStore(database: Database): WorkloadBindingStore {
  const { orm } = database;
  const insertRow = preparedInsert(database, workloadBindings);
  const bySubject = orm
    .select()
    .from(workloadBindings)
    .where(
      and(
        eq(workloadBindings.trustedIssuerId, sql.placeholder('trustedIssuerId')),
        eq(workloadBindings.subject, sql.placeholder('subject')),
      ),
    )
    .prepare();

  return {
    // Bound as UTF-8, a lone surrogate would turn into U+FFFD and equal another subject.
    findBySubject: async (trustedIssuerId, subject) =>
      subject.isWellFormed() ? bySubject.all({ trustedIssuerId, subject }) : [],
    findById: async (id) => orm.select().from(workloadBindings).where(eq(workloadBindings.id, id)).get() ?? null,
    async list({ limit, offset }, { trustedIssuerId, clientRowId, subject, managedBy }) {
      const matching = and(
        trustedIssuerId === undefined ? undefined : eq(workloadBindings.trustedIssuerId, trustedIssuerId),
        clientRowId === undefined ? undefined : eq(workloadBindings.clientRowId, clientRowId),
        subject === undefined ? undefined : eq(workloadBindings.subject, subject),
        managedBy === undefined ? undefined : eq(workloadBindings.managedBy, managedBy),
      );
      const rows = orm
        .select()
        .from(workloadBindings)
        .where(matching)
        .orderBy(asc(workloadBindings.createdAt), asc(workloadBindings.id))
        .limit(limit)
        .offset(offset)
        .all();
      return { rows, total: orm.select({ total: count() }).from(workloadBindings).where(matching).get()?.total ?? 0 };
    },
    write: {
      insert(binding) {
        orConflict('binding', 'SQLITE_CONSTRAINT_UNIQUE', () => insertRow(binding));
      },
      update(binding) {
        const { changes } = orConflict('binding', 'SQLITE_CONSTRAINT_UNIQUE', () =>
          orm.update(workloadBindings).set(binding).where(eq(workloadBindings.id, binding.id)).run(),
        );
        if (changes === 0) throw new StorageError('the workload binding was deleted meanwhile');
      },
      delete: (id) => orm.delete(workloadBindings).where(eq(workloadBindings.id, id)).run().changes === 1,
      deleteBetween(trustedIssuerId, clientRowId) {
        orm
          .delete(workloadBindings)
          .where(
            and(eq(workloadBindings.trustedIssuerId, trustedIssuerId), eq(workloadBindings.clientRowId, clientRowId)),
          )
          .run();
      },
    },
  };
}
