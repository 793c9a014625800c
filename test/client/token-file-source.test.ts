import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TokenFileError, tokenFileSource } from '../../src/client/token-file-source.ts';
import { aClusterAssertion } from '../fixtures/assertions.ts';
import { type KubeletVolume, mountKubeletVolume } from '../fixtures/kubelet-volume.ts';
import { NOW, type SettableClock, settableClock } from '../fixtures/settable-clock.ts';

const FIRST = aClusterAssertion().build();
const SECOND = aClusterAssertion()
  .with({ jti: 'second', iat: NOW + 2900, exp: NOW + 6500 })
  .build();

let directory: string;
let volume: KubeletVolume;
let clock: SettableClock;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'token-file-'));
  volume = await mountKubeletVolume(join(directory, 'projected'));
  clock = settableClock();
});
afterEach(() => rm(directory, { recursive: true }));

async function failureOf(work: Promise<unknown>): Promise<TokenFileError> {
  const error: unknown = await work.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof TokenFileError)) throw new Error(`expected a TokenFileError, got ${String(error)}`);
  return error;
}

describe('a token file', () => {
  it('gives the token in it', async () => {
    await volume.write(FIRST);
    expect(await tokenFileSource({ path: volume.tokenPath, clock }).read()).toBe(FIRST);
  });

  it.each([
    ['a newline', `${FIRST}\n`],
    ['a carriage return and a newline', `${FIRST}\r\n`],
    ['a space in front', ` ${FIRST}`],
    ['tabs and blank lines around it', `\t\n\n${FIRST}\v\f \n`],
  ])('PRS-04: gives the token without %s', async (_what, content) => {
    await volume.write(content);
    expect(await tokenFileSource({ path: volume.tokenPath, clock }).read()).toBe(FIRST);
  });

  it('gives the new token right after the kubelet swapped it', async () => {
    const source = tokenFileSource({ path: volume.tokenPath, clock });
    await volume.write(FIRST);
    expect(await source.read()).toBe(FIRST);
    await volume.write(SECOND);
    expect(await source.read()).toBe(SECOND);
  });

  it('never gives half a token while the kubelet swaps it', async () => {
    const source = tokenFileSource({ path: volume.tokenPath, clock });
    await volume.write(FIRST);
    const tokens = Array.from({ length: 30 }, (_value, index) =>
      aClusterAssertion()
        .with({ jti: `swap-${index}` })
        .build(),
    );
    const seen = new Set<string>();
    const swapping = (async () => {
      for (const token of tokens) await volume.write(token);
    })();
    for (let reads = 0; reads < 200; reads += 1) seen.add(await source.read());
    await swapping;
    expect([FIRST, ...tokens]).toEqual(expect.arrayContaining([...seen]));
    expect(await source.read()).toBe(tokens.at(-1));
  });

  it('is still good a minute after its token expired, when this clock may be fast', async () => {
    await volume.write(FIRST);
    clock.set(NOW + 3600 + 59);
    expect(await tokenFileSource({ path: volume.tokenPath, clock }).read()).toBe(FIRST);
    clock.set(NOW + 3600 + 60);
    expect((await failureOf(tokenFileSource({ path: volume.tokenPath, clock }).read())).problem).toBe('expired');
  });
});

const half = FIRST.slice(0, FIRST.length / 2);
const jws = (claims: string): string => `e30.${Buffer.from(claims).toString('base64url')}.c2ln`;

