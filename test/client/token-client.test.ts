import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  createTokenClient,
  type TokenClient,
  type TokenClientOptions,
  TokenEndpointUnavailable,
  TokenRequestRefused,
} from '../../src/client/token-client.ts';
import { anAccessToken } from '../fixtures/access-tokens.ts';
import { aClusterAssertion, type Claims } from '../fixtures/assertions.ts';
import { NOW, type SettableClock, settableClock } from '../fixtures/settable-clock.ts';
import {
  jsonAnswer,
  resetAnswer,
  startTokenEndpoint,
  type TokenAnswer,
  type TokenEndpoint,
} from '../fixtures/token-endpoint.ts';

const accessTokenWith = (claims: Claims): string => anAccessToken('https://as.example.com').with(claims).build();
const ASSERTION = aClusterAssertion().build();
const NEXT_ASSERTION = aClusterAssertion().with({ jti: 'next' }).build();

let endpoint: TokenEndpoint;
let clock: SettableClock;
let assertion: string;
let waits: number[];

beforeEach(async () => {
  endpoint = await startTokenEndpoint();
  clock = settableClock();
  assertion = ASSERTION;
  waits = [];
});
afterEach(() => endpoint.close());

/** A client of the stand-in server, whose waits pass at once and whose jitter is always the least. */
function clientWith(options: Partial<TokenClientOptions> = {}): TokenClient {
  return createTokenClient({
    issuer: endpoint.issuer,
    tokenEndpoint: endpoint.url,
    source: { read: async () => assertion },
    clock,
    random: () => 0,
    sleep: async (milliseconds) => waits.push(milliseconds),
    ...options,
  });
}

async function failureOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => {
      throw new Error('expected a failure');
    },
    (reason: unknown) => reason,
  );
}

const refused = (status = 400, error = 'invalid_client'): TokenAnswer =>
  jsonAnswer(status, { error, error_description: 'no' }, { 'x-request-id': 'req-42' });
const overloaded = (retryAfter?: string): TokenAnswer =>
  jsonAnswer(503, { error: 'temporarily_unavailable' }, retryAfter === undefined ? {} : { 'retry-after': retryAfter });
/** Renewals happen in the background: asks until the client has this token. */
const untilTokenIs = (client: TokenClient, accessToken: string) =>
  vi.waitFor(async () => expect(await client.getToken()).toMatchObject({ accessToken }), { interval: 2 });
const untilHeard = (heard: readonly unknown[], count: number) =>
  vi.waitFor(() => expect(heard).toHaveLength(count), { interval: 2 });

