/** Reads the folder that `drizzle-kit generate` writes: the journal and the SQL of each step. Touches no database. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { StorageError } from './storage-error.ts';

export type MigrationFile = {
  /** The file's name without `.sql`. */
  readonly tag: string;
  /** When it was generated, in milliseconds: drizzle's identity of a migration. */
  readonly generatedAt: number;
  readonly statements: readonly string[];
  /** SHA-256 of the file, as drizzle records it. */
  readonly hash: string;
};

const journalSchema = z.object({ entries: z.array(z.object({ tag: z.string().regex(/^\w+$/), when: z.int() })) });

/** All migrations in the order in which they are applied. Throws a `StorageError` where the folder is not whole. */
export function readMigrationFiles(folder: string): readonly MigrationFile[] {
  try {
    const journal = journalSchema.parse(JSON.parse(readFileSync(join(folder, 'meta', '_journal.json'), 'utf8')));
    return journal.entries.map(({ tag, when }) => {
      const text = readFileSync(join(folder, `${tag}.sql`), 'utf8');
      return {
        tag,
        generatedAt: when,
        statements: text.split('--> statement-breakpoint').filter((statement) => statement.trim() !== ''),
        hash: createHash('sha256').update(text).digest('hex'),
      };
    });
  } catch (cause) {
    throw new StorageError(`the migrations in ${folder} cannot be read: install Countersign again`, { cause });
  }
}
