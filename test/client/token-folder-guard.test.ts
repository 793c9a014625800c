import { mkdir, mkdtemp, realpath, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { resolveSharedFolder, TokenFolderExposed } from '../../src/client/token-client.ts';
import { aClusterAssertion } from '../fixtures/assertions.ts';
import { type KubeletVolume, mountKubeletVolume } from '../fixtures/kubelet-volume.ts';

let root: string;
let volume: KubeletVolume;
/** The token's folder, and a folder beside it that may be shared. */
let tokenFolder: string;
let jobs: string;

beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'token-folder-')));
  tokenFolder = join(root, 'secrets/identity');
  volume = await mountKubeletVolume(tokenFolder);
  await volume.write(aClusterAssertion().build());
  jobs = join(root, 'jobs');
  await mkdir(join(jobs, 'cache'), { recursive: true });
});
afterEach(() => rm(root, { recursive: true }));

const share = (folder: string, tokenFile = volume.tokenPath) => resolveSharedFolder({ folder, tokenFile });

async function refusalOf(folder: string, tokenFile?: string): Promise<TokenFolderExposed> {
  const error: unknown = await share(folder, tokenFile).then(
    (path) => `shared as ${path}`,
    (reason: unknown) => reason,
  );
  if (!(error instanceof TokenFolderExposed)) throw new Error(`expected TokenFolderExposed, got ${String(error)}`);
  return error;
}

describe('a folder that may be shared', () => {
  it.each<[string, () => string, () => string]>([
    ['beside the token’s', () => jobs, () => jobs],
    ['with a slash at its end', () => `${jobs}//`, () => jobs],
    ['with dots in it', () => `${jobs}/./cache/../../jobs/cache`, () => join(jobs, 'cache')],
    ['that is not there yet', () => join(jobs, 'new/folder'), () => join(jobs, 'new/folder')],
    ['whose name begins like the token’s', () => `${tokenFolder}-of-jobs`, () => `${tokenFolder}-of-jobs`],
    ['that begins with two dots', () => join(root, 'secrets/..jobs'), () => join(root, 'secrets/..jobs')],
    ['relative to here', () => relative(process.cwd(), jobs), () => jobs],
  ])('(%s) is answered without detours', async (_what, folder, real) => {
    expect(await share(folder())).toBe(real());
  });

  it('is answered as where its symlink leads, so that a later swap changes nothing', async () => {
    const link = join(root, 'link');
    await symlink(jobs, link);
    const answered = await share(join(link, 'cache'));
    await rm(link);
    await symlink(tokenFolder, link);
    expect(answered).toBe(join(jobs, 'cache'));
    await refusalOf(join(link, 'cache'));
  });

  it('may have a symlink to the token’s folder above it, which it does not show', async () => {
    await symlink(root, join(root, 'secrets/identity-link'));
    expect(await share(join(root, 'secrets/identity-link/jobs'))).toBe(jobs);
  });
});