describe('a token request', () => {
  it('carries the assertion as client authentication and nothing it was not given', async () => {
    await clientWith().getToken();
    expect(endpoint.forms.map((form) => [...form.entries()].sort())).toEqual([
      [
        ['client_assertion', ASSERTION],
        ['client_assertion_type', 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'],
        ['grant_type', 'client_credentials'],
      ],
    ]);
  });

  it('carries client_id, scope and every resource when they are given', async () => {
    const resource = ['https://api.example.com', 'https://b.example.com'];
    await clientWith({ clientId: 'edge-worker', scope: 'read', resource }).getToken();
    const [form] = endpoint.forms;
    expect(form?.get('client_id')).toBe('edge-worker');
    expect(form?.get('scope')).toBe('read');
    expect(form?.getAll('resource')).toEqual(resource);
  });

  it('goes to the endpoint that the issuer’s metadata names, looked up once', async () => {
    const client = createTokenClient({ issuer: endpoint.issuer, source: { read: async () => assertion }, clock });
    await client.getToken();
    client.invalidate();
    await client.getToken();
    expect(endpoint.forms).toHaveLength(2);
    expect(endpoint.metadataRequests()).toBe(1);
  });

  it.each([
    ['names another issuer', { issuer: 'https://as.example.com' }, 'the metadata is malformed or names another issuer'],
    ['has no token endpoint', { token_endpoint: undefined }, 'the metadata has no token_endpoint'],
    [
      'names an endpoint over plain http',
      { token_endpoint: 'http://as.example.com/token' },
      'token_endpoint of the metadata must be https: as.example.com is not loopback, and allowInsecureEndpoint does not permit plain http',
    ],
  ])('is not sent when the metadata %s', async (_what, members, detail) => {
    endpoint.setMetadata(members);
    const client = createTokenClient({ issuer: endpoint.issuer, source: { read: async () => assertion }, clock });
    expect(await failureOf(client.getToken())).toMatchObject({ name: 'TokenEndpointUnavailable', detail });
    expect(endpoint.forms).toHaveLength(0);
  });

  it('is not sent when the metadata names the issuer with another spelling', async () => {
    endpoint.setMetadata({ issuer: `${endpoint.issuer}/` });
    const client = createTokenClient({ issuer: endpoint.issuer, source: { read: async () => assertion }, clock });
    expect(await failureOf(client.getToken())).toMatchObject({ detail: 'the metadata names another issuer' });
  });

  it('never follows a redirect, which would carry the assertion elsewhere', async () => {
    const elsewhere = await startTokenEndpoint();
    endpoint.queue((_request, response) => response.writeHead(307, { location: elsewhere.url }).end());
    expect(await failureOf(clientWith().getToken())).toMatchObject({ detail: 'answered with 307', status: 307 });
    expect(elsewhere.forms).toHaveLength(0);
    await elsewhere.close();
  });

  it.each([
    ['http over a network', { tokenEndpoint: 'http://countersign.countersign.svc:8080/oauth/token' }],
    ['no URL', { tokenEndpoint: 'countersign' }],
  ])('is refused beforehand when the token endpoint is %s', (_what, options) => {
    expect(() => clientWith(options)).toThrow(TypeError);
  });

  it('may go over plain http to a Service when the operator says so', () => {
    const tokenEndpoint = 'http://countersign.countersign.svc:8080/oauth/token';
    expect(() => clientWith({ tokenEndpoint, allowInsecureEndpoint: true })).not.toThrow();
  });
});

describe('a token', () => {
  it('comes with its end and its scope', async () => {
    expect(await clientWith().getToken()).toEqual({
      accessToken: 'access-token-1',
      expiresAt: NOW + 3600,
      scope: 'read write',
      assignedId: null,
    });
  });

  it.each<[string, () => void, Partial<TokenClientOptions>]>([
    [
      'the answer says',
      () => endpoint.queue(jsonAnswer(200, { access_token: 'a', token_type: 'bearer', runner_id: 'prod-eks/node_7' })),
      {},
    ],
    ['the token says', () => endpoint.issueWith(() => accessTokenWith({ runner_id: 'prod-eks/node_7' })), {}],
    [
      'the token says under another claim',
      () => endpoint.issueWith(() => accessTokenWith({ node: 'prod-eks/node_7', runner_id: 'other' })),
      { idClaim: 'node' },
    ],
  ])('comes with the id that %s', async (_what, prepare, options) => {
    prepare();
    expect(await clientWith(options).getToken()).toMatchObject({ assignedId: 'prod-eks/node_7' });
  });

  it.each(['', 'access_token', 'refresh_token', 'id_token'])('has no id under %j, which is no name', (idClaim) => {
    expect(() => clientWith({ idClaim })).toThrow(TypeError);
  });

  it.each([
    ['has the requested scope when the answer names none', { scope: 'read' }, 'read'],
    ['has no scope when none was named at all', {}, ''],
  ])('%s', async (_what, options, scope) => {
    endpoint.queue(jsonAnswer(200, { access_token: 'a', token_type: 'bearer', expires_in: 60 }));
    expect(await clientWith(options).getToken()).toMatchObject({ scope });
  });

  it('without expires_in is kept for a minute', async () => {
    endpoint.queue(jsonAnswer(200, { access_token: 'a', token_type: 'Bearer' }));
    expect(await clientWith().getToken()).toMatchObject({ expiresAt: NOW + 60 });
  });

  it('is asked for once and then kept', async () => {
    const client = clientWith();
    const first = await client.getToken();
    clock.advance(2879);
    expect(await client.getToken()).toBe(first);
    client.invalidate();
    expect(await client.getToken()).toMatchObject({ accessToken: 'access-token-2' });
  });

  it('is asked for once by twenty callers at a time', async () => {
    const client = clientWith();
    const tokens = await Promise.all(Array.from({ length: 20 }, () => client.getToken()));
    expect(new Set(tokens.map((token) => token.accessToken))).toEqual(new Set(['access-token-1']));
    expect(endpoint.forms).toHaveLength(1);
  });

  it('is renewed in the background after 80 % of its life, with the assertion that is then in the file', async () => {
    const client = clientWith();
    await client.getToken();
    clock.advance(2880);
    assertion = NEXT_ASSERTION;
    const during = await Promise.all([client.getToken(), client.getToken()]);
    expect(during.map((token) => token.accessToken)).toEqual(['access-token-1', 'access-token-1']);
    await untilTokenIs(client, 'access-token-2');
    expect(await client.getToken()).toMatchObject({ expiresAt: NOW + 2880 + 3600 });
    expect(endpoint.forms.map((form) => form.get('client_assertion'))).toEqual([ASSERTION, NEXT_ASSERTION]);
  });

  it('is waited for once the old one has expired', async () => {
    const client = clientWith();
    await client.getToken();
    clock.advance(3600);
    expect(await client.getToken()).toMatchObject({ accessToken: 'access-token-2' });
  });

  it('is asked for anew after it was invalidated', async () => {
    const client = clientWith();
    await client.getToken();
    client.invalidate();
    expect(await client.getToken()).toMatchObject({ accessToken: 'access-token-2' });
  });

  it('survives the invalidation of an older one', async () => {
    const client = clientWith();
    const { accessToken } = await client.getToken();
    client.invalidate(accessToken);
    await client.getToken();
    client.invalidate(accessToken);
    expect(await client.getToken()).toMatchObject({ accessToken: 'access-token-2' });
    expect(endpoint.forms).toHaveLength(2);
  });
});

describe('while the server is away', () => {
  it('the kept token is used until it expires, and the failure is heard', async () => {
    const heard: unknown[] = [];
    const client = clientWith({ onRenewalFailed: (error) => heard.push(error) });
    await client.getToken();
    await endpoint.close();
    for (const [failures, elapsed] of [2880, 3000, 3599].entries()) {
      clock.set(NOW + elapsed);
      expect(await client.getToken()).toMatchObject({ accessToken: 'access-token-1' });
      await untilHeard(heard, failures + 1);
    }
    clock.set(NOW + 3600);
    expect(await failureOf(client.getToken())).toBeInstanceOf(TokenEndpointUnavailable);
    expect(heard.map((error) => error instanceof TokenEndpointUnavailable && error.detail)).toEqual([
      'ECONNREFUSED',
      'ECONNREFUSED',
      'ECONNREFUSED',
    ]);
  });

  it('a request is tried four times with growing waits, then fails', async () => {
    endpoint.queue(resetAnswer, resetAnswer, resetAnswer, resetAnswer);
    const error = await failureOf(clientWith().getToken());
    expect(error).toMatchObject({ name: 'TokenEndpointUnavailable', status: null, retryAfterSeconds: 1 });
    expect(endpoint.forms).toHaveLength(4);
    expect(waits).toEqual([125, 250, 500]);
  });

  it('a request that succeeds on another attempt is a success', async () => {
    endpoint.queue(resetAnswer, overloaded());
    expect(await clientWith().getToken()).toMatchObject({ accessToken: 'access-token-3' });
    expect(waits).toEqual([125, 250]);
  });

  it('the assertion is read again for each attempt', async () => {
    endpoint.queue(overloaded());
    const client = clientWith({
      sleep: async () => {
        assertion = NEXT_ASSERTION;
      },
    });
    await client.getToken();
    expect(endpoint.forms.map((form) => form.get('client_assertion'))).toEqual([ASSERTION, NEXT_ASSERTION]);
  });

  it('a failed series is followed by a pause without requests, which grows', async () => {
    const client = clientWith();
    endpoint.queue(...Array.from({ length: 8 }, () => resetAnswer));
    await failureOf(client.getToken());
    expect(await failureOf(client.getToken())).toMatchObject({ retryAfterSeconds: 1 });
    expect(endpoint.forms).toHaveLength(4);
    clock.advance(1);
    expect(await failureOf(client.getToken())).toMatchObject({ retryAfterSeconds: 2 });
    expect(endpoint.forms).toHaveLength(8);
    clock.advance(2);
    expect(await client.getToken()).toMatchObject({ accessToken: 'access-token-9' });
  });

  it('a server that never answers is given up at the deadline', async () => {
    const silent: TokenAnswer = () => {};
    endpoint.queue(silent, silent, silent, silent);
    const error = await failureOf(clientWith({ timeoutMilliseconds: 20 }).getToken());
    expect(error).toMatchObject({ name: 'TokenEndpointUnavailable', detail: expect.stringContaining('Timeout') });
  });

  it('a body that never ends is given up at the ceiling, and not asked for again', async () => {
    endpoint.queue((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write(`"${'a'.repeat(300_000)}`);
    });
    const error = await failureOf(clientWith().getToken());
    expect(error).toMatchObject({ detail: 'the answer is longer than 262144 bytes' });
    expect(endpoint.forms).toHaveLength(1);
  });
});

describe('Retry-After', () => {
  it.each([
    ['seconds', '3', 3125],
    ['an HTTP-date', 'Mon, 30 Nov 2026 12:00:04 GMT', 4125],
  ])('of a few seconds as %s is waited for', async (_what, retryAfter, wait) => {
    endpoint.queue(overloaded(retryAfter));
    expect(await clientWith().getToken()).toMatchObject({ accessToken: 'access-token-2' });
    expect(waits).toEqual([wait]);
  });

  it.each([429, 503])(
    'of %i that is long is handed to the caller, and kept without another request',
    async (status) => {
      endpoint.queue(jsonAnswer(status, { error: 'temporarily_unavailable' }, { 'retry-after': '120' }));
      const client = clientWith();
      expect(await failureOf(client.getToken())).toMatchObject({ status, retryAfterSeconds: 121 });
      expect(waits).toEqual([]);
      clock.advance(100);
      expect(await failureOf(client.getToken())).toMatchObject({ status, retryAfterSeconds: 21 });
      expect(endpoint.forms).toHaveLength(1);
      clock.advance(21);
      expect(await client.getToken()).toMatchObject({ accessToken: 'access-token-2' });
    },
  );

  it('is kept by renewals as well, while the token in hand is used', async () => {
    const heard: unknown[] = [];
    const client = clientWith({ onRenewalFailed: (error) => heard.push(error) });
    await client.getToken();
    clock.advance(2880);
    endpoint.queue(overloaded('300'));
    await client.getToken();
    await untilHeard(heard, 1);
    for (let calls = 0; calls < 5; calls += 1) {
      expect(await client.getToken()).toMatchObject({ accessToken: 'access-token-1' });
    }
    expect(heard).toHaveLength(1);
    clock.advance(301);
    await untilTokenIs(client, 'access-token-3');
  });
});

describe('a refusal', () => {
  it.each([
    [400, 'invalid_client'],
    [401, 'invalid_client'],
    [400, 'invalid_scope'],
    [400, 'invalid_target'],
    [400, 'unauthorized_client'],
  ])('of %i %s is typed, names the request id, and is not tried again', async (status, code) => {
    endpoint.queue(refused(status, code));
    const error = await failureOf(clientWith().getToken());
    expect(error).toBeInstanceOf(TokenRequestRefused);
    expect(error).toMatchObject({ status, error: code, requestId: 'req-42' });
    expect(endpoint.forms).toHaveLength(1);
    expect(waits).toEqual([]);
  });

  it('with a challenge, as for credentials in a header, is read the same way', async () => {
    endpoint.queue(jsonAnswer(401, { error: 'invalid_client' }, { 'www-authenticate': 'Basic realm="as"' }));
    expect(await failureOf(clientWith().getToken())).toMatchObject({ status: 401, error: 'invalid_client' });
  });

  it.each<[string, TokenAnswer]>([
    ['HTML', (_request, response) => response.writeHead(403, { 'content-type': 'text/html' }).end('<h1>no</h1>')],
    ['nothing', (_request, response) => response.writeHead(404).end()],
    ['an error that is no code', jsonAnswer(400, { error: 'Très mauvais "client"' })],
    ['an error that is a number', jsonAnswer(400, { error: 7 })],
  ])('with %s in it has no code', async (_what, answer) => {
    endpoint.queue(answer);
    const error = await failureOf(clientWith().getToken());
    expect(error).toBeInstanceOf(TokenRequestRefused);
    expect(error).toMatchObject({ error: null, requestId: null });
  });

  it('is remembered for half a minute: a caller in a loop costs one request', async () => {
    endpoint.queue(refused());
    const client = clientWith();
    for (const elapsed of [0, 0, 10, 29]) {
      clock.set(NOW + elapsed);
      expect(await failureOf(client.getToken())).toMatchObject({ error: 'invalid_client', requestId: 'req-42' });
    }
    expect(endpoint.forms).toHaveLength(1);
    clock.set(NOW + 30);
    expect(await client.getToken()).toMatchObject({ accessToken: 'access-token-2' });
  });

  it('is forgotten at once when the file has another assertion', async () => {
    endpoint.queue(refused());
    const client = clientWith();
    await failureOf(client.getToken());
    assertion = NEXT_ASSERTION;
    expect(await client.getToken()).toMatchObject({ accessToken: 'access-token-2' });
  });

  it('is not forgotten because the token was invalidated', async () => {
    endpoint.queue(refused());
    const client = clientWith();
    await failureOf(client.getToken());
    client.invalidate();
    await failureOf(client.getToken());
    expect(endpoint.forms).toHaveLength(1);
  });

  it('of a renewal leaves the token in hand in use, until the file has a new assertion', async () => {
    const heard: unknown[] = [];
    const client = clientWith({ onRenewalFailed: (error) => heard.push(error) });
    await client.getToken();
    clock.advance(2880);
    endpoint.queue(refused());
    await client.getToken();
    await untilHeard(heard, 1);
    for (let calls = 0; calls < 4; calls += 1) {
      expect(await client.getToken()).toMatchObject({ accessToken: 'access-token-1' });
    }
    assertion = NEXT_ASSERTION;
    await untilTokenIs(client, 'access-token-3');
    expect(heard).toHaveLength(1);
  });
});

describe('an answer that is none', () => {
  it.each<[string, TokenAnswer]>([
    ['has no token', jsonAnswer(200, { token_type: 'Bearer', expires_in: 60 })],
    ['has no token_type', jsonAnswer(200, { access_token: 'a', expires_in: 60 })],
    ['is for another kind of token', jsonAnswer(200, { access_token: 'a', token_type: 'DPoP', expires_in: 60 })],
    ['has a token that no header may carry', jsonAnswer(200, { access_token: 'a\r\nx: y', token_type: 'Bearer' })],
    ['has a negative life', jsonAnswer(200, { access_token: 'a', token_type: 'Bearer', expires_in: -1 })],
    ['has a scope that is a list', jsonAnswer(200, { access_token: 'a', token_type: 'Bearer', scope: ['read'] })],
    ['is a list', jsonAnswer(200, [])],
    [
      'is HTML',
      (_request, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Log in</h1>'),
    ],
    ['is 204', (_request, response) => response.writeHead(204).end()],
    ['is 201', jsonAnswer(201, { access_token: 'a', token_type: 'Bearer', expires_in: 60 })],
  ])('because it %s is a fault of the server, not tried again at once', async (_what, answer) => {
    endpoint.queue(answer);
    expect(await failureOf(clientWith().getToken())).toBeInstanceOf(TokenEndpointUnavailable);
    expect(endpoint.forms).toHaveLength(1);
    expect(waits).toEqual([]);
  });
});

describe('secrecy', () => {
  const echo = (status: number): TokenAnswer =>
    jsonAnswer(
      status,
      { error: ASSERTION, error_description: ASSERTION, access_token: 'secret-token', token_type: ASSERTION },
      { 'x-request-id': ASSERTION },
    );

  it.each([
    ['a refusal', echo(400)],
    ['a malformed answer', echo(200)],
    ['a server fault', echo(501)],
  ])('%s that echoes the assertion puts neither it nor a token into the error', async (_what, answer) => {
    endpoint.queue(answer, answer, answer, answer);
    const shown = inspect(await failureOf(clientWith().getToken()), { depth: 20, showHidden: true });
    expect(shown).not.toContain(ASSERTION.slice(0, 40));
    expect(shown).not.toContain(ASSERTION.slice(-40));
    expect(shown).not.toContain('secret-token');
  });

  it('a fetch that fails with the request in its message puts none of it into the error', async () => {
    const client = clientWith({
      fetch: async (_url, init) => {
        throw new TypeError(`cannot send ${String(init?.body)}`);
      },
    });
    const shown = inspect(await failureOf(client.getToken()), { depth: 20, showHidden: true });
    expect(shown).not.toContain(ASSERTION.slice(0, 40));
  });

  it('a source that fails is the caller’s to see, and costs no request', async () => {
    const fault = new Error('no file');
    expect(await failureOf(clientWith({ source: { read: () => Promise.reject(fault) } }).getToken())).toBe(fault);
    expect(endpoint.forms).toHaveLength(0);
  });
});
