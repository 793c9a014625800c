import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { calculateJwkThumbprint, createLocalJWKSet, decodeJwt, decodeProtectedHeader, type JWK, jwtVerify } from 'jose';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  CLOCK_SKEW_SECONDS,
  JWKS_MAX_AGE_SECONDS,
  MAX_ACCESS_TOKEN_TTL_SECONDS,
  PUBLISH_AHEAD_SECONDS,
} from '../../src/issuance/signing-key.ts';
import { freshAssertion, type RunningServer, startServer } from '../fixtures/running-server.ts';
import { type SettableClock, settableClock } from '../fixtures/settable-clock.ts';

/** How soon every replica must follow, in seconds. */
const FOLLOW_WITHIN_SECONDS = 5;
const TOKEN_TTL_SECONDS = 3600;

type Rotated = { readonly kid: string; readonly alg: string; readonly state: string; readonly active_from: number };

let folder: string;
let clock: SettableClock;
/** Two replicas on one database file. */
let server: RunningServer;
let replica: RunningServer;
let secret: string;

const start = () => startServer({ databaseUrl: `sqlite:${join(folder, 'countersign.db')}` }, clock);

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'countersign-rotation-'));
  clock = settableClock();
  server = await start();
  replica = await start();
  const client = { with_client_secret: true, access_token_ttl_seconds: TOKEN_TTL_SECONDS };
  const { clientSecret } = await server.trustCluster({ client });
  secret = String(clientSecret);
});
afterEach(async () => {
  await server.close();
  await replica.close();
  await rm(folder, { recursive: true });
});

const rotate = (params: Readonly<Record<string, unknown>> = {}): Promise<Rotated> =>
  server.admin(
    'mutation ($params: RotateSigningKeyRequest) { _rotate_signing_key(params: $params) { kid alg state active_from } }',
    params,
  );

async function issue(from: RunningServer = server): Promise<string> {
  const now = clock();
  const answer = await from.token(
    freshAssertion()
      .with({ iat: now, nbf: now, exp: now + 3600 })
      .build(),
  );
  expect(answer.status, answer.text).toBe(200);
  return String(answer.json.access_token);
}

const kidOf = (token: string) => String(decodeProtectedHeader(token).kid);
/** The key that signs now. */
const signer = async (from: RunningServer = server) => kidOf(await issue(from));

async function publishedKeys(from: RunningServer = server): Promise<readonly JWK[]> {
  const { status, json } = await from.send('GET', '/.well-known/jwks.json');
  expect(status).toBe(200);
  return json.keys as readonly JWK[];
}
const publishedKids = async (from?: RunningServer) => (await publishedKeys(from)).map(({ kid }) => kid);

const isActive = async (token: string, at: RunningServer = server) =>
  (await at.post('/oauth/introspect', { token, client_id: 'edge-worker', client_secret: secret })).json.active;

const verify = (token: string, keys: readonly JWK[]) =>
  jwtVerify(token, createLocalJWKSet({ keys: [...keys] }), { currentDate: new Date(clock() * 1000) });

