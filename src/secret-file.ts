/**
 * Secrets that the server makes for itself: the key-encryption key and the admin secret. Written once, mode 0600, and
 * refused when others could have read them.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { link, mkdir, readFile, stat, unlink, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

const SECRET_BYTES = 32;

export type SecretFile = { readonly text: string; readonly isNew: boolean };

/** A secret file that others may read or that does not hold what it should. */
export class UnusableSecretFile extends Error {}

/** The file's content, made at random (32 bytes, base64url) when there is no such file yet. */
export async function readOrMakeSecretFile(path: string): Promise<SecretFile> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const secret = randomBytes(SECRET_BYTES).toString('base64url');
  const draft = `${path}.${randomUUID()}`;
  await writeFile(draft, `${secret}\n`, { mode: 0o600, flush: true });
  try {
    // Of two processes that start at once, one links its draft and the other reads what it finds: never half a file.
    await link(draft, path);
    return { text: secret, isNew: true };
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  } finally {
    await unlink(draft);
  }
  return { text: await readSecretFile(path), isNew: false };
}

/** The file's content without the newline around it. Problems name `name`: the path, or a setting and its path. */
export async function readSecretFile(path: string, name = path): Promise<string> {
  const { mode, text } = await readWithMode(path, name);
  // Kubernetes mounts secrets with group-readable modes for fsGroup; the world never needs to read one.
  if ((mode & 0o007) !== 0) throw new UnusableSecretFile(`${name} can be read by everyone: chmod 600 it`);
  if (text === '') throw new UnusableSecretFile(`${name} is empty: delete it to have a new one made, or restore it`);
  return text;
}

async function readWithMode(path: string, name: string): Promise<{ readonly mode: number; readonly text: string }> {
  try {
    const { mode } = await stat(path);
    return { mode, text: (await readFile(path, 'utf8')).trim() };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : 'unknown';
    throw new UnusableSecretFile(`${name} can not be read (${code}): name a file that this process may read`);
  }
}

/** A 32-byte key from a secret file's text. */
export function decodeKey(text: string, name: string): Buffer {
  const key = Buffer.from(text, 'base64url');
  if (key.length === SECRET_BYTES) return key;
  throw new UnusableSecretFile(`${name} does not hold 32 bytes in base64: make it with "openssl rand -base64 32"`);
}
