import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { decodeKey, readOrMakeSecretFile, readSecretFile, UnusableSecretFile } from '../src/secret-file.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'countersign-secret-'));
});
afterEach(() => rm(folder, { recursive: true }));

describe('a secret that is made', () => {
  it('is 32 random bytes in a file that only its owner may read', async () => {
    const path = join(folder, 'made', 'secret');
    const { text, isNew } = await readOrMakeSecretFile(path);
    expect(isNew).toBe(true);
    expect(decodeKey(text, path)).toHaveLength(32);
    expect(await readFile(path, 'utf8')).toBe(`${text}\n`);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect((await stat(join(folder, 'made'))).mode & 0o777).toBe(0o700);
  });

  it('is read from then on, and nothing else is left in its folder', async () => {
    const path = join(folder, 'secret');
    const { text } = await readOrMakeSecretFile(path);
    expect(await readOrMakeSecretFile(path)).toEqual({ text, isNew: false });
    expect(await readdir(folder)).toEqual(['secret']);
  });

  it('is one and the same for all who start at once', async () => {
    const path = join(folder, 'secret');
    const made = await Promise.all(Array.from({ length: 20 }, () => readOrMakeSecretFile(path)));
    expect(new Set(made.map(({ text }) => text)).size).toBe(1);
    expect(made.filter(({ isNew }) => isNew)).toHaveLength(1);
    expect(await readdir(folder)).toEqual(['secret']);
  });

  it('differs from file to file', async () => {
    const one = await readOrMakeSecretFile(join(folder, 'one'));
    const other = await readOrMakeSecretFile(join(folder, 'other'));
    expect(one.text).not.toBe(other.text);
  });
});

describe('a secret file', () => {
  it.each([
    ['only its owner may read', 0o600],
    ['its owner may not even write', 0o400],
    ['a group may read, as fsGroup of Kubernetes makes it', 0o640],
  ])('that %s is read, without the newline around it', async (_name, mode) => {
    const path = join(folder, 'secret');
    await writeFile(path, '\n a secret of somebody \n');
    await chmod(path, mode);
    expect(await readSecretFile(path)).toBe('a secret of somebody');
  });

  it.each([
    ['read', 0o604],
    ['write', 0o602],
    ['run', 0o601],
  ])('that everyone may %s is refused, with the mend', async (_name, mode) => {
    const path = join(folder, 'secret');
    await writeFile(path, 'a secret of somebody');
    await chmod(path, mode);
    await expect(readSecretFile(path)).rejects.toThrow(
      new UnusableSecretFile(`${path} can be read by everyone: chmod 600 it`),
    );
  });

  it('that holds nothing is refused, with the mend', async () => {
    const path = join(folder, 'secret');
    await writeFile(path, ' \n', { mode: 0o600 });
    const mend = 'delete it to have a new one made, or restore it';
    await expect(readOrMakeSecretFile(path)).rejects.toThrow(new UnusableSecretFile(`${path} is empty: ${mend}`));
  });

  it.each([
    ['that is not there', 'missing', 'ENOENT'],
    ['that is a folder', 'a-folder', 'EISDIR'],
  ])('%s is refused, with the mend', async (_name, name, code) => {
    await mkdir(join(folder, 'a-folder'), { mode: 0o700 });
    const path = join(folder, name);
    const refusal = readSecretFile(path);
    await expect(refusal).rejects.toThrow(UnusableSecretFile);
    await expect(refusal).rejects.toThrow(path);
    await expect(refusal).rejects.toThrow(code);
  });
});

describe('a key', () => {
  const bytes = Buffer.from(Array.from({ length: 32 }, (_, index) => 200 + index));

  it.each([
    ['base64', bytes.toString('base64')],
    ['base64url', bytes.toString('base64url')],
  ])('is decoded from %s', (_name, text) => {
    expect(decodeKey(text, 'key-file')).toEqual(bytes);
  });

  it.each([
    ['too few bytes', bytes.subarray(1).toString('base64')],
    ['too many bytes', Buffer.concat([bytes, bytes]).toString('base64')],
    ['no base64', 'not a key'],
    ['hexadecimal digits', bytes.toString('hex')],
    ['32 bytes and then something that is no base64', `${bytes.toString('base64url')} # the key`],
  ])('is refused when its file holds %s, without a word of its content', (_name, text) => {
    expect(() => decodeKey(text, 'key-file')).toThrow(
      new UnusableSecretFile('key-file does not hold 32 bytes in base64: make it with "openssl rand -base64 32"'),
    );
  });
});
