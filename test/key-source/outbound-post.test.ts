/** The one POST that carries a credential: what it sends, where it does not go, and what it takes. */
import type { IncomingMessage } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createApiServerPost } from '../../src/key-source/api-server-post.ts';
import { createOutboundPost, MAX_ANSWER_BYTES } from '../../src/key-source/outbound-fetch.ts';
import type { PostJsonRequest } from '../../src/key-source/outbound-request.ts';
import { REVIEWER_CERT_PEM, REVIEWER_KEY_PEM } from '../fixtures/api-server.ts';
import { type IssuerServer, OTHER_CA_PEM, startIssuerServer, TEST_CA_PEM } from '../fixtures/issuer-server.ts';

const TOKEN = 'bearer-canary';
const REQUEST: PostJsonRequest = {
  body: { text: 'é' },
  bearerToken: TOKEN,
  clientCertificate: null,
  caPem: TEST_CA_PEM,
  allowPrivateNetwork: true,
  deadlineMs: 3000,
};
const options = { privateNetworks: ['127.0.0.0/8'], lookup: async () => ['127.0.0.1'] };
const postJson = createOutboundPost(options);
const describedPost = createApiServerPost(options);

let server: IssuerServer;
let url: string;
const bodies: string[] = [];
beforeEach(async () => {
  server = await startIssuerServer();
  url = `${server.origin}/reviews`;
  bodies.length = 0;
});
afterEach(() => server.close());

function serve(status: number, body: string, headers: Record<string, string> = {}): void {
  server.route('/reviews', async (request: IncomingMessage, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    bodies.push(Buffer.concat(chunks).toString());
    response.writeHead(status, headers).end(body);
  });
}

describe('a POST', () => {
  it('sends the document and the token, with exactly the headers that we mean to send', async () => {
    serve(201, '{"a":1}');
    expect(await postJson(url, REQUEST)).toEqual({
      ok: true,
      value: { status: 201, document: { a: 1 }, retryAfterSeconds: null },
    });
    expect(bodies).toEqual(['{"text":"é"}']);
    expect(server.requests).toEqual([
      {
        path: '/reviews',
        headers: {
          accept: 'application/json',
          'accept-encoding': 'identity',
          authorization: `Bearer ${TOKEN}`,
          connection: 'keep-alive',
          'content-length': '13',
          'content-type': 'application/json',
          host: `127.0.0.1:${server.port}`,
          'user-agent': 'countersign',
        },
      },
    ]);
  });

  it('has no Authorization header without a token', async () => {
    serve(200, '{}');
    await postJson(url, { ...REQUEST, bearerToken: null });
    expect(server.requests[0]?.headers).not.toHaveProperty('authorization');
  });

  it.each([
    ['7', 7],
    ['0', 0],
    [' 12 ', 12],
    ['Mon, 30 Nov 2026 12:00:00 GMT', null],
    ['-1', null],
    ['1.5', null],
    ['99999999999', null],
  ])('takes Retry-After %j as %j', async (header, seconds) => {
    serve(429, 'unread', { 'retry-after': header });
    expect(await postJson(url, REQUEST)).toEqual({
      ok: true,
      value: { status: 429, document: null, retryAfterSeconds: seconds },
    });
  });

  it.each([400, 401, 403, 404, 409, 500, 503, 204])(
    'answers with status %i and reads no body of it',
    async (status) => {
      serve(status, status === 204 ? '' : '{"kind":"TokenReview"}');
      expect(await postJson(url, REQUEST)).toEqual({
        ok: true,
        value: { status, document: null, retryAfterSeconds: null },
      });
    },
  );

  it.each([301, 302, 303, 307, 308])('does not follow status %i', async (status) => {
    const elsewhere = await startIssuerServer();
    serve(status, '', { location: `${elsewhere.origin}/` });
    expect(await postJson(url, REQUEST)).toEqual({ ok: false, error: { code: 'unexpected_redirect', status } });
    expect(elsewhere.connections()).toBe(0);
    expect(server.requests).toHaveLength(1);
    await elsewhere.close();
  });

  it('is sent once, whatever becomes of it', async () => {
    server.route('/reviews', (request) => void request.socket.destroy());
    expect(await postJson(url, REQUEST)).toEqual({ ok: false, error: { code: 'answer_broken', cause: 'ECONNRESET' } });
    expect(server.connections()).toBe(1);
  });
});

describe('a credential', () => {
  it.each([
    ['over plain http, even in a private network', 'http', 'scheme_refused'],
    ['to an address that the row does not allow', 'https', 'address_refused'],
  ])('is not sent %s', async (_what, scheme, code) => {
    serve(200, '{}');
    const request = { ...REQUEST, allowPrivateNetwork: scheme === 'http' };
    expect(await postJson(url.replace('https', scheme), request)).toMatchObject({ ok: false, error: { code } });
    expect(server.connections()).toBe(0);
  });

  it('is not sent to a server of another CA', async () => {
    serve(200, '{}');
    const posted = await describedPost(url, { ...REQUEST, caPem: OTHER_CA_PEM });
    expect(posted).toMatchObject({ ok: false, error: { code: 'tls_failed' } });
    expect(JSON.stringify(posted)).toContain('kubernetes_api_server_ca_pem');
    expect(server.requests).toHaveLength(0);
  });

  it('is in no failure', async () => {
    serve(200, `<html>${TOKEN}</html>`, { 'content-type': 'text/html' });
    const failures = [
      await describedPost(url, REQUEST),
      await describedPost(url, { ...REQUEST, clientCertificate: { certPem: TOKEN, keyPem: TOKEN } }),
      await describedPost(url, { ...REQUEST, bearerToken: `${TOKEN}\r\nx: y` }),
      await describedPost(`https://user:${TOKEN}@127.0.0.1/`, REQUEST),
    ];
    expect(failures.map((failure) => failure.ok)).toEqual([false, false, false, false]);
    expect(JSON.stringify(failures)).not.toContain(TOKEN);
  });
});