describe('a planned rotation', () => {
  it('ROT-17, L-18: publishes the new key ahead, and signs with it only once every cache has seen it', async () => {
    const before = await signer();
    const rotated = await rotate();
    expect(rotated).toMatchObject({ alg: 'ES256', state: 'next', active_from: clock() + PUBLISH_AHEAD_SECONDS });
    expect(PUBLISH_AHEAD_SECONDS).toBeGreaterThan(JWKS_MAX_AGE_SECONDS);

    for (const seconds of [0, JWKS_MAX_AGE_SECONDS, PUBLISH_AHEAD_SECONDS - 1]) {
      clock.set(rotated.active_from - PUBLISH_AHEAD_SECONDS + seconds);
      expect(await publishedKids()).toEqual(expect.arrayContaining([before, rotated.kid]));
      expect([seconds, await signer()]).toEqual([seconds, before]);
    }
    clock.set(rotated.active_from);
    expect(await signer()).toBe(rotated.kid);
  });

  it('ROT-17, L-19: keeps the old key until its last token has expired, and then no longer', async () => {
    const rotated = await rotate();
    clock.set(rotated.active_from - 1);
    const last = await issue();
    const old = kidOf(last);
    expect(old).not.toBe(rotated.kid);

    clock.advance(TOKEN_TTL_SECONDS - 1);
    await expect(verify(last, await publishedKeys())).resolves.toBeDefined();
    expect(await isActive(last)).toBe(true);

    clock.set(rotated.active_from + MAX_ACCESS_TOKEN_TTL_SECONDS + CLOCK_SKEW_SECONDS - 1);
    expect(await publishedKids()).toContain(old);
    clock.advance(1);
    expect(await publishedKids()).not.toContain(old);
    expect(await publishedKids()).toContain(rotated.kid);
  });

  it('leaves the keys of the other algorithm alone', async () => {
    const algorithms = async () => (await publishedKeys()).map(({ alg }) => alg).toSorted();
    expect(await algorithms()).toEqual(['ES256', 'RS256']);
    await rotate({ alg: 'RS256' });
    expect(await algorithms()).toEqual(['ES256', 'RS256', 'RS256']);
    const es256 = await signer();
    clock.advance(PUBLISH_AHEAD_SECONDS);
    expect(await signer()).toBe(es256);
  });

  it('may be asked for twice in a row: the last key signs in the end, and never one that no cache has seen', async () => {
    const first = await rotate();
    clock.advance(60);
    const second = await rotate();
    const seen = new Map<string, number>();
    for (; clock() <= second.active_from + 60; clock.advance(60)) {
      for (const kid of await publishedKids()) seen.set(String(kid), seen.get(String(kid)) ?? clock());
      const kid = await signer();
      if (kid === first.kid || kid === second.kid) {
        expect(clock() - (seen.get(kid) ?? clock())).toBeGreaterThanOrEqual(JWKS_MAX_AGE_SECONDS);
      }
    }
    expect(await signer()).toBe(second.kid);
  });

  it('fails no request of a stream of them', async () => {
    const tokens: string[] = [];
    let goesOn = true;
    const stream = Array.from({ length: 4 }, async (_, index) => {
      while (goesOn) tokens.push(await issue(index % 2 === 0 ? server : replica));
    });
    /** Lets some more tokens be issued, on both replicas. */
    const flow = async () => {
      const enough = tokens.length + 20;
      while (tokens.length < enough) await new Promise((resolve) => setImmediate(resolve));
    };
    const kids = [];
    for (let round = 0; round < 3; round += 1) {
      await flow();
      const rotated = rotate();
      await flow();
      kids.push((await rotated).kid);
      clock.advance(PUBLISH_AHEAD_SECONDS);
      await flow();
    }
    clock.advance(FOLLOW_WITHIN_SECONDS);
    await flow();
    goesOn = false;
    await Promise.all(stream);
    expect([...new Set(tokens.map(kidOf))]).toEqual([expect.any(String), ...kids]);
    const keys = await publishedKeys();
    await Promise.all(tokens.map((token) => verify(token, keys)));
  });

  it('L-19: no API with a key set as old as its cache may be ever meets an unknown key, over three rotations', async () => {
    const live: string[] = [];
    let cache = { keys: await publishedKeys(), fetchedAt: clock() };
    const startedAt = clock();
    for (let step = 0; clock() < startedAt + 3 * 2400 + MAX_ACCESS_TOKEN_TTL_SECONDS; step += 1) {
      if (step % 24 === 0 && step < 72) await rotate();
      live.push(await issue(step % 2 === 0 ? server : replica));
      if (clock() - cache.fetchedAt >= JWKS_MAX_AGE_SECONDS) {
        cache = { keys: await publishedKeys(step % 3 === 0 ? server : replica), fetchedAt: clock() };
      }
      const known = new Set(cache.keys.map(({ kid }) => kid));
      const unknown = live.filter((token) => Number(decodeJwt(token).exp) > clock() && !known.has(kidOf(token)));
      expect(unknown.map((token) => [step, kidOf(token)])).toEqual([]);
      clock.advance(100);
    }
    expect(new Set(live.map(kidOf)).size).toBe(4);
  });
});