describe('a file without a token', () => {
  it.each([
    ['is empty', '', 'empty'],
    ['has only white space', ' \r\n\t', 'empty'],
    ['has half a token', half, 'not_a_token'],
    ['has a token with a line break inside', FIRST.replace('.', '.\n'), 'not_a_token'],
    ['has two tokens', `${FIRST}\n${FIRST}`, 'not_a_token'],
    ['has an encrypted token', 'a.b.c.d.e', 'not_a_token'],
    ['has a byte order mark', `\uFEFF${FIRST}`, 'not_a_token'],
    ['has claims that are not JSON', jws('{"exp":'), 'not_a_token'],
    ['has claims that are no object', jws('[1]'), 'not_a_token'],
    ['has no exp (a legacy Secret token)', jws('{"iss":"kubernetes/serviceaccount"}'), 'not_a_token'],
    ['has an exp that is a string', jws('{"exp":"1796043600"}'), 'not_a_token'],
    ['has an exp beyond all numbers', jws('{"exp":1e400}'), 'not_a_token'],
    ['is longer than any token', `${'a'.repeat(20_000)}.b.c`, 'too_large'],
    ['is a token of 16385 bytes', `${'a'.repeat(16_381)}.b.c`, 'too_large'],
  ])('that %s fails with its path and without its content', async (_what, content, problem) => {
    await volume.write(content);
    const error = await failureOf(tokenFileSource({ path: volume.tokenPath, clock }).read());
    expect(error).toMatchObject({ problem, path: volume.tokenPath });
    expect(error.message).toContain(volume.tokenPath);
    if (content.trim() !== '') expect(error.message).not.toContain(content.trim().slice(0, 20));
  });

  it('that is not there fails with the system’s code', async () => {
    const error = await failureOf(tokenFileSource({ path: volume.tokenPath, clock }).read());
    expect(error).toMatchObject({
      problem: 'unreadable',
      message: `token file ${volume.tokenPath}: cannot be read (ENOENT)`,
    });
  });

  it('that is a directory fails with the system’s code', async () => {
    const error = await failureOf(tokenFileSource({ path: directory, clock }).read());
    expect(error).toMatchObject({ problem: 'unreadable', message: expect.stringContaining('EISDIR') });
  });

  it('that never ends is not read to its end', async () => {
    expect((await failureOf(tokenFileSource({ path: '/dev/zero', clock }).read())).problem).toBe('too_large');
  });
});

describe('after one good read', () => {
  const faults: readonly (readonly [string, () => Promise<void>, string])[] = [
    ['is missing', () => volume.unmount(), 'unreadable'],
    ['is empty', () => volume.write(''), 'empty'],
    ['holds half a token', () => volume.write(half), 'not_a_token'],
    ['is longer than any token', () => volume.write('a'.repeat(30_000)), 'too_large'],
    ['went back to an older, expired one', () => volume.write(aClusterAssertion().with({ exp: 1 }).build()), 'expired'],
  ];

  it.each(faults)('while the file %s, the last token is given until it expires', async (_what, spoil, problem) => {
    const source = tokenFileSource({ path: volume.tokenPath, clock });
    await volume.write(FIRST);
    await source.read();
    await spoil();
    clock.set(NOW + 3599);
    expect(await source.read()).toBe(FIRST);
    clock.set(NOW + 3600);
    expect((await failureOf(source.read())).problem).toBe(problem);
  });

  it('and another, the later token is the last good one, with its own end', async () => {
    const source = tokenFileSource({ path: volume.tokenPath, clock });
    for (const token of [FIRST, SECOND]) {
      await volume.write(token);
      await source.read();
    }
    await volume.unmount();
    clock.set(NOW + 6499);
    expect(await source.read()).toBe(SECOND);
    clock.set(NOW + 6500);
    expect((await failureOf(source.read())).message).toBe(
      `token file ${volume.tokenPath}: cannot be read (ENOENT), and the last good token from it expired at 2026-11-30T13:48:20.000Z`,
    );
  });

  it('the file is used again once it is whole again', async () => {
    const source = tokenFileSource({ path: volume.tokenPath, clock });
    await volume.write(FIRST);
    await source.read();
    await volume.write(half);
    await source.read();
    await volume.write(SECOND);
    expect(await source.read()).toBe(SECOND);
  });

  it('a plain file that is written in place works as well', async () => {
    const path = join(directory, 'plain');
    const source = tokenFileSource({ path, clock });
    await writeFile(path, FIRST);
    expect(await source.read()).toBe(FIRST);
    await writeFile(path, SECOND);
    expect(await source.read()).toBe(SECOND);
  });
});
