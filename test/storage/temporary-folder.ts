/** A folder for database files, made before the tests of a file and deleted after them. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

/** Answers paths of files that do not exist yet, in a folder that is gone when the tests of the file have ended. */
export function temporaryFolder(): { file(): string; readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), 'countersign-storage-'));
  let files = 0;
  afterAll(() => rmSync(path, { recursive: true, force: true }));
  return {
    path,
    file() {
      files += 1;
      return join(path, `${files}.db`);
    },
  };
}
