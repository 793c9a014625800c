/** What an outbound fetch takes and how long it waits. Servers are real, on loopback. */
import { execFile } from 'node:child_process';
import { createServer, type Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { promisify } from 'node:util';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { describeFetchFailure, type FetchFailure } from '../../src/key-source/fetch-failure.ts';
import {
  createOutboundFetch,
  FETCH_DEADLINE_MS,
  type FetchJsonRequest,
  MAX_DOCUMENT_BYTES,
} from '../../src/key-source/outbound-fetch.ts';
import {
  type IssuerServer,
  OTHER_CA_PEM,
  startIssuerServer,
  TEST_CA_FILE,
  TEST_CA_PEM,
} from '../fixtures/issuer-server.ts';

const REQUEST: FetchJsonRequest = { caPem: TEST_CA_PEM, allowPrivateNetwork: true, accept: 'application/json' };
const privateNetworks = ['127.0.0.0/8'];
const lookup = async () => ['127.0.0.1'];
const fetchJson = createOutboundFetch({ privateNetworks, lookup });
/** For servers that never finish. */
const impatient = createOutboundFetch({ privateNetworks, lookup, deadlineMs: 400 });
const DOCUMENT = { keys: ['é'] };
const BODY = JSON.stringify(DOCUMENT);
/** A body text that no failure may carry. */
const CANARY = 'canary-in-the-body';

let server: IssuerServer;
let url: string;
beforeEach(async () => {
  server = await startIssuerServer();
  url = `${server.origin}/keys`;
});
afterEach(() => server.close());

function serve(body: string | Buffer, headers: Record<string, string> = {}, status = 200): void {
  server.route('/keys', (_request, response) => response.writeHead(status, headers).end(body));
}

async function failureOf(result: ReturnType<typeof fetchJson>): Promise<FetchFailure> {
  const settled = await result;
  if (settled.ok) throw new Error('the fetch succeeded');
  expect(describeFetchFailure(settled.error)).not.toContain(CANARY);
  return settled.error;
}

describe('a document', () => {
  it('is answered with its size and max-age', async () => {
    serve(BODY, { 'cache-control': 'public, max-age=3600' });
    expect(await fetchJson(url, REQUEST)).toEqual({
      ok: true,
      value: { status: 200, document: DOCUMENT, cacheControlMaxAge: 3600, bytes: Buffer.byteLength(BODY) },
    });
  });

  it('FET-04: is asked for without credentials, with exactly the headers we mean to send', async () => {
    serve(BODY);
    await fetchJson(url, REQUEST);
    expect(server.requests).toEqual([
      {
        path: '/keys',
        headers: {
          accept: 'application/json',
          'accept-encoding': 'identity',
          connection: 'close',
          host: `127.0.0.1:${server.port}`,
          'user-agent': 'countersign',
        },
      },
    ]);
  });

  it.each([
    'application/jwk-set+json',
    'application/json',
    'application/jwk+json; charset=utf-8',
    'text/plain; charset=utf-8',
    'binary/octet-stream',
    '',
  ])('is taken as media type %j: what counts is that it parses', async (mediaType) => {
    serve(BODY, mediaType === '' ? {} : { 'content-type': mediaType });
    expect(await fetchJson(url, REQUEST)).toMatchObject({ ok: true, value: { document: DOCUMENT } });
  });

  it.each([
    ['gzip', gzipSync(BODY)],
    ['GZIP', gzipSync(BODY)],
    ['deflate', deflateSync(BODY)],
    ['br', brotliCompressSync(BODY)],
    ['identity', BODY],
  ])('is unpacked from %s although none was asked for', async (encoding, body) => {
    serve(body, { 'content-encoding': encoding });
    expect(await fetchJson(url, REQUEST)).toMatchObject({ ok: true, value: { document: DOCUMENT } });
  });

  it('is fetched over a connection of its own each time', async () => {
    serve(BODY);
    await fetchJson(url, REQUEST);
    await fetchJson(url, REQUEST);
    expect(server.connections()).toBe(2);
  });
});

describe('an answer that is not a document', () => {
  it.each([301, 302, 303, 307, 308])(
    'FET-12: status %i is an unexpected redirect, and is not followed',
    async (status) => {
      server.json('/elsewhere', DOCUMENT);
      serve(`<html>${CANARY}</html>`, { location: `${server.origin}/elsewhere`, 'content-type': 'text/html' }, status);
      const failure = await failureOf(fetchJson(url, REQUEST));
      expect(failure).toEqual({ code: 'unexpected_redirect', status });
      expect(describeFetchFailure(failure)).toContain('unexpected redirect');
      expect(server.hits('/elsewhere')).toBe(0);
    },
  );

  it.each([
    [401, 'anonymous_access_refused'],
    [403, 'anonymous_access_refused'],
    [404, null],
    [406, null],
    [500, null],
    [503, null],
    [201, null],
    [204, null],
    [206, null],
  ])('status %i is a failure, its body unread', async (status, hint) => {
    serve(status === 204 ? '' : `{"keys":[],"x":"${CANARY}"}`, {}, status);
    expect(await failureOf(fetchJson(url, REQUEST))).toEqual({ code: 'unexpected_status', status, hint });
  });

  it('FET-11: a refused anonymous caller is told what to do', async () => {
    serve('{"kind":"Status","status":"Failure","code":403}', {}, 403);
    const failure = await failureOf(fetchJson(url, REQUEST));
    expect(describeFetchFailure(failure)).toMatch(/answered 403.*system:service-account-issuer-discovery.*static_jwks/);
  });

  it.each([
    ['HTML', `<html>${CANARY}</html>`, 'text/html; charset=utf-8', 'not JSON', 'text/html'],
    ['nothing', '', 'application/json', 'not JSON', 'application/json'],
    ['half a document', '{"keys":[', 'application/json', 'not JSON', 'application/json'],
    ['JSON in Latin-1', Buffer.from(BODY, 'latin1'), 'application/json', 'not UTF-8', 'application/json'],
    ['a media type full of text', 'x', `text/${CANARY} and more`, 'not JSON', null],
  ])('%s is not JSON', async (_what, body, contentType, problem, mediaType) => {
    serve(body, { 'content-type': contentType });
    expect(await failureOf(fetchJson(url, REQUEST))).toEqual({ code: 'not_json', problem, mediaType });
  });

  it('compressed in a way we do not know, it is a failure', async () => {
    serve(BODY, { 'content-encoding': 'zstd' });
    expect(await failureOf(fetchJson(url, REQUEST))).toEqual({ code: 'encoding_unsupported' });
  });

  it('compressed data that is damaged is a failure', async () => {
    serve(BODY, { 'content-encoding': 'gzip' });
    expect(await failureOf(fetchJson(url, REQUEST))).toEqual({ code: 'answer_broken', cause: 'Z_DATA_ERROR' });
  });
});

it('what is left of an unwanted answer is not waited for: the connection is closed', async () => {
  const closed = Promise.withResolvers<void>();
  server.route('/keys', (_request, response) => {
    response.once('close', closed.resolve);
    response.writeHead(500);
    response.write('and so on');
  });
  expect(await failureOf(fetchJson(url, REQUEST))).toMatchObject({ code: 'unexpected_status', status: 500 });
  await closed.promise;
});

describe('the size', () => {
  const tooLarge = { code: 'too_large', maxBytes: MAX_DOCUMENT_BYTES };
  const padded = (bytes: number) => JSON.stringify('x'.repeat(bytes - 2));

  it('of 1 MiB is the largest that is read', async () => {
    serve(padded(MAX_DOCUMENT_BYTES));
    expect(await fetchJson(url, REQUEST)).toMatchObject({ ok: true, value: { bytes: MAX_DOCUMENT_BYTES } });
  });

  it('is refused when announced', async () => {
    serve(padded(MAX_DOCUMENT_BYTES + 1));
    expect(await failureOf(fetchJson(url, REQUEST))).toEqual(tooLarge);
  });

  it('is refused when streamed without an end', async () => {
    server.route('/keys', (_request, response) => {
      const more = (error?: Error | null) => {
        if (!error && !response.destroyed) response.write(Buffer.alloc(65_536, 'x'), more);
      };
      more();
    });
    expect(await failureOf(fetchJson(url, REQUEST))).toEqual(tooLarge);
  });

  it('is refused when it unpacks to more', async () => {
    const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024, ' '));
    expect(bomb.length).toBeLessThan(MAX_DOCUMENT_BYTES);
    serve(bomb, { 'content-encoding': 'gzip' });
    expect(await failureOf(fetchJson(url, REQUEST))).toEqual(tooLarge);
  });

  it('is refused when it is packed in more bytes than it holds', async () => {
    const nothing = gzipSync('');
    const hollow = Buffer.concat(
      Array.from({ length: Math.ceil(MAX_DOCUMENT_BYTES / nothing.length) + 1 }, () => nothing),
    );
    server.route('/keys', (_request, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' });
      response.write(hollow.subarray(0, 1000));
      response.end(hollow.subarray(1000));
    });
    expect(await failureOf(fetchJson(url, REQUEST))).toEqual(tooLarge);
  });
});

