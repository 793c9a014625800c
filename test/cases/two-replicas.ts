/** Two servers over one SQLite file and one clock, as two replicas would run, and the file itself. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { type RunningServer, startServer } from '../fixtures/running-server.ts';
import { settableClock } from '../fixtures/settable-clock.ts';

export type TwoReplicas = {
  readonly one: RunningServer;
  readonly two: RunningServer;
  /** Another process's connection to the database, as far as SQLite can tell. */
  readonly database: Database.Database;
  close(): Promise<void>;
};

/** Starts both. */
export async function startTwoReplicas(): Promise<TwoReplicas> {
  const folder = await mkdtemp(join(tmpdir(), 'countersign-replicas-'));
  const path = join(folder, 'countersign.db');
  const clock = settableClock();
  const one = await startServer({ databaseUrl: `sqlite:${path}` }, clock);
  const two = await startServer({ databaseUrl: `sqlite:${path}` }, clock);
  const database = new Database(path);
  return {
    one,
    two,
    database,
    async close() {
      database.close();
      await Promise.all([one.close(), two.close()]);
      await rm(folder, { recursive: true });
    },
  };
}
