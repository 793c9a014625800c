import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createServerKeys, type ServerKeys, type ServerKeysSettings } from '../../src/resource/server-keys.ts';
import { ES256_KID, SERVER_JWKS, startKeyServer } from '../fixtures/access-tokens.ts';
import type { IssuerServer } from '../fixtures/issuer-server.ts';
import { P256_B, publicJwk } from '../fixtures/keys.ts';
import { NOW, type SettableClock, settableClock } from '../fixtures/settable-clock.ts';

const JWKS_PATH = '/.well-known/jwks.json';
const NEW_KEY = publicJwk(P256_B, { kid: 'new', alg: 'ES256', use: 'sig' });

let server: IssuerServer;
let clock: SettableClock;
let keys: ServerKeys;

const keysWith = (settings: Partial<ServerKeysSettings> = {}): ServerKeys =>
  createServerKeys({
    issuer: server.origin,
    jwksUri: null,
    allowInsecureEndpoint: false,
    fetch: globalThis.fetch,
    clock,
    ...settings,
  });
const goDown = (): void => server.route(JWKS_PATH, (_request, response) => void response.writeHead(503).end());
const found = (lookup: Awaited<ReturnType<ServerKeys['find']>>): readonly (string | null)[] | 'unavailable' =>
  lookup.available ? lookup.keys.map((key) => key.kid) : 'unavailable';

beforeEach(async () => {
  server = await startKeyServer();
  clock = settableClock();
  keys = keysWith();
});
afterEach(() => server.close());

describe('the keys of the server', () => {
  it('are fetched at the first need and then kept', async () => {
    expect(server.requests).toHaveLength(0);
    expect(found(await keys.find(ES256_KID))).toEqual([ES256_KID]);
    clock.advance(299);
    expect(found(await keys.find(ES256_KID))).toEqual([ES256_KID]);
    expect(server.hits(JWKS_PATH)).toBe(1);
  });

  it('are fetched once for twenty requests at a time', async () => {
    const lookups = await Promise.all(Array.from({ length: 20 }, () => keys.find(ES256_KID)));
    expect(lookups.map(found)).toEqual(Array.from({ length: 20 }, () => [ES256_KID]));
    expect(server.hits(JWKS_PATH)).toBe(1);
  });

  it('come from a given address without a look at the metadata', async () => {
    server.json('/keys', SERVER_JWKS);
    expect(found(await keysWith({ jwksUri: `${server.origin}/keys` }).find(ES256_KID))).toEqual([ES256_KID]);
    expect(server.requests.map((request) => request.path)).toEqual(['/keys']);
  });

  it('are renewed in the background after five minutes', async () => {
    await keys.find(ES256_KID);
    server.json(JWKS_PATH, { keys: [NEW_KEY] });
    clock.advance(300);
    expect(found(await keys.find(ES256_KID))).toEqual([ES256_KID]);
    await vi.waitFor(async () => expect(found(await keys.find(ES256_KID))).toEqual([]), { interval: 2 });
    expect(found(await keys.find('new'))).toEqual(['new']);
  });

  it('are renewed before use after ten minutes, so that a removed key is gone', async () => {
    await keys.find(ES256_KID);
    server.json(JWKS_PATH, { keys: [NEW_KEY] });
    clock.advance(600);
    expect(found(await keys.find(ES256_KID))).toEqual([]);
  });

  it('leave out an entry that cannot be used and keep the others', async () => {
    server.json(JWKS_PATH, { keys: [{ kty: 'AKP', kid: 'pq', alg: 'ML-DSA-44' }, ...SERVER_JWKS.keys] });
    expect(found(await keys.find(ES256_KID))).toEqual([ES256_KID]);
  });
});