describe('the time', () => {
  it('is three seconds in all', () => {
    expect(FETCH_DEADLINE_MS).toBe(3000);
  });

  it('FET-14: ends a fetch whose server says nothing', async () => {
    server.route('/keys', () => {});
    expect(await failureOf(impatient(url, REQUEST))).toEqual({
      code: 'timeout',
      seconds: 0.4,
      stage: 'waiting for the answer',
    });
  });

  it('FET-14: ends a fetch whose server drips', async () => {
    server.route('/keys', (_request, response) => {
      response.writeHead(200);
      const drip = setInterval(() => response.write(' '), 10);
      response.once('close', () => clearInterval(drip));
    });
    expect(await failureOf(impatient(url, REQUEST))).toMatchObject({ code: 'timeout', stage: 'reading' });
  });

  it('ends a fetch whose server never finishes the TLS handshake', async () => {
    const silent = await startSilentServer();
    expect(await failureOf(impatient(`https://127.0.0.1:${silent.port}/`, REQUEST))).toMatchObject({
      code: 'timeout',
      stage: 'TLS handshake',
    });
    silent.close();
  });

  it('ends a fetch whose name does not resolve in time', async () => {
    const waiting = createOutboundFetch({ privateNetworks, lookup: () => new Promise(() => {}), deadlineMs: 30 });
    expect(await failureOf(waiting('https://issuer.test/', REQUEST))).toMatchObject({
      code: 'timeout',
      stage: 'name resolution',
    });
  });

  it('ends at once when the caller gives up', async () => {
    const caller = new AbortController();
    server.route('/keys', () => caller.abort());
    expect(await failureOf(fetchJson(url, { ...REQUEST, signal: caller.signal }))).toEqual({ code: 'aborted' });
    expect(await failureOf(fetchJson(url, { ...REQUEST, signal: caller.signal }))).toEqual({ code: 'aborted' });
    expect(server.hits('/keys')).toBe(1);
  });
});

