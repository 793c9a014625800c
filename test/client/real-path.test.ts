import { mkdir, mkdtemp, realpath, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { realPath } from '../../src/client/real-path.ts';

let root: string;

beforeAll(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'real-path-')));
  await mkdir(join(root, 'a/b/c'), { recursive: true });
  await symlink('a/b', join(root, 'relative'));
  await symlink(join(root, 'a/b'), join(root, 'absolute'));
  await symlink('relative', join(root, 'twice'));
  await symlink('../../x', join(root, 'a/b/up'));
  await symlink('missing/target', join(root, 'dangling'));
  for (let index = 0; index < 41; index += 1) await symlink(`long-${index + 1}`, join(root, `long-${index}`));
});
afterAll(() => rm(root, { recursive: true }));

describe('a real path', () => {
  it.each([
    'a/b/c',
    'a//b/./c/',
    'relative/c',
    'absolute/c',
    'twice/c',
    'relative/..',
    'twice/../b/c',
    'a/b/c/../../..',
    '../../../../../../../../../..',
    'long-1',
  ])('of %s is that of the system, where it exists', async (path) => {
    if (path === 'long-1') await mkdir(join(root, 'long-41'));
    expect(await realPath(`${root}/${path}`)).toBe(await realpath(`${root}/${path}`));
  });

  it.each([
    ['x', 'x'],
    ['x/y/z', 'x/y/z'],
    ['x/../a/b', 'a/b'],
    ['relative/x', 'a/b/x'],
    ['relative/../x', 'a/x'],
    ['relative/x/../../y', 'a/y'],
    ['relative/up', 'x'],
    ['relative/up/y', 'x/y'],
    ['dangling', 'missing/target'],
    ['dangling/../y', 'missing/y'],
  ])('of %s, which does not exist, is %s', async (path, expected) => {
    expect(await realPath(`${root}/${path}`)).toBe(join(root, expected));
  });

  it('has at most forty symlinks on its way', async () => {
    await expect(realPath(join(root, 'long-0'))).rejects.toMatchObject({ name: 'UnresolvablePath', code: 'ELOOP' });
  });
});
