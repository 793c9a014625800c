import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { runWorker, UnusableWorkerSetting, type WorkerOptions } from '../../src/worker/run-worker.ts';
import { API, anAccessToken, startKeyServer, WORKLOAD_CLAIM } from '../fixtures/access-tokens.ts';
import { aClusterAssertion, type Claims } from '../fixtures/assertions.ts';
import type { IssuerServer } from '../fixtures/issuer-server.ts';
import { type KubeletVolume, mountKubeletVolume } from '../fixtures/kubelet-volume.ts';
import { type SettableClock, settableClock } from '../fixtures/settable-clock.ts';
import { jsonAnswer, startTokenEndpoint, type TokenEndpoint } from '../fixtures/token-endpoint.ts';

const ASSERTION = aClusterAssertion().build();

let directory: string;
let volume: KubeletVolume;
let clock: SettableClock;
let keyServer: IssuerServer & { readonly jwksPath: string };
let endpoint: TokenEndpoint;
let issued: string[];
let lines: string[];

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'worker-'));
  volume = await mountKubeletVolume(join(directory, 'projected'));
  await volume.write(ASSERTION);
  clock = settableClock();
  keyServer = await startKeyServer();
  endpoint = await startTokenEndpoint();
  endpoint.setMetadata({ jwks_uri: `${keyServer.origin}${keyServer.jwksPath}` });
  issueFor(endpoint.issuer);
  issued = [];
  lines = [];
});
afterEach(async () => {
  await endpoint.close();
  await keyServer.close();
  await rm(directory, { recursive: true });
});

/** Tokens of `issuer`, for the resource that is asked for and else for the issuer itself. */
function issueFor(issuer: string): void {
  endpoint.issueWith((form) => {
    const token = anAccessToken(issuer).with({ aud: form.get('resource') ?? issuer });
    issued.push(token.build());
    return issued.at(-1) ?? '';
  });
}

const work = (options: Partial<WorkerOptions> = {}): Promise<0 | 1> =>
  runWorker({
    issuer: endpoint.issuer,
    credential: { kind: 'token_file', path: volume.tokenPath },
    once: true,
    log: (line) => lines.push(line),
    clock,
    ...options,
  });

const HELLO = JSON.stringify({ hello: 'edge-worker', workload: WORKLOAD_CLAIM });
const serving = expect.stringMatching(/^serving http:\/\/127\.0\.0\.1:\d+\/hello$/);

describe('one round of the worker', () => {
  it('gets a token, calls /hello with it, and succeeds', async () => {
    expect(await work()).toBe(0);
    expect(lines).toEqual([serving, 'access token: 3600 s left, scope "read write"', `GET /hello: 200 ${HELLO}`]);
  });

  it('asks for its resource and scope, and serves /hello under that resource and scope', async () => {
    expect(await work({ resource: API, scope: 'read', clientId: 'edge-worker' })).toBe(0);
    const [form] = endpoint.forms;
    expect(form?.get('resource')).toBe(API);
    expect(form?.get('scope')).toBe('read');
    expect(form?.get('client_id')).toBe('edge-worker');
    expect(form?.get('client_assertion')).toBe(ASSERTION);
  });

  it('needs no way to the issuer identifier when told where token endpoint and keys are, as in a cluster', async () => {
    // Nothing listens there: the identifier is a name, and the audience of the tokens.
    const issuer = 'http://127.0.0.1:1';
    issueFor(issuer);
    const jwksUri = `${keyServer.origin}${keyServer.jwksPath}`;
    expect(await work({ issuer, tokenEndpoint: endpoint.url, jwksUri })).toBe(0);
    expect(endpoint.metadataRequests()).toBe(0);
  });

  it('fails when the server refuses, and says which request to look up', async () => {
    endpoint.queue(jsonAnswer(400, { error: 'invalid_client' }, { 'x-request-id': 'req-7' }));
    expect(await work()).toBe(1);
    expect(lines).toEqual([
      serving,
      'round failed: TokenRequestRefused: the token request was refused: 400 invalid_client (request req-7)',
    ]);
  });

  it('fails when the token file is missing, and names it', async () => {
    await volume.unmount();
    expect(await work()).toBe(1);
    expect(lines[1]).toBe(`round failed: TokenFileError: token file ${volume.tokenPath}: cannot be read (ENOENT)`);
    expect(endpoint.forms).toHaveLength(0);
  });

  it('fails when the token is for another API, and says so', async () => {
    endpoint.issueWith(() => anAccessToken(endpoint.issuer).with({ aud: 'https://b.example.com' }).build());
    expect(await work()).toBe(1);
    expect(lines.slice(2)).toEqual([
      '/hello refused a token: aud_mismatch',
      expect.stringMatching(/^GET \/hello: 401 \{"error":"invalid_token"/),
    ]);
  });

  it('fails when the token lacks the scope', async () => {
    expect(await work({ scope: 'admin' })).toBe(1);
    expect(lines.at(-1)).toMatch(/^GET \/hello: 403 /);
  });

  it('prints neither assertion nor access token', async () => {
    await work();
    const printed = lines.join('\n');
    expect(issued).toHaveLength(1);
    for (const secret of [ASSERTION, ...issued]) {
      for (const part of secret.split('.')) expect(printed).not.toContain(part);
    }
  });

  it('rejects when its port is taken', async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    const address = taken.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    await expect(work({ listen: { host: '127.0.0.1', port } })).rejects.toMatchObject({ code: 'EADDRINUSE' });
    await new Promise((resolve) => taken.close(resolve));
  });
});

