/**
 * Keeps the token's folder out of what a runner gives to others: a job that can read the runner's identity is the
 * runner. To be asked before each folder is mounted into a job.
 *
 * It knows paths and symlinks. A bind mount of the token's folder at another place is another path to it: where there
 * are such, ask for them as well.
 */
import { basename, dirname, isAbsolute, relative, resolve, sep } from 'node:path';
import { absolutePath, linkTarget, realPath, UnresolvablePath } from './real-path.ts';

/** The folder must not be shared, or it cannot be told whether it may be. */
export class TokenFolderExposed extends Error {
  override readonly name = 'TokenFolderExposed';
  /** As it was asked for. */
  readonly folder: string;
  readonly tokenFile: string;

  constructor(folder: string, tokenFile: string, reason: string) {
    super(`folder ${folder} must not be shared, because of the token file ${tokenFile}: ${reason}`);
    this.folder = folder;
    this.tokenFile = tokenFile;
  }
}

const MEND = 'keep the token in a folder of its own, and share none above it';
/** The file itself may be a symlink, to a symlink, and so on. */
const MAX_SYMLINKS = 40;

/**
 * Where `folder` really is, if it may be shared: neither the folder of the token file, nor inside it, nor one above it.
 * Symlinks, `..` and missing parts are followed in both, for the file's own name as well (the kubelet's `..data`);
 * upper and lower case count as the same, since a file system may think so. Mount the path that is answered, not the
 * one that was asked for: nobody can make it lead elsewhere by a symlink that is swapped in between.
 *
 * Rejects with `TokenFolderExposed`, also where a path cannot be followed.
 */
export async function resolveSharedFolder({
  folder,
  tokenFile,
}: {
  readonly folder: string;
  readonly tokenFile: string;
}): Promise<string> {
  try {
    const real = await realPath(folder);
    const tokenFolders = await foldersOf(tokenFile);
    for (const candidate of new Set([real, resolve(folder)])) {
      for (const tokenFolder of tokenFolders) {
        const relation = relationOf(candidate, tokenFolder);
        if (relation === null) continue;
        const place = candidate === folder ? 'it' : `it leads to ${candidate}, which`;
        throw new TokenFolderExposed(folder, tokenFile, `${place} is ${relation} ${tokenFolder}; ${MEND}`);
      }
    }
    return real;
  } catch (error) {
    if (error instanceof UnresolvablePath) throw new TokenFolderExposed(folder, tokenFile, error.message);
    throw error;
  }
}

/** The folder that the path names, as written, and every folder in which the file is or a symlink to it. */
async function foldersOf(tokenFile: string): Promise<ReadonlySet<string>> {
  const folders = new Set([dirname(resolve(tokenFile))]);
  let path = absolutePath(tokenFile);
  for (let symlinks = 0; symlinks <= MAX_SYMLINKS; symlinks += 1) {
    const folder = await realPath(dirname(path));
    folders.add(folder);
    const target = await linkTarget(`${folder}${sep}${basename(path)}`);
    if (target === null) return folders;
    path = isAbsolute(target) ? target : `${folder}${sep}${target}`;
  }
  throw new UnresolvablePath(tokenFile, 'ELOOP');
}

function relationOf(candidate: string, tokenFolder: string): string | null {
  const [from, to] = [foldCase(tokenFolder), foldCase(candidate)];
  if (from === to) return "the token's folder";
  if (isInside(to, from)) return "inside the token's folder";
  return isInside(from, to) ? "an ancestor of the token's folder" : null;
}

function isInside(path: string, folder: string): boolean {
  const way = relative(folder, path);
  // Not every name that begins with two dots leads upwards: `..data` does not.
  return way !== '' && way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

function foldCase(path: string): string {
  return path.normalize('NFC').toLowerCase();
}