describe('a connection', () => {
  it('that is refused is a failure with its code', async () => {
    await server.close();
    const failure = await failureOf(fetchJson(url, REQUEST));
    expect(failure).toEqual({ code: 'connect_failed', host: '127.0.0.1', cause: 'ECONNREFUSED' });
  });

  it('that breaks within the answer is a failure', async () => {
    server.route('/keys', (_request, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write(CANARY);
      setTimeout(() => response.destroy(), 5);
    });
    expect(await failureOf(fetchJson(url, REQUEST))).toEqual({ code: 'answer_broken', cause: 'ECONNRESET' });
  });

  it('that switches protocols is a failure', async () => {
    server.route('/keys', (_request, response) => {
      response.writeHead(101, { connection: 'upgrade', upgrade: 'websocket' }).end();
    });
    expect(await failureOf(fetchJson(url, REQUEST))).toEqual({ code: 'answer_broken', cause: 'ECONNRESET' });
  });

  it('to something that does not speak HTTP is a failure', async () => {
    const silent = await startSilentServer((socket) => socket.end(`220 ${CANARY}\r\n`));
    expect(await failureOf(fetchJson(`http://127.0.0.1:${silent.port}/`, REQUEST))).toMatchObject({
      code: 'answer_broken',
    });
    silent.close();
  });

  it.each([
    ['no such name', async () => Promise.reject(Object.assign(new Error('x'), { code: 'ENOTFOUND' })), 'ENOTFOUND'],
    ['no address', async () => [], 'no address'],
  ])('needs a name that resolves: %s', async (_what, failingLookup, cause) => {
    const fetchNowhere = createOutboundFetch({ privateNetworks, lookup: failingLookup });
    expect(await failureOf(fetchNowhere('https://issuer.test/', REQUEST))).toEqual({
      code: 'dns_failed',
      host: 'issuer.test',
      cause,
    });
  });
});