describe('the id that the worker was given', () => {
  const ID = 'prod-eks/node_7_internal';

  it.each<[string, (issuer: string) => void, Partial<WorkerOptions>]>([
    ['is in the token', (issuer) => issueWith(issuer, { runner_id: ID }), {}],
    ['is in the token under another claim', (issuer) => issueWith(issuer, { node: ID }), { idClaim: 'node' }],
    [
      'is in the answer',
      (issuer) => {
        const accessToken = anAccessToken(issuer).with({ aud: issuer }).build();
        const answer = { access_token: accessToken, token_type: 'Bearer', expires_in: 60, runner_id: ID };
        endpoint.queue(jsonAnswer(200, answer));
      },
      {},
    ],
  ])('%s, and is printed', async (_what, prepare, options) => {
    prepare(endpoint.issuer);
    expect(await work(options)).toBe(0);
    expect(lines[2]).toBe(`id: ${ID}`);
  });

  function issueWith(issuer: string, claims: Claims): void {
    endpoint.issueWith(() =>
      anAccessToken(issuer)
        .with({ aud: issuer, ...claims })
        .build(),
    );
  }
});

describe('a static token', () => {
  const TOKEN = 'crt_6f1d0e.9-a~b+c/d==';
  const withToken = (token: string, options: Partial<WorkerOptions> = {}) =>
    work({ credential: { kind: 'static_token', token }, ...options });

  it('is sent as it is, to an API that knows it as its own, and nothing is exchanged or fetched', async () => {
    expect(await withToken(TOKEN)).toBe(0);
    expect(lines).toEqual([serving, 'static token: sent as it is', 'GET /hello: 200 {"hello":null,"workload":null}']);
    expect([endpoint.forms.length, endpoint.metadataRequests(), keyServer.requests.length]).toEqual([0, 0, 0]);
  });

  it('has the scope that is asked for', async () => {
    expect(await withToken(TOKEN, { scope: 'read write' })).toBe(0);
  });

  it('may be an access token, which is verified and still not exchanged', async () => {
    const token = anAccessToken(endpoint.issuer).with({ aud: endpoint.issuer }).build();
    expect(await withToken(token)).toBe(0);
    expect(lines.at(-1)).toBe(`GET /hello: 200 ${HELLO}`);
    expect(endpoint.forms).toHaveLength(0);
  });

  it('that only looks like an access token is refused, although the API was started with it', async () => {
    const token = anAccessToken(endpoint.issuer).with({ aud: 'https://b.example.com' }).build();
    expect(await withToken(token)).toBe(1);
    expect(lines.slice(1)).toEqual([
      'static token: sent as it is',
      '/hello refused a token: aud_mismatch',
      expect.stringMatching(/^GET \/hello: 401 /),
      'the static token was refused: ask for another one where it was minted',
    ]);
    expect(endpoint.forms).toHaveLength(0);
  });

  it('is not printed', async () => {
    await withToken(TOKEN);
    expect(lines.join('\n')).not.toContain(TOKEN);
  });
});