describe('a compromise', () => {
  it('L-20: withdraws the old key at once, and all its tokens', async () => {
    const stolen = await issue();
    expect(await isActive(stolen)).toBe(true);
    const rotated = await rotate({ compromised: true });
    expect(rotated).toMatchObject({ state: 'active', active_from: clock() });
    expect(await publishedKids()).not.toContain(kidOf(stolen));
    expect(await isActive(stolen)).toBe(false);
    const token = await issue();
    expect(kidOf(token)).toBe(rotated.kid);
    expect(await isActive(token)).toBe(true);
    await expect(verify(token, await publishedKeys())).resolves.toBeDefined();
  });

  it('L-20: withdraws the keys of a planned rotation as well: the one on its way out and the one on its way in', async () => {
    const stolen = await issue();
    const waiting = await rotate();
    const rotated = await rotate({ compromised: true });
    const kids = await publishedKids();
    for (const kid of [kidOf(stolen), waiting.kid]) expect(kids).not.toContain(kid);
    expect(await isActive(stolen)).toBe(false);
    clock.advance(PUBLISH_AHEAD_SECONDS + 1);
    expect(await signer()).toBe(rotated.kid);
  });

  it('L-20: is known to every replica within seconds', async () => {
    const stolen = await issue(replica);
    const rotated = await rotate({ compromised: true });
    clock.advance(FOLLOW_WITHIN_SECONDS);
    expect(await publishedKids(replica)).not.toContain(kidOf(stolen));
    expect(await isActive(stolen, replica)).toBe(false);
    expect(await signer(replica)).toBe(rotated.kid);
  });

  it('is in the audit log, with who and what', async () => {
    const { kid } = await rotate({ compromised: true });
    const [row] = await server.audit({ action: 'signing_key.rotated' });
    expect(row).toMatchObject({ action: 'signing_key.rotated', outcome: 'changed' });
    expect(JSON.parse(row?.metadata ?? '{}')).toMatchObject({ alg: 'ES256', compromised: true });
    expect(kid).toMatch(/^[\w-]{43}$/);
  });
});

describe('a second replica', () => {
  it('L-17: has the same keys, and so has the first one after a restart', async () => {
    const keys = await publishedKeys();
    expect(await publishedKeys(replica)).toEqual(keys);
    await server.close();
    server = await start();
    expect(await publishedKeys()).toEqual(keys);
    for (const key of keys) expect(key.kid).toBe(await calculateJwkThumbprint(key));
  });

  it('L-18: publishes a new key within seconds, so long before it signs, and signs with it when the first one does', async () => {
    const rotated = await rotate();
    const before = await signer(replica);
    clock.advance(FOLLOW_WITHIN_SECONDS);
    expect(await publishedKids(replica)).toContain(rotated.kid);
    clock.set(rotated.active_from - 1);
    expect(await signer(replica)).toBe(before);
    clock.set(rotated.active_from);
    expect([await signer(replica), await signer()]).toEqual([rotated.kid, rotated.kid]);
  });

  it('introspects the tokens of the first one, whichever key signed them', async () => {
    const old = await issue();
    const rotated = await rotate();
    clock.set(rotated.active_from);
    const token = await issue();
    expect([await isActive(old, replica), await isActive(token, replica)]).toEqual([true, true]);
  });
});

describe('L-21: the private part of a key', () => {
  it('is sealed in the database', async () => {
    await rotate();
    await rotate({ alg: 'RS256' });
    const files = ['countersign.db', 'countersign.db-wal'].map((name) => readFile(join(folder, name)));
    const bytes = Buffer.concat(await Promise.all(files));
    // The kids are there, so this is where the keys are. PKCS #8 names the algorithm: id-ecPublicKey, rsaEncryption.
    for (const kid of await publishedKids()) expect(bytes.includes(String(kid))).toBe(true);
    for (const algorithm of ['06072a8648ce3d0201', '06092a864886f70d010101']) {
      expect(bytes.includes(Buffer.from(algorithm, 'hex'))).toBe(false);
    }
    for (const text of ['"d":', '"p":', 'PRIVATE KEY']) expect(bytes.includes(text)).toBe(false);
  });

  it('is not in what the admin API knows of it', async () => {
    const { text } = await server.graphql('{ __type(name: "SigningKey") { fields { name } } }');
    expect(JSON.parse(text).data.__type.fields.map(({ name }: { name: string }) => name)).toEqual([
      'kid',
      'alg',
      'state',
      'created_at',
      'active_from',
      'active_until',
      'remove_at',
    ]);
  });

  it('is never published, not even while keys change', async () => {
    await rotate();
    await rotate({ alg: 'RS256', compromised: true });
    for (const key of await publishedKeys()) {
      const allowed = key.kty === 'EC' ? ['kty', 'crv', 'x', 'y'] : ['kty', 'n', 'e'];
      expect(Object.keys(key).toSorted()).toEqual([...allowed, 'alg', 'kid', 'use'].toSorted());
    }
  });
});
