import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import express, { type ErrorRequestHandler, type Request } from 'express';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  type AccessTokenRefusal,
  accessTokenOf,
  createAccessTokenVerifier,
  type InsufficientScope,
  requireAccessToken,
} from '../../src/resource/bearer-middleware.ts';
import { type AppServer, startAppServer } from '../../src/worker/app-server.ts';
import { API, anAccessToken, startKeyServer } from '../fixtures/access-tokens.ts';
import { type AssertionBuilder, aClusterAssertion } from '../fixtures/assertions.ts';
import type { IssuerServer } from '../fixtures/issuer-server.ts';
import { P256_B } from '../fixtures/keys.ts';
import { NOW } from '../fixtures/settable-clock.ts';

const INVALID_TOKEN =
  'Bearer realm="the API", error="invalid_token", error_description="the token is expired, malformed, or not meant for this API"';

let keyServer: IssuerServer;
let api: AppServer;
let valid: AssertionBuilder;
let refusals: (AccessTokenRefusal | InsufficientScope)[];

beforeAll(async () => {
  keyServer = await startKeyServer();
  valid = anAccessToken(keyServer.origin);
  const verifier = createAccessTokenVerifier({ issuer: keyServer.origin, audience: API, clock: () => NOW });
  const policy = {
    verifier,
    realm: 'the API',
    onRefused: (refusal: AccessTokenRefusal | InsufficientScope) => refusals.push(refusal),
  };
  const app = express();
  app.use(express.urlencoded(), express.json());
  const answer = (request: Request) => {
    const { clientId, scopes, organizationId, workload } = accessTokenOf(request);
    return { clientId, scopes, organizationId, subject: workload?.subject };
  };
  app.all('/read', requireAccessToken(policy), (request, response) => void response.json(answer(request)));
  app.all('/admin', requireAccessToken({ ...policy, requiredScopes: ['read', 'admin'] }), (_request, response) =>
    response.json('reached'),
  );
  app.get('/unprotected', (request, response) => void response.json(answer(request)));
  const onFault: ErrorRequestHandler = (error: Error, _request, response, _next) => {
    response.status(500).json(error.message);
  };
  app.use(onFault);
  api = await startAppServer(app, { host: '127.0.0.1', port: 0 });
});
afterAll(async () => {
  await api.close();
  await keyServer.close();
});
beforeEach(() => {
  refusals = [];
});

/** Status, challenge and body of `GET path`; what is not named is absent. */
async function call(path: string, init: RequestInit = {}) {
  const response = await fetch(`${api.url}${path}`, init);
  const body = await response.text();
  return {
    status: response.status,
    challenge: response.headers.get('www-authenticate'),
    body: body === '' ? null : (JSON.parse(body) as unknown),
    cacheControl: response.headers.get('cache-control'),
  };
}
const bearing = (token: string): RequestInit => ({ headers: { authorization: `Bearer ${token}` } });

/** Header lines exactly as written, which no HTTP client would send. */
async function callRaw(path: string, ...headers: string[]): Promise<string> {
  const socket = connect(Number(new URL(api.url).port), '127.0.0.1');
  socket.end([`GET ${path} HTTP/1.1`, 'Host: api', 'Connection: close', ...headers, '', ''].join('\r\n'));
  return text(socket);
}

describe('a request with a good token', () => {
  it('gets through, and the route knows who calls', async () => {
    expect(await call('/read', bearing(valid.build()))).toMatchObject({
      status: 200,
      challenge: null,
      body: {
        clientId: 'edge-worker',
        scopes: ['read', 'write'],
        organizationId: 'org-1',
        subject: 'system:serviceaccount:edge-system:edge-worker',
      },
    });
    expect(refusals).toEqual([]);
  });

  it.each(['bearer', 'BEARER', 'bEaReR'])('Q-07: gets through with the scheme written %s', async (scheme) => {
    const headers = { authorization: `${scheme} ${valid.build()}` };
    expect(await call('/read', { headers })).toMatchObject({ status: 200 });
  });

  it('gets through with several spaces after the scheme (RFC 9110 §11.4)', async () => {
    expect(await callRaw('/read', `Authorization: Bearer   ${valid.build()}`)).toMatch(/^HTTP\/1.1 200 /);
  });

  it('may have a JSON body that happens to have an access_token', async () => {
    const headers = { authorization: `Bearer ${valid.build()}`, 'content-type': 'application/json' };
    expect(await call('/read', { method: 'POST', headers, body: '{"access_token":"x"}' })).toMatchObject({
      status: 200,
    });
  });
});

