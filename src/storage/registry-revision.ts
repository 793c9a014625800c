/** The counter that every registry write moves, in its own transaction: how processes notice each other's writes. */
import type { Database } from './database.ts';
import { eq, sql } from './drizzle.ts';
import { registryRevision } from './schema.ts';

export type RegistryRevision = {
  /** What is committed now; 0 before the first write. */
  read(): Promise<number>;
  /** For inside a write transaction: moves it on and answers the new one. */
  advance(): number;
};

const ROW_ID = 1;

export function createRegistryRevision({ orm }: Database): RegistryRevision {
  const select = orm.select().from(registryRevision).where(eq(registryRevision.id, ROW_ID)).prepare();
  const upsert = orm
    .insert(registryRevision)
    .values({ id: ROW_ID, revision: 1 })
    .onConflictDoUpdate({
      target: registryRevision.id,
      set: { revision: sql`${registryRevision.revision} + 1` },
    })
    .returning()
    .prepare();
  return {
    read: async () => select.get()?.revision ?? 0,
    advance: () => upsert.get().revision,
  };
}
