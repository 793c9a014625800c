import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AUDIENCE } from '../fixtures/assertions.ts';
import { currentAssertion, killAll, runCommand, ServerProcess, tokenRequest } from './command-line.ts';

const DATABASE = ['--database-url', 'sqlite:data/countersign.db'];

let folder: string;
let server: ServerProcess;
/** An assertion that has been used. */
let used: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'countersign-serve-'));
  server = await ServerProcess.start(folder);
  await server.trustCluster();
});
afterAll(async () => {
  killAll();
  await rm(folder, { recursive: true });
});

describe('serve on an empty machine', () => {
  it('makes what it needs in data/, for its own eyes only', async () => {
    const data = join(folder, 'data');
    expect(await readdir(folder)).toEqual(['data']);
    expect((await stat(data)).mode & 0o777).toBe(0o700);
    const files = await readdir(data);
    expect(files).toEqual(expect.arrayContaining(['admin-secret', 'countersign.db', 'key-encryption-key']));
    for (const file of files) expect([file, (await stat(join(data, file))).mode & 0o777]).toEqual([file, 0o600]);
  });

  it('says where it made the admin secret, and not what it is', () => {
    const line = server.log.find(({ message }) => message === 'admin secret');
    expect(line).toMatchObject({ level: 'info', admin_secret_file: 'data/admin-secret', is_new: true });
  });

  it('is alive and ready', async () => {
    expect(await server.get('/healthz')).toMatchObject({ status: 200, json: { status: 'ok' } });
    expect(await server.get('/readyz')).toMatchObject({ status: 200, json: { status: 'ready' } });
  });

  it('issues a token to a bound workload', async () => {
    used = currentAssertion().build();
    expect(await server.token(used)).toMatchObject({ status: 200, json: { token_type: 'Bearer', scope: 'read' } });
    expect(await server.token(used)).toMatchObject({ status: 400, json: { error: 'invalid_client' } });
  });
});

describe.concurrent('beside the running server,', () => {
  const explain = async (name: string, assertion: string) => {
    const file = join(folder, name);
    await writeFile(file, `${assertion}\n`);
    return runCommand(folder, ['explain', '--token-file', file, ...DATABASE, '--issuer', AUDIENCE]);
  };

  it('a second one on the same port ends with the setting and its mend', async () => {
    const address = new URL(server.url).host;
    const second = await runCommand(folder, ['serve', '--listen', address, '--database-url', 'sqlite::memory:']);
    expect(second.code).toBe(2);
    expect(second.stderr).toBe(
      `COUNTERSIGN_LISTEN ${address} can not be used (EADDRINUSE): set COUNTERSIGN_LISTEN to an address and port that are free on this machine\n`,
    );
  });

  it('explain says that an assertion would be accepted, with 0, and does not use it up', async () => {
    const assertion = currentAssertion().build();
    const { code, stdout } = await explain('fresh', assertion);
    expect(stdout.trim().split('\n').at(-1)).toBe('accepted as client edge-worker');
    expect(stdout).not.toContain(assertion);
    expect(code).toBe(0);
    expect((await server.token(assertion)).status).toBe(200);
  });

  it('explain says why one would be refused, with 1', async () => {
    const { code, stdout } = await explain('used', used);
    expect(stdout.trim().split('\n').at(-1)).toBe('refused: replayed');
    expect(code).toBe(1);
  });
});

it('keys rotate publishes a key within seconds, without a restart, and tokens verify all the while', async () => {
  const keySet = createRemoteJWKSet(new URL(`${server.url}/.well-known/jwks.json`), { cooldownDuration: 0 });
  const kids = async () => {
    const { json } = await server.get('/.well-known/jwks.json');
    return (json.keys as readonly { kid: string }[]).map(({ kid }) => kid);
  };
  const verified = async () => {
    const { json } = await server.token(currentAssertion().build());
    await jwtVerify(String(json.access_token), keySet, { typ: 'at+jwt', issuer: AUDIENCE });
    return decodeProtectedHeader(String(json.access_token)).kid;
  };
  const [before, signer] = [await kids(), await verified()];
  expect(before).toHaveLength(2);

  const rotated = await runCommand(folder, ['keys', 'rotate', ...DATABASE]);
  const rotatedAt = performance.now();
  const [line = ''] = rotated.stdout.split('\n');
  const kid = line.split(' ')[0] ?? '';
  expect([rotated.code, line]).toEqual([0, expect.stringMatching(/^[\w-]{43} {2}ES256 {2}next {5}signs from 2\S+Z$/)]);

  const listed = await runCommand(folder, ['keys', 'list', ...DATABASE]);
  expect(
    listed.stdout
      .trim()
      .split('\n')
      .map((key) => key.split(/ +/).slice(0, 3)),
  ).toEqual(
    expect.arrayContaining([
      [kid, 'ES256', 'next'],
      [signer, 'ES256', 'active'],
      [expect.any(String), 'RS256', 'active'],
    ]),
  );

  while (!(await kids()).includes(kid) && performance.now() - rotatedAt < 6_000) await sleep(100);
  expect(await kids()).toEqual(expect.arrayContaining([...before, kid]));
  expect(await verified()).toBe(signer);
});

it('DBS-06: kill -9 forgets no used assertion', async () => {
  server.signal('SIGKILL');
  expect(await server.ended()).toBeNull();
  server = await ServerProcess.start(folder);
  expect(server.log.find(({ message }) => message === 'admin secret')).toMatchObject({ is_new: false });
  expect(await server.token(used)).toMatchObject({ status: 400, json: { error: 'invalid_client' } });
  expect((await server.token(currentAssertion().build())).status).toBe(200);
});

describe('SIGTERM', () => {
  let slow: ClientRequest;
  let answer: Promise<IncomingMessage>;
  let signalledAt: number;
  const body = tokenRequest(currentAssertion().build()).toString();

  beforeAll(async () => {
    ({ slow, answer } = await slowRequest(server.url, body));
    server.signal('SIGTERM');
    signalledAt = performance.now();
    while (!server.log.some(({ message }) => message === 'draining')) await sleep(5);
  });

  it('refuses new connections from then on', async () => {
    const { hostname, port } = new URL(server.url);
    const refused = new Promise((resolve) => connect(Number(port), hostname).on('error', resolve));
    expect(await refused).toMatchObject({ code: 'ECONNREFUSED' });
  });

  it('lets the request under way have its answer', async () => {
    slow.end(body);
    const response = await answer;
    expect(response.statusCode).toBe(200);
    expect(JSON.parse(await text(response))).toMatchObject({ token_type: 'Bearer' });
  });

  it('then ends with 0, at once, although the client would keep its connection', async () => {
    expect(await server.ended()).toBe(0);
    expect(performance.now() - signalledAt).toBeLessThan(2_000);
    await expect.poll(() => server.log.at(-1)).toMatchObject({ message: 'stopped' });
  });
});

/** A token request whose headers have been read by the server, and whose body is still to be sent. */
async function slowRequest(url: string, body: string) {
  const agent = new Agent({ keepAlive: true });
  const slow = request(`${url}/oauth/token`, {
    agent,
    method: 'POST',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      'content-length': Buffer.byteLength(body),
      expect: '100-continue',
    },
  });
  const answer = new Promise<IncomingMessage>((resolve, reject) => slow.on('response', resolve).on('error', reject));
  const isRead = new Promise((resolve) => slow.once('continue', resolve));
  slow.flushHeaders();
  await isRead;
  return { slow, answer };
}
