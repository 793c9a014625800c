import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { calculateJwkThumbprint } from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { checkIssuer } from '../../src/command-line/issuer-check.ts';
import { KID } from '../fixtures/assertions.ts';
import { type IssuerServer, startIssuerServer } from '../fixtures/issuer-server.ts';
import { P256, publicJwk, RSA_1024, RSA_A } from '../fixtures/keys.ts';
import { killAll, runCommand } from './command-line.ts';

const JWKS = {
  keys: [
    publicJwk(RSA_A, { kid: KID, alg: 'RS256', use: 'sig' }),
    publicJwk(P256, { kid: 'for-encryption', alg: 'ECDH-ES', use: 'enc' }),
  ],
};
const LOOPBACK = ['--private-networks', '127.0.0.0/8', '--allow-private-network'];
const OPTIONS = { privateNetworks: '127.0.0.0/8', allowPrivateNetwork: true };

let folder: string;
let thumbprint: string;
let server: IssuerServer;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'countersign-issuer-check-'));
  server = await startIssuerServer('http');
  thumbprint = await calculateJwkThumbprint(publicJwk(RSA_A));
});
beforeEach(() => {
  serve({});
  server.json('/keys', JWKS);
});
afterAll(async () => {
  killAll();
  await server.close();
  await rm(folder, { recursive: true });
});

/** The discovery document, with changes. */
function serve(changes: object): void {
  server.json('/.well-known/openid-configuration', {
    issuer: server.origin,
    jwks_uri: `${server.origin}/keys`,
    ...changes,
  });
}

/** A file with this text, or this document as JSON. */
async function file(name: string, content: unknown): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

/** As for `_add_trusted_issuer`. */
const row = (changes: object = {}) => ({
  name: 'cluster',
  issuer_url: server.origin,
  issuer_type: 'kubernetes_sa',
  key_source_type: 'oidc_discovery',
  allow_private_network: true,
  ...changes,
});

describe('issuer check, as a command', () => {
  it('shows the keys of an issuer URL, with 0', async () => {
    const { code, stdout, stderr } = await runCommand(folder, ['issuer', 'check', server.origin, ...LOOPBACK]);
    expect(stdout.trim().split('\n')).toEqual([
      `discovery ${server.origin}/.well-known/openid-configuration`,
      `issuer    ${server.origin}`,
      `jwks      ${server.origin}/keys`,
      `key       ${KID}  RS256  thumbprint ${thumbprint}`,
      expect.stringMatching(/^skip {6}for-encryption: /),
      'refresh   after 3600 s at the latest: the answer names no max-age',
      'ok',
    ]);
    expect([code, stderr]).toEqual([0, '']);
  });

  it('says what is wrong, with 1', async () => {
    serve({ issuer: `${server.origin}/` });
    const { code, stdout } = await runCommand(folder, ['issuer', 'check', server.origin, ...LOOPBACK]);
    expect(stdout.trim().split('\n').at(-1)).toMatch(/^FAIL .*issuer/);
    expect(code).toBe(1);
  });

  it('says what it can not do, with 2', async () => {
    const { code, stdout, stderr } = await runCommand(folder, ['issuer', 'check', 'missing.json']);
    expect([code, stdout, stderr]).toEqual([2, '', 'missing.json can not be read (ENOENT): give a URL or a file\n']);
  });
});

