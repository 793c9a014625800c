import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { anAccessToken, SERVER_JWKS } from '../fixtures/access-tokens.ts';
import { type IssuerServer, startIssuerServer } from '../fixtures/issuer-server.ts';
import { type KubeletVolume, mountKubeletVolume } from '../fixtures/kubelet-volume.ts';
import { jsonAnswer, startTokenEndpoint, type TokenEndpoint } from '../fixtures/token-endpoint.ts';
import { currentAssertion, killAll, runCommand } from './command-line.ts';

const TOKEN = 'crt_6f1d0e.9-a~b+c/d==';

let folder: string;
let volume: KubeletVolume;
let endpoint: TokenEndpoint;
let keys: IssuerServer;

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'countersign-worker-process-')));
  await mkdir(join(folder, 'jobs'));
  volume = await mountKubeletVolume(join(folder, 'identity'));
  await volume.write(currentAssertion().build());
  keys = await startIssuerServer('http');
  keys.json('/jwks', SERVER_JWKS);
  endpoint = await startTokenEndpoint();
  endpoint.setMetadata({ jwks_uri: `${keys.origin}/jwks` });
  endpoint.issueWith(() => {
    const now = Math.floor(Date.now() / 1000);
    return anAccessToken(endpoint.issuer)
      .with({ aud: endpoint.issuer, iat: now, exp: now + 900, runner_id: 'prod-eks/node_7' })
      .build();
  });
});
afterAll(async () => {
  killAll();
  await endpoint.close();
  await keys.close();
  await rm(folder, { recursive: true });
});

const runOnce = (args: readonly string[], environment: Readonly<Record<string, string>> = {}) =>
  runCommand(
    folder,
    ['worker', '--once', '--listen', '127.0.0.1:0', '--issuer', endpoint.issuer, ...args],
    environment,
  );
const lines = (text: string): readonly string[] => text.trimEnd().split('\n');
const SERVING = expect.stringMatching(/^serving http:\/\/127\.0\.0\.1:\d+\/hello$/);

describe('countersign worker', () => {
  it.each<[string, readonly string[], Readonly<Record<string, string>>]>([
    ['--token-file', ['--token-file', 'identity/token'], {}],
    ['COUNTERSIGN_TOKEN_FILE', [], { COUNTERSIGN_TOKEN_FILE: 'identity/token' }],
  ])(
    'exchanges the token of %s, prints its id, and keeps the token out of a folder that jobs see',
    async (_what, args, environment) => {
      const { code, stdout, stderr } = await runOnce([...args, '--shared-folder', join(folder, 'jobs')], environment);
      expect([code, stderr]).toEqual([0, '']);
      expect(lines(stdout)).toEqual([
        `shared folder ${folder}/jobs: the token's folder stays out of it`,
        SERVING,
        expect.stringMatching(/^access token: 3(600|59\d) s left, scope "read write"$/),
        'id: prod-eks/node_7',
        expect.stringContaining('GET /hello: 200 {"hello":"edge-worker"'),
      ]);
    },
  );

  it('sends a static token as it is, and asks nobody for another', async () => {
    const before = endpoint.forms.length + endpoint.metadataRequests();
    const { code, stdout, stderr } = await runOnce([], { COUNTERSIGN_TOKEN: TOKEN });
    expect([code, stderr]).toEqual([0, '']);
    expect(lines(stdout)).toEqual([
      SERVING,
      'static token: sent as it is',
      'GET /hello: 200 {"hello":null,"workload":null}',
    ]);
    expect(endpoint.forms.length + endpoint.metadataRequests()).toBe(before);
  });

  it('ends with 1 when the server refuses it, after one request', async () => {
    const before = endpoint.forms.length;
    endpoint.queue(jsonAnswer(400, { error: 'invalid_client' }));
    const { code, stdout } = await runOnce(['--token-file', 'identity/token']);
    expect([code, endpoint.forms.length - before]).toEqual([1, 1]);
    expect(lines(stdout).at(-1)).toBe(
      'round failed: TokenRequestRefused: the token request was refused: 400 invalid_client',
    );
  });

  it.each<[string, readonly string[], Readonly<Record<string, string>>, string]>([
    [
      'token file and static token together',
      ['--token-file', 'identity/token'],
      { COUNTERSIGN_TOKEN: TOKEN },
      'COUNTERSIGN_TOKEN is set together with COUNTERSIGN_TOKEN_FILE (or --token-file): keep the file for an identity that is exchanged for access tokens, or the token for one that is sent as it is\n',
    ],
    [
      'neither token file nor static token',
      [],
      {},
      'COUNTERSIGN_TOKEN_FILE is not set, and neither is COUNTERSIGN_TOKEN: name the file of the projected token, or set the token that is sent as it is\n',
    ],
  ])('refuses %s with 2, and shows no token', async (_what, args, environment, message) => {
    expect(await runOnce(args, environment)).toEqual({ code: 2, stdout: '', stderr: message });
  });

  it.each([
    ['the token’s folder', () => 'identity'],
    ['a folder in it', () => 'identity/..data'],
    ['a folder above it', () => ''],
    ['the root', () => '../../../../../../../..'],
  ])('does not start when jobs could see %s', async (_what, shared) => {
    const path = `${folder}/${shared()}`;
    const before = endpoint.forms.length;
    const args = ['--token-file', 'identity/token', '--shared-folder', join(folder, 'jobs'), '--shared-folder', path];
    const { code, stdout, stderr } = await runOnce(args);
    expect(code).toBe(2);
    expect(stdout).not.toContain('serving');
    expect(stderr).toContain(`folder ${path} must not be shared, because of the token file identity/token: `);
    expect(lines(stderr)).toHaveLength(1);
    expect(endpoint.forms).toHaveLength(before);
  });

  it('says in one line that a token file is no token, naming the file and not its content', async () => {
    await writeFile(join(folder, 'half'), 'eyJhbGciOi');
    const { code, stdout } = await runOnce(['--token-file', 'half']);
    expect(code).toBe(1);
    expect(lines(stdout).at(-1)).toBe('round failed: TokenFileError: token file half: not a compact JWS');
  });
});