describe('Q-01: a request without bearer credentials', () => {
  it.each<[string, string, RequestInit]>([
    ['nothing at all', '/read', {}],
    ['another scheme', '/read', { headers: { authorization: 'Basic YTpi' } }],
    ['a scheme that only begins like ours', '/read', { headers: { authorization: 'Bearerish x' } }],
    ['Q-06: a token in the query alone', '/read?access_token=x', {}],
    ['Q-06: a token in a form alone', '/read', { method: 'POST', body: new URLSearchParams({ access_token: 'x' }) }],
  ])('that has %s is challenged without an error', async (_what, path, init) => {
    expect(await call(path, init)).toEqual({
      status: 401,
      challenge: 'Bearer realm="the API"',
      body: null,
      cacheControl: 'no-store',
    });
  });

  it('is not let through by a good token in the query (Q-06)', async () => {
    expect(await call(`/read?access_token=${valid.build()}`)).toMatchObject({ status: 401 });
  });
});

describe('Q-02: a malformed request', () => {
  it.each([
    ['no token', 'Authorization: Bearer', 'no token after Bearer'],
    ['only spaces for a token', 'Authorization: Bearer    ', 'no token after Bearer'],
    ['two tokens', 'Authorization: Bearer a b', 'the token has characters that none may have'],
    ['a comma', 'Authorization: Bearer a,b', 'the token has characters that none may have'],
    ['a quoted token', 'Authorization: Bearer "a"', 'the token has characters that none may have'],
    ['padding inside', 'Authorization: Bearer a=b', 'the token has characters that none may have'],
    ['bytes beyond ASCII', 'Authorization: Bearer \u00e9', 'the token has characters that none may have'],
  ])('with %s is 400 invalid_request', async (_what, header, description) => {
    const answer = await callRaw('/read', header);
    expect(answer).toMatch(/^HTTP\/1.1 400 /);
    expect(answer).toContain(
      `WWW-Authenticate: Bearer realm="the API", error="invalid_request", error_description="${description}"\r\n`,
    );
    expect(answer).toContain(JSON.stringify({ error: 'invalid_request', error_description: description }));
  });

  it.each([
    ['the good one first', (good: string) => [`Authorization: Bearer ${good}`, 'Authorization: Bearer other']],
    ['the good one last', (good: string) => ['Authorization: Bearer other', `authorization: Bearer ${good}`]],
    ['the good one twice', (good: string) => [`Authorization: Bearer ${good}`, `AUTHORIZATION: Bearer ${good}`]],
    ['another scheme beside it', (good: string) => [`Authorization: Bearer ${good}`, 'Authorization: Basic YTpi']],
  ])('with two Authorization headers, %s, is 400', async (_what, headers) => {
    const answer = await callRaw('/read', ...headers(valid.build()));
    expect(answer).toMatch(/^HTTP\/1.1 400 /);
    expect(answer).toContain('error_description="more than one Authorization header"');
  });
});

describe('Q-05: a token in two places', () => {
  it.each<[string, string, Pick<RequestInit, 'method' | 'body'>]>([
    ['the query', '/read?access_token=x', {}],
    ['the query, empty', '/read?a=1&access_token=', {}],
    ['the query, in percent signs', '/read?%61ccess_token=x', {}],
    ['a form', '/read', { method: 'POST', body: new URLSearchParams({ access_token: 'x' }) }],
  ])('the header and %s is 400 invalid_request', async (_what, path, init) => {
    expect(await call(path, { ...bearing(valid.build()), ...init })).toMatchObject({
      status: 400,
      challenge:
        'Bearer realm="the API", error="invalid_request", error_description="more than one way of sending the token"',
    });
  });
});

describe('Q-03: a bad token', () => {
  it.each<[string, (token: AssertionBuilder) => string, string]>([
    ['that expired', (token) => token.with({ exp: NOW - 60 }).build(), 'expired'],
    ['with a wrong signature', (token) => token.signedBy(P256_B).build(), 'signature_invalid'],
    ['that is garbage', () => 'garbage', 'token_malformed'],
    ['Q-08: that is an assertion', () => aClusterAssertion().build(), 'typ_not_allowed'],
    ['Q-09: of a look-alike issuer', (token) => token.with({ iss: `${keyServer.origin}/` }).build(), 'iss_mismatch'],
    ['Q-10: for another API', (token) => token.with({ aud: 'https://b.example.com' }).build(), 'aud_mismatch'],
    ['Q-12: with alg none', (token) => unsigned(token), 'alg_not_allowed'],
    ['Q-13: of an unknown key', (token) => token.withHeader({ kid: 'other' }).build(), 'kid_unknown'],
    ['Q-14: without client_id', (token) => token.without('client_id').build(), 'claim_invalid'],
    ['Q-15: bound to a key', (token) => token.with({ cnf: { foo: 1 } }).build(), 'confirmation_unsupported'],
    ['Q-16: whose subject is a user', (token) => token.with({ sub: 'alice' }).build(), 'subject_not_client'],
  ])('%s is 401 invalid_token, the same for every reason, which only the API hears', async (_what, make, reason) => {
    const token = make(valid);
    expect(await call('/read', bearing(token))).toEqual({
      status: 401,
      challenge: INVALID_TOKEN,
      body: {
        error: 'invalid_token',
        error_description: 'the token is expired, malformed, or not meant for this API',
      },
      cacheControl: 'no-store',
    });
    expect(refusals.map((refusal) => refusal.reason)).toEqual([reason]);
    expect(JSON.stringify(refusals)).not.toContain(token.slice(-40));
  });
});

