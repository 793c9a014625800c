/** The files of a declaration: which documents there are at a path, and their text. */
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { err, ok, type Result } from '../result.ts';

/** Ten thousand issuers have about 4 MiB; a mistaken path must not fill the memory. */
const MAX_FILE_BYTES = 64 * 1024 * 1024;

/**
 * The documents at `path`: the file itself, or the `.yaml` and `.yml` files right in the folder, by name. Hidden ones
 * are left out: the kubelet keeps earlier versions of a mounted ConfigMap in folders that begin with a dot.
 */
export async function documentFiles(path: string): Promise<Result<readonly string[], string>> {
  try {
    if (!(await stat(path)).isDirectory()) return ok([path]);
    const names = (await readdir(path)).filter(isDocumentName).sort();
    return names.length > 0 ? ok(names.map((name) => join(path, name))) : err('is a folder without .yaml files');
  } catch (error) {
    return err(unreadable(error));
  }
}

/** Whether a file of a folder is a document of the declaration. */
export function isDocumentName(name: string): boolean {
  return /^[^.].*\.ya?ml$/.test(name);
}

/** The text of one file. The error is a sentence for the admin. */
export async function readText(file: string): Promise<Result<string, string>> {
  try {
    if ((await stat(file)).size > MAX_FILE_BYTES) return err(`is larger than ${MAX_FILE_BYTES} bytes`);
    return ok(new TextDecoder('utf-8', { fatal: true }).decode(await readFile(file)));
  } catch (error) {
    return err(error instanceof TypeError ? 'is not UTF-8 text' : unreadable(error));
  }
}

function unreadable(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : 'unknown';
  return `can not be read (${code}): name a file that this process may read`;
}
