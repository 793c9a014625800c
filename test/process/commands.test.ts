import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { killAll, runCommand } from './command-line.ts';

let root: string;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'countersign-commands-'));
});
afterAll(async () => {
  killAll();
  await rm(root, { recursive: true });
});

const emptyFolder = () => mkdtemp(join(root, 'test-'));
const lines = (text: string): readonly string[] => text.trim().split('\n');

describe.concurrent('the command line', () => {
  it.each([
    [''],
    ['serve'],
    ['migrate'],
    ['check'],
    ['issuer'],
    ['issuer check'],
    ['explain'],
    ['keys'],
    ['keys list'],
    ['keys rotate'],
    ['manifests'],
    ['manifests render'],
    ['worker'],
  ])('explains itself: %s --help', async (command) => {
    const folder = await emptyFolder();
    const words = command.split(' ').filter((word) => word !== '');
    const { code, stdout, stderr } = await runCommand(folder, [...words, '--help']);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(new RegExp(`^Usage: ${['countersign', ...words].join(' ')} .*\\n\\n`));
  });

  it.each([
    ['an unknown command', ['serv'], "error: unknown command 'serv'"],
    ['an unknown option', ['serve', '--prot', '1'], "error: unknown option '--prot'"],
    ['an argument too many', ['migrate', 'now'], 'error: too many arguments'],
    ['an option without its value', ['serve', '--listen'], "error: option '--listen <value>' argument missing"],
    ['a required option left out', ['explain'], "error: required option '--token-file <file>' not specified"],
    ['a value that is not offered', ['keys', 'rotate', '--alg', 'HS256'], 'must be one of ES256, RS256'],
    ['no command at all', [], 'Usage: countersign'],
  ])('refuses %s with 2 and makes nothing', async (_name, args, error) => {
    const folder = await emptyFolder();
    const { code, stdout, stderr } = await runCommand(folder, args);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(error);
    expect(await readdir(folder)).toEqual([]);
  });
});

describe.concurrent('a configuration that can not be used', () => {
  const WRONG = {
    COUNTERSIGN_ISUER: 'https://as.example.com',
    COUNTERSIGN_ISSUER: 'http://as.example.com',
    COUNTERSIGN_WORKERS: '0',
    COUNTERSIGN_ADMIN_SECRET: 'short',
    // Kubernetes sets these for a Service named countersign.
    COUNTERSIGN_SERVICE_HOST: '10.96.0.7',
    COUNTERSIGN_PORT_8080_TCP: 'tcp://10.96.0.7:8080',
  };

  it.each([['serve'], ['keys list']])(
    'makes %s report every problem with setting and mend, end with 2, and make nothing',
    async (command) => {
      const folder = await emptyFolder();
      const args = [...command.split(' '), '--listen', 'nowhere', '--database-url', 'mysql://db'];
      const { code, stdout, stderr } = await runCommand(folder, args, WRONG);
      expect([code, stdout]).toEqual([2, '']);
      expect(lines(stderr)).toEqual([
        expect.stringMatching(/^COUNTERSIGN_ISUER is not a setting: remove it; settings are COUNTERSIGN_ISSUER, /),
        'COUNTERSIGN_ISSUER is http and not a loopback address: set it to the https address under which clients know this server',
        'COUNTERSIGN_LISTEN is not host:port: write it as 127.0.0.1:8080 or [::1]:8080',
        'COUNTERSIGN_DATABASE_URL is not a database: set it to sqlite:PATH, for example sqlite:data/countersign.db',
        'COUNTERSIGN_ADMIN_SECRET is shorter than 16 characters, and the listen address is not loopback: make one with: openssl rand -base64 32',
        'COUNTERSIGN_WORKERS is not a number of processes: set it to 1 to 64',
      ]);
      expect(await readdir(folder)).toEqual([]);
    },
  );

  it('may be a key file that is not there', async () => {
    const folder = await emptyFolder();
    const { code, stderr } = await runCommand(folder, ['check', '--key-file', 'missing']);
    expect(stderr).toBe(
      'COUNTERSIGN_KEY_FILE missing can not be read (ENOENT): name a file that this process may read\n',
    );
    expect(code).toBe(2);
  });

  it('may be a database that is none', async () => {
    const folder = await emptyFolder();
    await writeFile(join(folder, 'notes.txt'), 'these are notes and no database, however long they are\n'.repeat(100));
    const { code, stderr } = await runCommand(folder, ['check', '--database-url', 'sqlite:notes.txt']);
    expect(stderr).toMatch(/^COUNTERSIGN_DATABASE_URL: .*notes\.txt cannot be opened \(.+\); name a SQLite file/);
    expect([code, lines(stderr).length]).toEqual([2, 1]);
  });
});

describe('on one database, command by command:', () => {
  let data: string;
  let keys: readonly (readonly string[])[];

  beforeAll(async () => {
    data = await emptyFolder();
  });
  const keysOf = (stdout: string) => lines(stdout).map((line) => line.split(/ {2,}/).slice(0, 3));

  it('migrate makes it', async () => {
    const migrated = await runCommand(data, ['migrate']);
    expect(migrated).toEqual({ code: 0, stdout: 'sqlite:data/countersign.db is up to date\n', stderr: '' });
  });

  it('keys list makes its first keys', async () => {
    const { code, stdout } = await runCommand(data, ['keys', 'list']);
    keys = keysOf(stdout);
    expect(code).toBe(0);
    expect(keys.toSorted((a, b) => String(a[1]).localeCompare(String(b[1])))).toEqual([
      [expect.any(String), 'ES256', 'active'],
      [expect.any(String), 'RS256', 'active'],
    ]);
  });

  it('keys rotate --compromised withdraws the old key and signs with the new one at once', async () => {
    const [next] = keysOf((await runCommand(data, ['keys', 'rotate', '--alg', 'RS256', '--compromised'])).stdout);
    expect(next).toEqual([expect.any(String), 'RS256', 'active']);
    const kept = keys.find(([, alg]) => alg === 'ES256');
    // Keys of the same second are listed in the order of their ids.
    expect(new Set(keysOf((await runCommand(data, ['keys', 'list'])).stdout))).toEqual(new Set([kept, next]));
  });

  it('check says that all is good', async () => {
    const checked = await runCommand(data, ['check'], { COUNTERSIGN_SERVICE_HOST: '10.96.0.7' });
    expect(checked).toMatchObject({ code: 0, stderr: '' });
    expect(lines(checked.stdout)).toEqual([
      expect.stringMatching(/^issuer +http:\/\/127\.0\.0\.1:8080$/),
      expect.stringMatching(/^listen +127\.0\.0\.1:8080$/),
      expect.stringMatching(/^database +sqlite:data\/countersign\.db, up to date$/),
      expect.stringMatching(/^admin API +off: set COUNTERSIGN_ADMIN_SECRET_FILE to turn it on$/),
      'the configuration is good',
    ]);
  });

  it('check refuses a key-encryption key that is not its own', async () => {
    await writeFile(join(data, 'other-key'), `${Buffer.alloc(32, 7).toString('base64')}\n`, { mode: 0o600 });
    const { code, stderr } = await runCommand(data, ['check', '--key-file', 'other-key']);
    expect(stderr).toMatch(/^signing key \S+ cannot be opened: the key in COUNTERSIGN_KEY_FILE is not the one/);
    expect(code).toBe(2);
  });
});
