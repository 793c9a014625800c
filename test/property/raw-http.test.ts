/** Bytes on the listening socket that Node answers by itself, or that barely are a request: all answers have a request id. */
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type App, createApp } from '../../src/app/app.ts';
import { type Listener, listen } from '../../src/app/listener.ts';
import { createLog } from '../../src/observe/log.ts';
import { AUDIENCE } from '../fixtures/assertions.ts';
import { settableClock } from '../fixtures/settable-clock.ts';

let app: App;
let listener: Listener;

beforeAll(async () => {
  const config = {
    issuer: AUDIENCE,
    listen: { host: '127.0.0.1', port: 0 },
    databaseUrl: 'sqlite::memory:',
    adminSecret: null,
    declarativeFile: null,
    privateNetworks: [],
    kubernetesCredentials: null,
    inClusterApiServers: [],
    keyFile: null,
    workers: 1,
    logLevel: 'silent',
  } as const;
  app = await createApp(config, { log: createLog('silent', () => {}), clock: settableClock() });
  listener = await listen(app.handler, config.listen);
});
afterAll(async () => {
  await listener.drain();
  await app.close();
});

/** The first head that comes back, in lower case. */
function firstHead(bytes: string): Promise<string> {
  const [host = '', port] = listener.address.split(':');
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = connect(Number(port), host, () => socket.write(bytes));
    socket.setEncoding('latin1').on('data', (chunk) => {
      text += chunk;
      if (text.includes('\r\n\r\n')) socket.destroy();
    });
    socket.on('error', reject).on('close', () => resolve(text.split('\r\n\r\n')[0]?.toLowerCase() ?? ''));
  });
}

async function expectRequestId(_name: string, status: number, bytes: string): Promise<void> {
  const head = await firstHead(bytes);
  expect(head).toMatch(new RegExp(`^http/1.1 ${status} `));
  expect(head).toMatch(/\r\nx-request-id: [0-9a-f-]{36}(\r\n|$)/);
}

const FORM = 'Content-Type: application/x-www-form-urlencoded\r\n';
const POST = 'POST /oauth/token HTTP/1.1\r\n';

it.each<[string, number, string]>([
  ['no HTTP', 400, 'rubbish\r\n\r\n'],
  ['TLS', 400, '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
  ['an older HTTP', 400, 'POST /oauth/token HTTP/1.0\r\n\r\n'],
  ['two lengths', 400, `${POST}Host: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello`],
  ['a length and chunks', 400, `${POST}Host: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n`],
  ['an unknown transfer coding', 400, `${POST}Host: x\r\nTransfer-Encoding: gzip\r\n\r\n`],
  ['a broken chunk', 400, `${POST}Host: x\r\n${FORM}Transfer-Encoding: chunked\r\n\r\nZZ\r\n`],
  ['headers of 20 KiB', 431, `${POST}Host: x\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`],
  ['a broken path', 404, 'POST /oauth/%ZZ HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n'],
  ['TRACE', 405, 'TRACE /oauth/token HTTP/1.1\r\nHost: x\r\n\r\n'],
  ['an upgrade', 405, 'GET /oauth/token HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n'],
  ['an expectation that nobody can meet', 417, `${POST}Host: x\r\nExpect: the-unexpected\r\nContent-Length: 0\r\n\r\n`],
  [
    'two Authorization headers',
    400,
    `${POST}Host: x\r\n${FORM}Authorization: Basic eDpz\r\nAuthorization: Basic eDpz\r\nContent-Length: 29\r\n\r\ngrant_type=client_credentials`,
  ],
  ['no Host', 400, `${POST}Content-Length: 0\r\n\r\n`],
])('%s', expectRequestId);