describe('TLS', () => {
  it('FET-09: works with the issuer’s CA, and fails with no CA or another one', async () => {
    serve(BODY);
    expect(await fetchJson(url, REQUEST)).toMatchObject({ ok: true });
    const missing = await failureOf(fetchJson(url, { ...REQUEST, caPem: null }));
    expect(missing).toMatchObject({ code: 'tls_failed', cause: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' });
    expect(describeFetchFailure(missing)).toContain('ca_pem');
    const wrong = await failureOf(fetchJson(url, { ...REQUEST, caPem: OTHER_CA_PEM }));
    expect(wrong).toMatchObject({ code: 'tls_failed', cause: expect.stringMatching(/^(UNABLE_TO|CERT_SIGNATURE)/) });
    expect(server.requests).toHaveLength(1);
  });

  it('takes a bundle of CAs, with text between them', async () => {
    serve(BODY);
    const caPem = `# old\n${OTHER_CA_PEM}\n# new\r\n${TEST_CA_PEM}`;
    expect(await fetchJson(url, { ...REQUEST, caPem })).toMatchObject({ ok: true });
  });

  it.each(['', 'garbage', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'])(
    'never falls back to the system’s roots for an unreadable CA: %j',
    async (caPem) => {
      expect(await failureOf(fetchJson(url, { ...REQUEST, caPem }))).toEqual({ code: 'ca_pem_invalid' });
      expect(server.connections()).toBe(0);
    },
  );

  it('DSC-09: fails for a certificate of another name, and says so', async () => {
    const named = await startIssuerServer('named');
    const asked: unknown[] = [];
    named.route('/keys', ({ socket }, response) => {
      asked.push((socket as TLSSocket).servername);
      response.end(BODY);
    });
    const byAddress = await failureOf(fetchJson(`${named.origin}/keys`, REQUEST));
    expect(byAddress).toMatchObject({ code: 'tls_failed', cause: 'ERR_TLS_CERT_ALTNAME_INVALID' });
    expect(describeFetchFailure(byAddress)).toContain('ERR_TLS_CERT_ALTNAME_INVALID');
    const byOtherName = await failureOf(fetchJson(`https://issuer.test:${named.port}/keys`, REQUEST));
    expect(byOtherName).toMatchObject({ cause: 'ERR_TLS_CERT_ALTNAME_INVALID' });
    expect(named.requests).toHaveLength(0);
    for (const host of ['api.example.com', 'api.example.com.']) {
      expect(await fetchJson(`https://${host}:${named.port}/keys`, REQUEST)).toMatchObject({ ok: true });
    }
    expect(asked).toEqual(['api.example.com', 'api.example.com']);
    await named.close();
  });

  it('FET-09: uses NODE_EXTRA_CA_CERTS without ca_pem, and no variable turns the check off', async () => {
    serve(BODY);
    const script = `
      import { createOutboundFetch } from ${JSON.stringify(new URL('../../src/key-source/outbound-fetch.ts', import.meta.url).href)};
      const fetchJson = createOutboundFetch({ privateNetworks: ['127.0.0.0/8'] });
      const result = await fetchJson(${JSON.stringify(url)}, { caPem: null, allowPrivateNetwork: true, accept: '*/*' });
      console.log(result.ok ? 'ok' : result.error.code);`;
    const run = async (env: NodeJS.ProcessEnv) =>
      (await promisify(execFile)(process.execPath, ['--no-warnings', '--input-type=module', '-e', script], { env }))
        .stdout;
    expect(await run({ NODE_EXTRA_CA_CERTS: TEST_CA_FILE })).toBe('ok\n');
    expect(await run({ NODE_TLS_REJECT_UNAUTHORIZED: '0' })).toBe('tls_failed\n');
  });
});

/** Accepts connections and does nothing, or only what the test says. */
async function startSilentServer(onConnection: (socket: Socket) => void = () => {}) {
  const sockets: Socket[] = [];
  const silent = createServer((socket) => {
    sockets.push(socket.on('error', () => {}));
    onConnection(socket);
  });
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const address = silent.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    close: () => {
      silent.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