describe('a folder that exposes the token', () => {
  it.each<[string, () => string, string]>([
    ['the token’s', () => tokenFolder, "the token's folder"],
    ['the token’s, with a slash at its end', () => `${tokenFolder}/`, "the token's folder"],
    ['the token’s, with three slashes', () => tokenFolder.replaceAll('/', '///'), "the token's folder"],
    ['the token’s, in capitals', () => tokenFolder.toUpperCase(), "the token's folder"],
    ['the token’s, relative', () => relative(process.cwd(), tokenFolder), "the token's folder"],
    ['the token’s, through ..', () => `${jobs}/../secrets/identity/.`, "the token's folder"],
    [
      'the token’s, through .. of what is not there',
      () => `${jobs}/a/b/../../../secrets/identity`,
      "the token's folder",
    ],
    ['inside it', () => join(tokenFolder, 'sub'), "inside the token's folder"],
    ['the kubelet’s ..data in it', () => join(tokenFolder, '..data'), "inside the token's folder"],
    ['the token file itself', () => volume.tokenPath, "inside the token's folder"],
    ['not there yet, and inside it', () => join(tokenFolder, 'a/b/c'), "inside the token's folder"],
    ['just above it', () => dirname(tokenFolder), "an ancestor of the token's folder"],
    ['far above it', () => root, "an ancestor of the token's folder"],
    ['above it, in capitals', () => join(root, 'SECRETS'), "an ancestor of the token's folder"],
    ['the root', () => '/', "an ancestor of the token's folder"],
    ['the root, with slashes', () => '//', "an ancestor of the token's folder"],
    ['the root, by ..', () => '/tmp/../..', "an ancestor of the token's folder"],
  ])('because it is %s is refused, and both paths are named', async (_what, folder, relation) => {
    const error = await refusalOf(folder());
    expect(error).toMatchObject({ folder: folder(), tokenFile: volume.tokenPath });
    expect(error.message).toContain(`folder ${folder()} must not be shared`);
    expect(error.message).toContain(volume.tokenPath);
    expect(error.message).toContain(` is ${relation} ${tokenFolder}`);
    expect(error.message).toContain('; keep the token in a folder of its own, and share none above it');
  });

  const links: readonly (readonly [string, () => string, string])[] = [
    ['it', () => tokenFolder, ''],
    ['a relative way to it', () => 'secrets/identity', ''],
    ['its parent', () => dirname(tokenFolder), ''],
    ['its parent, with the rest of the way', () => dirname(tokenFolder), 'identity'],
    ['a folder inside it that is not there', () => join(tokenFolder, 'later'), ''],
    ['the root', () => '/', ''],
  ];
  it.each(links)('because its symlink leads to %s is refused', async (_what, target, rest) => {
    const link = join(root, 'link');
    await symlink(target(), link);
    expect((await refusalOf(join(link, rest))).message).toContain('; keep the token in a folder of its own');
  });

  it('because .. of a symlink leads there, not to where the text seems to lead, is refused', async () => {
    // `jobs/link/../identity` reads like `jobs/identity`, and is `secrets/identity`.
    await mkdir(join(root, 'secrets/other'));
    await symlink(join(root, 'secrets/other'), join(jobs, 'link'));
    const error = await refusalOf(`${jobs}/link/../identity`);
    expect(error.message).toContain(`it leads to ${tokenFolder}, which is the token's folder`);
  });

  it.each([
    ['a loop of symlinks', () => join(root, 'loop'), 'ELOOP'],
    ['a path through a file', () => join(root, 'file/x'), 'ENOTDIR'],
    ['a name that no system takes', () => join(root, 'a\0b'), 'ERR_INVALID_ARG_VALUE'],
    ['a name that is too long', () => join(root, 'a'.repeat(300)), 'ENAMETOOLONG'],
    ['an empty path', () => '', 'ENOENT'],
  ])('or of which it cannot be told (%s) is refused', async (_what, folder, code) => {
    await symlink(join(root, 'loop'), join(root, 'loop'));
    await writeFile(join(root, 'file'), '');
    expect((await refusalOf(folder())).message).toContain(`cannot be resolved (${code})`);
  });
});

describe('the token file', () => {
  it('is followed through the kubelet’s swap', async () => {
    await volume.write(aClusterAssertion().with({ jti: 'next' }).build());
    await refusalOf(await realpath(dirname(await realpath(volume.tokenPath))));
    await refusalOf(tokenFolder);
    expect(await share(jobs)).toBe(jobs);
  });

  it('may not be there yet', async () => {
    const tokenFile = join(root, 'later/identity/token');
    expect((await refusalOf(join(root, 'LATER'), tokenFile)).message).toContain('an ancestor of');
    await refusalOf(join(root, 'later/identity'), tokenFile);
    expect(await share(jobs, tokenFile)).toBe(jobs);
  });

  it.each([
    ['the folder of the symlink', () => join(root, 'config')],
    ['the folder of the second symlink', () => join(root, 'hop')],
    ['the folder of the file', () => tokenFolder],
    ['what is above the file', () => dirname(tokenFolder)],
  ])('that is a symlink to another symlink to it keeps %s as well', async (_what, folder) => {
    await mkdir(join(root, 'config'));
    await mkdir(join(root, 'hop'));
    await symlink('../hop/token', join(root, 'config/token'));
    await symlink(volume.tokenPath, join(root, 'hop/token'));
    const tokenFile = join(root, 'config/token');
    await refusalOf(folder(), tokenFile);
    expect(await share(jobs, tokenFile)).toBe(jobs);
  });

  it('whose folder is a symlink keeps the folder behind it, and what is above the symlink', async () => {
    await mkdir(join(root, 'run'));
    await symlink(tokenFolder, join(root, 'run/identity'));
    const tokenFile = join(root, 'run/identity/token');
    for (const folder of [tokenFolder, dirname(tokenFolder), join(root, 'run'), join(root, 'run/identity')]) {
      await refusalOf(folder, tokenFile);
    }
    expect(await share(jobs, tokenFile)).toBe(jobs);
  });

  it('may be named relative to here', async () => {
    const tokenFile = relative(process.cwd(), volume.tokenPath);
    await refusalOf(tokenFolder, tokenFile);
    expect(await share(jobs, tokenFile)).toBe(jobs);
  });

  it('that leads round in circles lets nothing be shared', async () => {
    await symlink('token', join(jobs, 'token'));
    expect((await refusalOf(join(root, 'elsewhere'), join(jobs, 'token'))).message).toContain('(ELOOP)');
  });

  it('moves, and so does what may be shared', async () => {
    await rename(tokenFolder, join(jobs, basename(tokenFolder)));
    await refusalOf(jobs, join(jobs, 'identity/token'));
    expect(await share(join(root, 'secrets'), join(jobs, 'identity/token'))).toBe(join(root, 'secrets'));
  });
});