function unsigned(token: AssertionBuilder): string {
  const header = Buffer.from(JSON.stringify({ ...token.header, alg: 'none' })).toString('base64url');
  return `${header}.${token.build().split('.')[1]}.AAAA`;
}

describe('Q-04: a token without the scope that is needed', () => {
  it('is 403 insufficient_scope with all scopes that the request needs', async () => {
    expect(await call('/admin', bearing(valid.build()))).toMatchObject({
      status: 403,
      challenge:
        'Bearer realm="the API", error="insufficient_scope", error_description="the token lacks a scope that this request needs", scope="read admin"',
      body: { error: 'insufficient_scope' },
    });
    expect(refusals).toEqual([{ reason: 'scope_insufficient', clientId: 'edge-worker', missing: ['admin'] }]);
  });

  it.each(['', 'Admin read', 'read administrator'])('has no use for scope %j', async (scope) => {
    expect(await call('/admin', bearing(valid.with({ scope }).build()))).toMatchObject({ status: 403 });
  });

  it('gets through once it has it', async () => {
    const token = valid.with({ scope: 'admin write read' }).build();
    expect(await call('/admin', bearing(token))).toMatchObject({ status: 200, body: 'reached' });
  });
});

describe('Q-13: while the keys cannot be had', () => {
  it('a request is 503 with the time to come back, and no challenge', async () => {
    const away = await startKeyServer();
    const app = express().get(
      '/read',
      requireAccessToken({ issuer: away.origin, audience: API, clock: () => NOW }),
      (_request, response) => void response.json('reached'),
    );
    const unlucky = await startAppServer(app, { host: '127.0.0.1', port: 0 });
    const token = anAccessToken(away.origin).build();
    await away.close();
    const response = await fetch(`${unlucky.url}/read`, bearing(token));
    expect(response.status).toBe(503);
    expect(response.headers.get('retry-after')).toBe('5');
    expect(response.headers.get('www-authenticate')).toBeNull();
    expect(await response.json()).toEqual({ error: 'temporarily_unavailable' });
    await unlucky.close();
  });
});

describe('Q-17: the challenge', () => {
  const challengeWith = async (realm?: string): Promise<string | null> => {
    const app = express().get(
      '/',
      requireAccessToken({ issuer: keyServer.origin, audience: API, ...(realm !== undefined && { realm }) }),
    );
    const server = await startAppServer(app, { host: '127.0.0.1', port: 0 });
    const response = await fetch(server.url);
    await server.close();
    return response.headers.get('www-authenticate');
  };

  it('names the API by its identifier where no realm is given', async () => {
    expect(await challengeWith()).toBe(`Bearer realm="${API}"`);
  });

  it('escapes quotes and backslashes in the realm', async () => {
    expect(await challengeWith('a "quoted\\" realm')).toBe('Bearer realm="a \\"quoted\\\\\\" realm"');
  });

  it.each(['two\r\nlines', 'caf\u00e9', 'nul\u0000'])('cannot be made with the realm %j', (realm) => {
    expect(() => requireAccessToken({ issuer: keyServer.origin, audience: API, realm })).toThrow(TypeError);
  });

  it.each(['a"b', 'a b', 'a\\b', 'x\r\ny: z', '', '\u00e9'])('cannot be made with the required scope %j', (scope) => {
    const make = () => requireAccessToken({ issuer: keyServer.origin, audience: API, requiredScopes: [scope] });
    expect(make).toThrow(TypeError);
  });

  it('holds nothing that the caller sent', async () => {
    const token = valid.with({ scope: 'x", error="none', aud: 'evil"\\' }).build();
    expect(await call('/read', bearing(token))).toMatchObject({ status: 401, challenge: INVALID_TOKEN });
  });
});

describe('a route without the middleware', () => {
  it('cannot ask who calls: that is a fault of the program', async () => {
    expect(await call('/unprotected', bearing(valid.build()))).toMatchObject({
      status: 500,
      body: 'accessTokenOf needs requireAccessToken before it on this route',
    });
  });
});
