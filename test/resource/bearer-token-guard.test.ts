import { once } from 'node:events';
import { createServer, request as openRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express, { type Request } from 'express';
import { afterAll, beforeAll, beforeEach, describe, expect, expectTypeOf, it } from 'vitest';
import {
  type Bearer,
  type BearerRefusal,
  createAccessTokenVerifier,
  type InsufficientScope,
  type OpaqueTokenLookup,
  requireBearerToken,
  type VerifiedAccessToken,
} from '../../src/resource/bearer-middleware.ts';
import { API, anAccessToken, startKeyServer } from '../fixtures/access-tokens.ts';
import { type AssertionBuilder, aClusterAssertion } from '../fixtures/assertions.ts';
import type { IssuerServer } from '../fixtures/issuer-server.ts';
import { P256_B } from '../fixtures/keys.ts';
import { NOW } from '../fixtures/settable-clock.ts';

type Runner = { readonly runner: string; readonly scopes: readonly string[] };

const OPAQUE = 'crt_6f1d0e.9-a~b+c/d==';
const DOTTED = 'v1.runner.42';
const RUNNERS = new Map<string, Runner>([
  [OPAQUE, { runner: 'runner-7', scopes: ['read', 'write'] }],
  [DOTTED, { runner: 'runner-8', scopes: [] }],
]);
const INVALID_TOKEN = {
  status: 401,
  challenge: `Bearer realm="${API}", error="invalid_token", error_description="the token is expired, malformed, or not meant for this API"`,
  retryAfter: null,
  body: {
    error: 'invalid_token',
    error_description: 'the token is expired, malformed, or not meant for this API',
  },
};
const COME_BACK = {
  status: 503,
  challenge: null,
  retryAfter: '5',
  body: { error: 'temporarily_unavailable' },
};

let keyServer: IssuerServer;
let valid: AssertionBuilder;
let api: Server;
/** What the API's own look-up was asked for, and what the verifier was. */
let lookedUp: string[];
let verified: string[];
let refusals: (BearerRefusal | InsufficientScope)[];
let lookup: OpaqueTokenLookup<Runner>;

beforeAll(async () => {
  keyServer = await startKeyServer();
  valid = anAccessToken(keyServer.origin);
  const real = createAccessTokenVerifier({ issuer: keyServer.origin, audience: API, clock: () => NOW });
  const policy = {
    verifier: {
      ...real,
      verify(token: string) {
        verified.push(token);
        return real.verify(token);
      },
    },
    opaqueTokens: (token: string) => {
      lookedUp.push(token);
      return lookup(token);
    },
    onRefused: (refusal: BearerRefusal | InsufficientScope) => refusals.push(refusal),
  };
  const guard = requireBearerToken(policy);
  const describeBearer = (request: Request) => {
    const bearer = guard.bearerOf(request);
    return bearer.kind === 'access_token'
      ? { kind: bearer.kind, clientId: bearer.token.clientId }
      : { kind: bearer.kind, runner: bearer.principal.runner };
  };
  const app = express();
  app.get('/read', guard, (request, response) => void response.json(describeBearer(request)));
  app.get('/write', requireBearerToken({ ...policy, requiredScopes: ['write'] }), (_request, response) =>
    response.json('reached'),
  );
  // Node's own limit for headers would hide ours.
  api = createServer({ maxHeaderSize: 131_072 }, app).listen(0, '127.0.0.1');
  await once(api, 'listening');
});
afterAll(async () => {
  api.close();
  await keyServer.close();
});
beforeEach(() => {
  lookedUp = [];
  verified = [];
  refusals = [];
  lookup = async (token) => RUNNERS.get(token);
});

async function call(token: string, path = '/read', scheme = 'Bearer') {
  const url = `http://127.0.0.1:${(api.address() as AddressInfo).port}${path}`;
  const response = await fetch(url, { headers: { authorization: `${scheme} ${token}` } });
  return {
    status: response.status,
    challenge: response.headers.get('www-authenticate'),
    retryAfter: response.headers.get('retry-after'),
    body: (await response.json()) as unknown,
  };
}

describe('a bearer that is let through', () => {
  it.each(['Bearer', 'bearer', 'BEARER'])('with a compact JWS is only verified (%s)', async (scheme) => {
    const token = valid.build();
    expect(await call(token, '/read', scheme)).toMatchObject({
      status: 200,
      body: { kind: 'access_token', clientId: 'edge-worker' },
    });
    expect([verified, lookedUp, refusals]).toEqual([[token], [], []]);
  });

  it.each([
    ['with a token of the API', OPAQUE, 'runner-7', 'Bearer'],
    ['with dots in it', DOTTED, 'runner-8', 'Bearer'],
    ['with the scheme in lower case', OPAQUE, 'runner-7', 'bearer'],
  ])('%s is only looked up', async (_what, token, runner, scheme) => {
    expect(await call(token, '/read', scheme)).toMatchObject({ status: 200, body: { kind: 'opaque_token', runner } });
    expect([verified, lookedUp, refusals]).toEqual([[], [token], []]);
  });

  it('is one kind or the other to the types as well', () => {
    const guard = requireBearerToken({
      issuer: 'https://as.example.com',
      audience: API,
      opaqueTokens: async (token) => RUNNERS.get(token) ?? null,
    });
    expectTypeOf(guard.bearerOf).returns.toEqualTypeOf<Bearer<Runner>>();
    type Kinds = ReturnType<typeof guard.bearerOf>;
    expectTypeOf<Extract<Kinds, { kind: 'access_token' }>>().toEqualTypeOf<{
      readonly kind: 'access_token';
      readonly token: VerifiedAccessToken;
    }>();
    expectTypeOf<Extract<Kinds, { kind: 'opaque_token' }>['principal']>().toEqualTypeOf<Runner>();
  });
});

describe('a compact JWS that does not verify', () => {
  const unsigned = (token: AssertionBuilder, signature: string): string => {
    const header = Buffer.from(JSON.stringify({ ...token.header, alg: 'none' })).toString('base64url');
    return `${header}.${token.build().split('.')[1]}.${signature}`;
  };

  it.each<[string, (token: AssertionBuilder) => string, string]>([
    ['has a wrong signature', (token) => token.signedBy(P256_B).build(), 'signature_invalid'],
    ['has expired', (token) => token.with({ exp: NOW - 60 }).build(), 'expired'],
    ['is of another issuer', (token) => token.with({ iss: 'https://evil.example.com' }).build(), 'iss_mismatch'],
    ['is for another API', (token) => token.with({ aud: 'https://b.example.com' }).build(), 'aud_mismatch'],
    ['has alg none', (token) => unsigned(token, 'AAAA'), 'alg_not_allowed'],
    ['has alg none and no signature', (token) => unsigned(token, ''), 'token_malformed'],
    ['has an alg that is no text', (token) => token.withHeader({ alg: 7 }).build(), 'alg_not_allowed'],
    ['has an unknown key', (token) => token.withHeader({ kid: 'other' }).build(), 'kid_unknown'],
    ['has lost its claims', (token) => token.build().replace(/\..*\./, '..'), 'token_malformed'],
    ['is a cluster’s assertion', () => aClusterAssertion().build(), 'typ_not_allowed'],
  ])('because it %s is 401, and never comes to the look-up', async (_what, make, reason) => {
    const token = make(valid);
    // Even where the API would know it: a text of the attacker's choice must not be what is looked up.
    lookup = async () => ({ runner: 'whoever', scopes: [] });
    expect(await call(token)).toEqual(INVALID_TOKEN);
    expect(refusals.map((refusal) => refusal.reason)).toEqual([reason]);
    expect([verified, lookedUp]).toEqual([[token], []]);
  });
});

describe('anything else that nobody knows', () => {
  const [header = '', claims = '', signature = ''] = anAccessToken('https://as.example.com').build().split('.');

  it.each([
    ['a word', 'garbage'],
    ['three parts that are not base64url', `${header}.${claims}~.${signature}`],
    ['three parts, the first of which is no JSON', `opaque.${claims}.${signature}`],
    ['a header without alg', `${Buffer.from('{"typ":"at+jwt"}').toString('base64url')}.${claims}.${signature}`],
    ['a JWE', `${header}.a.b.c.d`],
    ['two parts of a JWS', `${header}.${claims}`],
    ['a JWS with padding', `${header}.${claims}.${signature}=`],
    ['16384 characters', 'a'.repeat(16_384)],
  ])('(%s) is 401, and never comes to the verifier', async (_what, token) => {
    const before = keyServer.requests.length;
    expect(await call(token)).toEqual(INVALID_TOKEN);
    expect(refusals).toEqual([{ reason: 'opaque_token_unknown' }]);
    expect([verified, lookedUp]).toEqual([[], [token]]);
    expect(keyServer.requests).toHaveLength(before);
  });

  it('is nobody’s as well when the look-up answers null', async () => {
    lookup = async () => null;
    expect(await call(OPAQUE)).toEqual(INVALID_TOKEN);
    expect(refusals).toEqual([{ reason: 'opaque_token_unknown' }]);
  });

  it.each([
    ['opaque', 'a'.repeat(16_385)],
    ['a JWS', `${header}.${claims}.${'A'.repeat(16_384)}`],
  ])('that is too long (%s) comes to neither', async (_what, token) => {
    expect(await call(token)).toEqual(INVALID_TOKEN);
    expect(refusals).toEqual([{ reason: 'token_malformed', detail: 'too long' }]);
    expect([verified, lookedUp]).toEqual([[], []]);
  });
});

describe('a request without one whole token', () => {
  it.each([
    ['no credentials', undefined, 401, `Bearer realm="${API}"`],
    ['an empty token', 'Bearer ', 400, expect.stringContaining('no token after Bearer')],
    ['a token with a space', `Bearer ${OPAQUE} x`, 400, expect.stringContaining('characters that none may have')],
    ['another scheme', `Basic ${OPAQUE}`, 401, `Bearer realm="${API}"`],
    ['two headers', [`Bearer ${OPAQUE}`, 'Bearer x'], 400, expect.stringContaining('more than one Authorization')],
    ['the same header twice', [`Bearer ${OPAQUE}`, `Bearer ${OPAQUE}`], 400, expect.stringContaining('more than one')],
  ])('(%s) comes to neither', async (_what, authorization, status, challenge) => {
    const { port } = api.address() as AddressInfo;
    const sent = openRequest({ port, host: '127.0.0.1', path: '/read', agent: false });
    if (authorization !== undefined) sent.setHeader('authorization', authorization);
    const [response] = await once(sent.end(), 'response');
    response.resume();
    expect([response.statusCode, response.headers['www-authenticate']]).toEqual([status, challenge]);
    expect([verified, lookedUp]).toEqual([[], []]);
  });
});

describe('an outage is never shown as bad credentials', () => {
  const refusing = (cause: unknown) => async () => {
    throw cause;
  };

  it.each<[string, unknown, string]>([
    ['a code', Object.assign(new Error(`no row for ${OPAQUE}`), { code: 'SQLITE_BUSY' }), 'SQLITE_BUSY'],
    ['a kind', new RangeError(`no row for ${OPAQUE}`), 'RangeError'],
    ['nothing of an error', OPAQUE, 'unknown fault'],
  ])('the look-up rejects with %s: 503, and the API hears no token', async (_what, cause, detail) => {
    lookup = refusing(cause);
    expect(await call(OPAQUE)).toEqual(COME_BACK);
    expect(refusals).toEqual([{ reason: 'opaque_lookup_failed', detail, retryAfterSeconds: 5 }]);
  });

  it('the look-up throws before it has a promise: 503', async () => {
    lookup = () => {
      throw new Error('closed');
    };
    expect(await call(OPAQUE)).toEqual(COME_BACK);
  });

  it('the keys cannot be had: 503 for a JWS, while the API’s own tokens are good', async () => {
    const away = await startKeyServer();
    const token = anAccessToken(away.origin).build();
    await away.close();
    const guard = requireBearerToken({
      issuer: away.origin,
      audience: API,
      clock: () => NOW,
      opaqueTokens: async (text) => RUNNERS.get(text),
    });
    const app = express().get('/read', guard, (request, response) => void response.json(guard.bearerOf(request).kind));
    const unlucky = createServer(app).listen(0, '127.0.0.1');
    await once(unlucky, 'listening');
    const url = `http://127.0.0.1:${(unlucky.address() as AddressInfo).port}/read`;
    const answers = await Promise.all(
      [token, OPAQUE, 'garbage'].map((text) => fetch(url, { headers: { authorization: `Bearer ${text}` } })),
    );
    unlucky.close();
    expect(answers.map(({ status, headers }) => [status, headers.get('retry-after')])).toEqual([
      [503, '5'],
      [200, null],
      [401, null],
    ]);
    expect(answers[0]?.headers.get('www-authenticate')).toBeNull();
    expect(await answers[1]?.json()).toBe('opaque_token');
  });
});

describe('required scopes hold for both kinds', () => {
  it.each([
    ['an access token', () => valid.build(), () => valid.with({ scope: 'read' }).build(), 'edge-worker'],
    ['an opaque token', () => OPAQUE, () => DOTTED, null],
  ])('%s with the scope gets through, one without is 403', async (_what, withScope, without, clientId) => {
    expect(await call(withScope(), '/write')).toMatchObject({ status: 200, body: 'reached' });
    expect(await call(without(), '/write')).toMatchObject({
      status: 403,
      challenge: expect.stringContaining('error="insufficient_scope"'),
    });
    expect(refusals).toEqual([{ reason: 'scope_insufficient', clientId, missing: ['write'] }]);
  });
});

it('a route can only ask the guard that stands before it', async () => {
  const guards = [1, 2].map(() =>
    requireBearerToken({ issuer: keyServer.origin, audience: API, opaqueTokens: async (text) => RUNNERS.get(text) }),
  );
  const [first, second] = guards;
  if (first === undefined || second === undefined) throw new Error('two guards');
  const app = express().get('/', first, (request, response) => {
    expect(first.bearerOf(request).kind).toBe('opaque_token');
    expect(() => second.bearerOf(request)).toThrow('bearerOf needs its requireBearerToken before it on this route');
    response.end();
  });
  const server = createServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  expect((await fetch(url, { headers: { authorization: `Bearer ${OPAQUE}` } })).status).toBe(200);
  server.close();
});