describe('a shared folder', () => {
  it('keeps the worker from starting when it would expose the token', async () => {
    const sharedFolders = [join(directory, 'jobs'), directory];
    await mkdir(join(directory, 'jobs'));
    const error = await work({ sharedFolders }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(UnusableWorkerSetting);
    expect(error).toMatchObject({ message: expect.stringContaining(`folder ${directory} must not be shared`) });
    expect(error).toMatchObject({ message: expect.stringContaining(volume.tokenPath) });
    // It has neither asked for a token nor listened.
    expect(endpoint.forms).toHaveLength(0);
    expect(lines.filter((line) => line.startsWith('serving'))).toEqual([]);
  });

  it('elsewhere is named, and the worker starts', async () => {
    expect(await work({ sharedFolders: [join(dirname(directory), 'jobs-of-others')] })).toBe(0);
    expect(lines[0]).toMatch(/^shared folder .*\/jobs-of-others: the token's folder stays out of it$/);
  });

  it('has no meaning without a token file', async () => {
    const credential = { kind: 'static_token', token: 'x' } as const;
    await expect(work({ credential, sharedFolders: ['/srv'] })).rejects.toBeInstanceOf(UnusableWorkerSetting);
  });
});

it.each<[string, Partial<WorkerOptions>, string]>([
  ['an issuer over plain http', { issuer: 'http://as.example.com' }, 'issuer must be https'],
  ['an id claim that holds a token', { idClaim: 'access_token' }, 'idClaim "access_token"'],
])('a worker with %s does not start', async (_what, options, message) => {
  const error = await work(options).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(UnusableWorkerSetting);
  expect(error).toMatchObject({ message: expect.stringContaining(message) });
  expect(lines).toEqual([]);
});

describe('the worker that stays', () => {
  const startWorker = (options: Partial<WorkerOptions> = {}) => {
    const stop = new AbortController();
    const done = work({ once: false, intervalSeconds: 0.005, signal: stop.signal, ...options });
    return { stop: () => stop.abort(), done };
  };
  const url = (): string => lines[0]?.replace('serving ', '').replace('/hello', '') ?? '';
  const untilLines = (count: number, pattern: RegExp) =>
    vi.waitFor(() => expect(lines.filter((line) => pattern.test(line)).length).toBeGreaterThanOrEqual(count), {
      interval: 2,
    });

  it('plays round after round with one token, until it is told to stop', async () => {
    const worker = startWorker();
    await untilLines(3, /^GET \/hello: 200/);
    worker.stop();
    expect(await worker.done).toBe(0);
    expect(lines.at(-1)).toBe('stopping');
    expect(endpoint.forms).toHaveLength(1);
  });

  it('serves /healthz to anybody and /hello to holders of a token, on every address when asked', async () => {
    const worker = startWorker({ listen: { host: '0.0.0.0', port: 0 } });
    await untilLines(1, /^GET \/hello: 200/);
    const health = await fetch(`${url()}/healthz`);
    expect([health.status, await health.text()]).toEqual([200, 'ok\n']);
    const anonymous = await fetch(`${url()}/hello`);
    expect([anonymous.status, anonymous.headers.get('www-authenticate')]).toEqual([
      401,
      `Bearer realm="${endpoint.issuer}"`,
    ]);
    const known = await fetch(`${url()}/hello`, { headers: { authorization: `Bearer ${issued[0]}` } });
    expect([known.status, await known.text()]).toEqual([200, HELLO]);
    worker.stop();
    await worker.done;
    await expect(fetch(`${url()}/healthz`)).rejects.toThrow();
  });

  it('goes on after a failed round', async () => {
    endpoint.queue(jsonAnswer(400, { error: 'invalid_client' }));
    const worker = startWorker();
    await untilLines(1, /^round failed: TokenRequestRefused/);
    await volume.write(aClusterAssertion().with({ jti: 'next' }).build());
    await untilLines(1, /^GET \/hello: 200/);
    worker.stop();
    expect(await worker.done).toBe(0);
  });

  it('gets another token when /hello refuses the one it has', async () => {
    let requests = 0;
    endpoint.issueWith(() => {
      requests += 1;
      return anAccessToken(endpoint.issuer)
        .with({ aud: requests === 1 ? 'https://b.example.com' : endpoint.issuer })
        .build();
    });
    const worker = startWorker();
    await untilLines(1, /^GET \/hello: 401/);
    await untilLines(1, /^GET \/hello: 200/);
    worker.stop();
    await worker.done;
    expect(requests).toBe(2);
  });

  it('stops at once while a server that does not answer keeps a round waiting', async () => {
    endpoint.queue(() => {});
    const worker = startWorker();
    await vi.waitFor(() => expect(endpoint.forms).toHaveLength(1), { interval: 2 });
    worker.stop();
    expect(await worker.done).toBe(0);
  }, 2_000);
});