describe('an answer', () => {
  it('of 64 KiB is the largest that is read', async () => {
    serve(201, JSON.stringify('x'.repeat(MAX_ANSWER_BYTES - 2)));
    expect(await postJson(url, REQUEST)).toMatchObject({ ok: true });
    serve(201, JSON.stringify('x'.repeat(MAX_ANSWER_BYTES - 1)));
    expect(await postJson(url, REQUEST)).toEqual({
      ok: false,
      error: { code: 'too_large', maxBytes: MAX_ANSWER_BYTES },
    });
  });

  it.each([
    [400, 300, 0.3],
    [300, 400, 0.3],
  ])('is waited for no longer than the call and the whole allow', async (ofCall, ofWhole, seconds) => {
    server.route('/reviews', () => {});
    const impatient = createOutboundPost({ ...options, deadlineMs: ofWhole });
    expect(await impatient(url, { ...REQUEST, deadlineMs: ofCall })).toEqual({
      ok: false,
      error: { code: 'timeout', seconds, stage: 'waiting for the answer' },
    });
  });
});

describe('a connection', () => {
  const vetted: string[] = [];
  const post = createOutboundPost({ ...options, lookup: async () => vetted });
  const address = () => `https://issuer.test:${server.port}/reviews`;
  beforeEach(() => {
    vetted.splice(0, vetted.length, '127.0.0.1');
    serve(201, '{}');
  });

  it('is used again, by any number of calls', async () => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error) => warnings.push(warning);
    process.on('warning', onWarning);
    for (let count = 0; count < 20; count += 1) {
      expect(await post(address(), REQUEST)).toMatchObject({ ok: true });
    }
    process.off('warning', onWarning);
    expect(server.connections()).toBe(1);
    expect(warnings).toEqual([]);
  });

  it.each<[string, Partial<PostJsonRequest>, readonly string[]]>([
    ['another CA', { caPem: `${OTHER_CA_PEM}${TEST_CA_PEM}` }, ['127.0.0.1']],
    [
      'a client certificate',
      { clientCertificate: { certPem: REVIEWER_CERT_PEM, keyPem: REVIEWER_KEY_PEM } },
      ['127.0.0.1'],
    ],
    ['other addresses of the name', {}, ['127.0.0.1', '127.0.0.2']],
  ])('is not used again with %s', async (_what, changes, addresses) => {
    await post(address(), REQUEST);
    vetted.splice(0, vetted.length, ...addresses);
    expect(await post(address(), { ...REQUEST, ...changes })).toMatchObject({ ok: true });
    expect(server.connections()).toBe(2);
  });

  it.each<[string, Partial<PostJsonRequest>, string, string]>([
    ['a row that may not reach its address', { allowPrivateNetwork: false }, '127.0.0.1', 'address_refused'],
    ['a name that is now at an address which nobody may reach', {}, '169.254.169.254', 'address_refused'],
    ['a CA that did not sign its certificate', { caPem: OTHER_CA_PEM }, '127.0.0.1', 'tls_failed'],
  ])('does not serve %s', async (_what, changes, now, code) => {
    await post(address(), REQUEST);
    vetted.splice(0, vetted.length, now);
    expect(await post(address(), { ...REQUEST, ...changes })).toMatchObject({ ok: false, error: { code } });
    expect(server.requests).toHaveLength(1);
  });

  it('is not used again after an answer that was not read to its end, or came too late', async () => {
    serve(500, 'x'.repeat(1_000_000));
    await post(address(), REQUEST);
    server.route('/reviews', () => {});
    expect(await post(address(), { ...REQUEST, deadlineMs: 100 })).toMatchObject({ error: { code: 'timeout' } });
    serve(201, '{}');
    expect(await post(address(), REQUEST)).toMatchObject({ ok: true });
    expect(server.connections()).toBe(3);
  });

  it('that breaks in a later call ends that call: nothing is sent twice', async () => {
    await post(address(), REQUEST);
    server.route('/reviews', (request) => void request.socket.destroy());
    expect(await post(address(), REQUEST)).toEqual({
      ok: false,
      error: { code: 'answer_broken', cause: 'ECONNRESET' },
    });
    expect(server.requests).toHaveLength(2);
    expect(server.connections()).toBe(1);
  });

  it('that hangs in a later call is said to wait for the answer', async () => {
    await post(address(), REQUEST);
    server.route('/reviews', () => {});
    expect(await post(address(), { ...REQUEST, deadlineMs: 100 })).toMatchObject({
      error: { code: 'timeout', stage: 'waiting for the answer' },
    });
  });
});

it('one look-up of a name at a time serves all who ask for it', async () => {
  serve(200, '{}');
  const lookups: string[] = [];
  const found = Promise.withResolvers<readonly string[]>();
  const post = createOutboundPost({
    ...options,
    lookup: (host) => {
      lookups.push(host);
      return found.promise;
    },
  });
  const address = `https://issuer.test:${server.port}/reviews`;
  const posts = [post(address, REQUEST), post(address, REQUEST)];
  found.resolve(['127.0.0.1']);
  expect((await Promise.all(posts)).map(({ ok }) => ok)).toEqual([true, true]);
  await post(address, REQUEST);
  expect(lookups).toEqual(['issuer.test', 'issuer.test']);
});