describe('Q-13: an unknown kid', () => {
  it('costs at most one fetch in 30 s, however many tokens have one', async () => {
    await keys.find(ES256_KID);
    for (let token = 0; token < 1000; token += 1) expect(found(await keys.find(`random-${token}`))).toEqual([]);
    expect(server.hits(JWKS_PATH)).toBe(1);
    clock.advance(30);
    for (let token = 0; token < 1000; token += 1) expect(found(await keys.find(`random-${token}`))).toEqual([]);
    expect(server.hits(JWKS_PATH)).toBe(2);
  });

  it('that is a new key of the server is found', async () => {
    await keys.find(ES256_KID);
    server.json(JWKS_PATH, { keys: [...SERVER_JWKS.keys, NEW_KEY] });
    clock.advance(30);
    expect(found(await keys.find('new'))).toEqual(['new']);
  });

  it('is no verdict while the server cannot be asked', async () => {
    await keys.find(ES256_KID);
    goDown();
    clock.advance(30);
    expect(found(await keys.find('new'))).toBe('unavailable');
    expect(found(await keys.find(ES256_KID))).toEqual([ES256_KID]);
  });
});

describe('Q-13: an outage', () => {
  it('leaves the kept keys in use for a day, and no longer', async () => {
    await keys.find(ES256_KID);
    goDown();
    for (const elapsed of [400, 3600, 86_399]) {
      clock.set(NOW + elapsed);
      expect(found(await keys.find(ES256_KID))).toEqual([ES256_KID]);
    }
    clock.set(NOW + 86_400);
    expect(found(await keys.find(ES256_KID))).toBe('unavailable');
  });

  it('at the first need is told, with the time to come back, and costs one fetch in five seconds', async () => {
    goDown();
    for (let request = 0; request < 100; request += 1) {
      expect(await keys.find(ES256_KID)).toEqual({
        available: false,
        detail: 'the key set was answered with 503',
        retryAfterSeconds: 5,
      });
    }
    expect(server.hits(JWKS_PATH)).toBe(1);
    server.json(JWKS_PATH, SERVER_JWKS);
    clock.advance(4);
    expect(await keys.find(ES256_KID)).toMatchObject({ available: false, retryAfterSeconds: 1 });
    clock.advance(1);
    expect(found(await keys.find(ES256_KID))).toEqual([ES256_KID]);
  });

  it.each<[string, () => void, string | RegExp]>([
    ['an empty set', () => server.json(JWKS_PATH, { keys: [] }), 'the JWK set is empty'],
    ['no JSON', () => server.route(JWKS_PATH, (_request, response) => response.end('<h1>')), 'SyntaxError'],
    [
      'a redirect',
      () => server.route(JWKS_PATH, (_request, response) => response.writeHead(302, { location: '/keys' }).end()),
      'the key set was answered with 302',
    ],
    ['a reset', () => server.route(JWKS_PATH, (request) => void request.socket.destroy()), 'UND_ERR_SOCKET'],
    [
      'metadata of another issuer',
      () => server.json('/.well-known/oauth-authorization-server', { issuer: 'https://as.example.com' }),
      'the metadata is malformed or names another issuer',
    ],
    [
      'metadata without keys',
      () => server.json('/.well-known/oauth-authorization-server', { issuer: server.origin }),
      'the metadata has no jwks_uri',
    ],
    [
      'metadata with keys over plain http',
      () =>
        server.json('/.well-known/oauth-authorization-server', {
          issuer: server.origin,
          jwks_uri: 'http://as.example.com/jwks',
        }),
      /^jwks_uri of the metadata must be https/,
    ],
    [
      'no metadata',
      () =>
        server.route('/.well-known/oauth-authorization-server', (_request, response) => response.writeHead(404).end()),
      'the metadata was answered with 404',
    ],
  ])('is also %s', async (_what, spoil, detail) => {
    spoil();
    expect(await keys.find(ES256_KID)).toMatchObject({
      available: false,
      detail: typeof detail === 'string' ? detail : expect.stringMatching(detail),
    });
  });
});