describe('issuer check accepts', () => {
  it('a row as for _add_trusted_issuer', async () => {
    const report = await checkIssuer(await file('row.json', row()), OPTIONS);
    expect([report.passed, report.lines.at(-1)]).toEqual([true, 'ok']);
  });

  it('a row with pasted keys, without a connection', async () => {
    const pasted = row({
      issuer_url: 'https://c.example.com',
      key_source_type: 'static_jwks',
      jwks: JSON.stringify(JWKS),
    });
    const before = server.connections();
    const { passed, lines } = await checkIssuer(await file('pasted.json', pasted), {});
    expect(passed).toBe(true);
    expect(lines).toEqual([
      expect.stringMatching(/^warn jwks: kid for-encryption is not used: /),
      `key       ${KID}  RS256  thumbprint ${thumbprint}`,
      expect.stringMatching(/^skip {6}for-encryption: /),
      'ok',
    ]);
    expect(server.connections()).toBe(before);
  });

  it('a JWK set, and shows what it skips', async () => {
    const { passed, lines } = await checkIssuer(await file('jwks.json', JWKS), {});
    expect(passed).toBe(true);
    expect(lines).toEqual([
      `key  ${KID}  RS256  thumbprint ${thumbprint}`,
      expect.stringMatching(/^skip for-encryption: /),
    ]);
  });

  it('an issuer whose discovery document and keys are elsewhere', async () => {
    server.json('/elsewhere', { issuer: 'https://issuer.example.com', jwks_uri: `${server.origin}/keys` });
    const { passed, lines } = await checkIssuer('https://issuer.example.com', {
      ...OPTIONS,
      discoveryUrl: `${server.origin}/elsewhere`,
    });
    expect([passed, lines]).toEqual([
      true,
      expect.arrayContaining([`key       ${KID}  RS256  thumbprint ${thumbprint}`]),
    ]);
  });

  it.each([
    ['max-age=604800', 3600],
    ['max-age=120', 120],
    ['max-age=0', 60],
  ])('an issuer of %s, and says when the server would ask again', async (cacheControl, seconds) => {
    server.json('/keys', JWKS, { 'cache-control': cacheControl });
    const { lines } = await checkIssuer(server.origin, OPTIONS);
    expect(lines.at(-2)).toBe(`refresh   after ${seconds} s at the latest: the answer says ${cacheControl}`);
  });
});

describe('issuer check fails, with the reason,', () => {
  it.each<[string, () => Promise<string> | string, Readonly<Record<string, string | boolean>>, RegExp]>([
    [
      'when the private network is not consented to',
      () => server.origin,
      { privateNetworks: '127.0.0.0/8' },
      /allow_private_network/,
    ],
    ['when the private network is not allowed', () => server.origin, { allowPrivateNetwork: true }, /127\.0\.0\.1/],
    ['when nothing is there', () => `${server.origin}/nowhere`, OPTIONS, /404/],
    ['when nobody listens', () => 'http://127.0.0.1:1', OPTIONS, /ECONNREFUSED/],
    [
      'when the discovery document has no keys',
      () => {
        serve({ jwks_uri: undefined });
        return server.origin;
      },
      OPTIONS,
      /jwks_uri/,
    ],
    [
      'when the key set is empty',
      () => {
        server.json('/keys', { keys: [] });
        return server.origin;
      },
      OPTIONS,
      /empty/,
    ],
    [
      'when a pasted set has no key that may be used',
      () => file('weak.json', { keys: [publicJwk(RSA_1024, { kid: 'weak' })] }),
      {},
      /weak/,
    ],
    ['when a row has an unknown field', () => file('typo.json', row({ jwks_uri: 'x' })), OPTIONS, /^FAIL jwks_uri: /],
    ['when a row has no issuer', () => file('none.json', { name: 'x' }), OPTIONS, /^FAIL issuer_url: /m],
    ['when a row is a list', () => file('list.json', []), OPTIONS, /^FAIL /],
    [
      'when a row is our own issuer',
      () => file('own.json', row({ issuer_url: 'https://as.example.com' })),
      { ...OPTIONS, issuer: 'https://as.example.com' },
      /issuer_url/,
    ],
  ])('%s', async (_name, target, options, reason) => {
    const { passed, lines } = await checkIssuer(await target(), options);
    expect(passed).toBe(false);
    expect(lines.join('\n')).toMatch(reason);
    expect(lines.at(-1)).toMatch(/^FAIL /);
  });

  it('or can not run at all for a file that is no JSON', async () => {
    await expect(checkIssuer(await file('text.json', '{ "keys": '), {})).rejects.toThrow(
      /is not JSON: give a URL or a JSON file$/,
    );
  });
});
