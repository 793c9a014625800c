/**
 * Where a path leads, as the kernel would walk it, whether or not all of it exists yet. `fs.realpath` stops at the first
 * part that is missing and `path.resolve` takes `link/..` for the folder of the link; a guard can afford neither.
 */
import { lstat, readlink } from 'node:fs/promises';
import { dirname, isAbsolute, join, parse, sep } from 'node:path';

/** As in Linux (path_resolution(7)). */
const MAX_SYMLINKS = 40;

const SEPARATOR = sep === '/' ? '/' : /[\\/]/;

/** The path cannot be walked; `code` is the system's, such as `EACCES`. */
export class UnresolvablePath extends Error {
  override readonly name = 'UnresolvablePath';
  readonly code: string;

  constructor(path: string, code: string) {
    super(`${path} cannot be resolved (${code})`);
    this.code = code;
  }
}

/** The path from the root, not tidied: `..` keeps its place behind a symlink. */
export function absolutePath(path: string): string {
  return isAbsolute(path) ? path : `${process.cwd()}${sep}${path}`;
}

/**
 * The path without symlinks, `.`, `..` and superfluous separators. A part that does not exist stands for the plain
 * folder that somebody may make there; a dangling symlink for what it points to. Rejects with `UnresolvablePath`.
 */
export async function realPath(path: string): Promise<string> {
  if (path === '') throw new UnresolvablePath('an empty path', 'ENOENT');
  const start = absolutePath(path);
  let current = parse(start).root;
  const pending = start.slice(current.length).split(SEPARATOR);
  let symlinks = 0;
  for (let name = pending.shift(); name !== undefined; name = pending.shift()) {
    if (name === '' || name === '.') continue;
    if (name === '..') {
      current = dirname(current);
      continue;
    }
    const entry = join(current, name);
    const target = await linkTarget(entry);
    if (target === null) {
      current = entry;
      continue;
    }
    symlinks += 1;
    if (symlinks > MAX_SYMLINKS) throw new UnresolvablePath(path, 'ELOOP');
    const { root } = parse(target);
    if (root !== '') current = root;
    pending.unshift(...target.slice(root.length).split(SEPARATOR));
  }
  return current;
}

/** What a symlink points to, as written; null for anything else, and for what is not there. */
export async function linkTarget(path: string): Promise<string | null> {
  try {
    return (await lstat(path)).isSymbolicLink() ? await readlink(path) : null;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    if (code === 'ENOENT') return null;
    throw new UnresolvablePath(path, code);
  }
}
