/** Whether files may have changed, without reading them: what the file system says about each. */
import { readdir, stat } from 'node:fs/promises';

/**
 * A text that changes when `path` (a file, or a folder and what is in it) or one of `files` is written, replaced, comes
 * or goes. Links are followed: the kubelet replaces a mounted ConfigMap by pointing its link elsewhere.
 */
export async function fileSignature(path: string, files: readonly string[]): Promise<string> {
  const names = await readdir(path).catch(() => []);
  const states = await Promise.all([path, ...files].map(stateOf));
  return JSON.stringify([names, states]);
}

async function stateOf(file: string): Promise<string> {
  try {
    const { ino, size, mtimeNs, ctimeNs } = await stat(file, { bigint: true });
    return [ino, size, mtimeNs, ctimeNs].join(' ');
  } catch {
    return 'absent';
  }
}
