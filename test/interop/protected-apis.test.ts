import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import express, { type ErrorRequestHandler, type RequestHandler } from 'express';
import { auth, requiredScopes } from 'express-oauth2-jwt-bearer';
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTokenClient, TokenRequestRefused, tokenFileSource } from '../../src/client/token-client.ts';
import { accessTokenOf, requireAccessToken } from '../../src/resource/bearer-middleware.ts';
import { type AppServer, startAppServer } from '../../src/worker/app-server.ts';
import { API, type ReachableServer, startReachableServer } from './reachable-server.ts';

const ALGORITHMS = ['ES256', 'RS256'] as const;

let reachable: ReachableServer;

beforeAll(async () => {
  reachable = await startReachableServer();
});
afterAll(() => reachable.server.close());

/** A token for the API, signed with `alg`. */
async function tokenSignedWith(alg: (typeof ALGORITHMS)[number], fields: Readonly<Record<string, string>> = {}) {
  const { server, assertion, idOf } = reachable;
  await server.admin('mutation ($params: UpdateClientRequest!) { _update_client(params: $params) { id } }', {
    id: idOf('edge-worker'),
    access_token_signing_alg: alg,
  });
  const { json } = await server.token(assertion().build(), { resource: API, ...fields });
  return String(json.access_token);
}

/** `GET /` of an API that these handlers protect. */
async function call(handlers: readonly RequestHandler[], token: string | null): Promise<Response> {
  const app = express();
  const onRefused: ErrorRequestHandler = (error, _request, response, _next) => {
    response
      .status(error.status ?? 500)
      .set(error.headers ?? {})
      .json(error.message);
  };
  app.get('/', ...handlers, (request, response) => void response.json(request.auth?.payload ?? 'reached'));
  app.use(onRefused);
  const api: AppServer = await startAppServer(app, { host: '127.0.0.1', port: 0 });
  try {
    const headers: HeadersInit = token === null ? {} : { authorization: `Bearer ${token}` };
    return await fetch(api.url, { headers });
  } finally {
    await api.close();
  }
}

describe.each(ALGORITHMS)('a token signed with %s', (alg) => {
  it('J-13: is accepted by express-oauth2-jwt-bearer in strict mode, which finds our keys by itself', async () => {
    const protect = auth({ issuerBaseURL: reachable.issuer, audience: API, tokenSigningAlg: alg, strict: true });
    const token = await tokenSignedWith(alg);
    const response = await call([protect, requiredScopes('read write')], token);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ iss: reachable.issuer, aud: API, client_id: 'edge-worker' });
    const narrow = await tokenSignedWith(alg, { scope: 'read' });
    expect((await call([protect, requiredScopes('read write')], narrow)).status).toBe(403);
  });

  it('J-13: is accepted by jose from our remote key set', async () => {
    const keys = createRemoteJWKSet(new URL(`${reachable.issuer}/.well-known/jwks.json`));
    const expected = { issuer: reachable.issuer, audience: API, typ: 'at+jwt', algorithms: [alg] };
    const { payload, protectedHeader } = await jwtVerify(await tokenSignedWith(alg), keys, expected);
    expect(protectedHeader).toEqual({ alg, typ: 'at+jwt', kid: expect.any(String) });
    expect(payload.sub).toBe('edge-worker');
  });

  it('is accepted by our own middleware', async () => {
    const protect = requireAccessToken({ issuer: reachable.issuer, audience: API, requiredScopes: ['read'] });
    expect((await call([protect], await tokenSignedWith(alg))).status).toBe(200);
    expect((await call([protect], await tokenSignedWith(alg, { scope: 'write' }))).status).toBe(403);
  });

  it('is refused by all of them for another API', async () => {
    const elsewhere = 'https://other.example.com';
    const token = await tokenSignedWith(alg);
    const theirs = auth({ issuerBaseURL: reachable.issuer, audience: elsewhere, tokenSigningAlg: alg, strict: true });
    const ours = requireAccessToken({ issuer: reachable.issuer, audience: elsewhere });
    for (const protect of [theirs, ours]) expect((await call([protect], token)).status).toBe(401);
  });
});

it('a platform’s assertion is no access token to either middleware', async () => {
  const assertion = reachable.assertion().with({ aud: API, client_id: 'edge-worker' }).build();
  const theirs = auth({ issuerBaseURL: reachable.issuer, audience: API, tokenSigningAlg: 'RS256', strict: true });
  const ours = requireAccessToken({ issuer: reachable.issuer, audience: API });
  for (const protect of [theirs, ours]) expect((await call([protect], assertion)).status).toBe(401);
});

describe('our own client, from the token file', () => {
  let folder: string;
  let path: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'countersign-interop-'));
    path = join(folder, 'token');
  });
  afterAll(() => rm(folder, { recursive: true }));

  const tokenClient = (resource: string) =>
    createTokenClient({ issuer: reachable.issuer, source: tokenFileSource({ path }), scope: 'read', resource });

  it('gets a token, keeps it, and calls an API that our own middleware protects', async () => {
    await writeFile(path, `${reachable.assertion().build()}\n`);
    const tokens = tokenClient(API);
    const { accessToken } = await tokens.getToken();
    expect((await tokens.getToken()).accessToken).toBe(accessToken);
    const claims: unknown[] = [];
    const note: RequestHandler = (request, _response, next) => {
      const { clientId, scopes, workload } = accessTokenOf(request);
      claims.push({ clientId, scopes, node: workload?.node });
      next();
    };
    const protect = requireAccessToken({ issuer: reachable.issuer, audience: API, requiredScopes: ['read'] });
    expect((await call([protect, note], accessToken)).status).toBe(200);
    expect(claims).toEqual([{ clientId: 'edge-worker', scopes: ['read'], node: 'node-1' }]);
  });

  it('hears no for an assertion that was used before, and yes for the next one in the file', async () => {
    const used = await tokenClient(API)
      .getToken()
      .catch((error: unknown) => error);
    expect(used).toBeInstanceOf(TokenRequestRefused);
    expect(used).toMatchObject({ status: 400, error: 'invalid_client' });
    await writeFile(path, reachable.assertion().build());
    expect((await tokenClient(API).getToken()).accessToken).toMatch(/^ey/);
  });

  it('hears no for a resource that it may not ask for', async () => {
    await writeFile(path, reachable.assertion().build());
    const refused = tokenClient('https://other.example.com').getToken();
    await expect(refused).rejects.toMatchObject({ status: 400, error: 'invalid_target' });
  });
});
