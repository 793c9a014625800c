/**
 * Real failures of what is in a key set, against the running server: which entries count, which of them a token may
 * have been signed by, and that one issuer's keys never speak for another.
 */
import { generateKeyPairSync } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type IssuerServer, startIssuerServer } from '../fixtures/issuer-server.ts';
import { publicJwk, RSA_1024, RSA_A, RSA_B } from '../fixtures/keys.ts';
import type { Answer, RunningServer } from '../fixtures/running-server.ts';
import { ecKey, type IssuerKey, issuerKey, keySetOf } from './issuer-key.ts';
import { expectIssued, expectRefused, expectUnavailable } from './outcome.ts';
import { startQuietServer } from './quiet-server.ts';
import { watchRequests } from './request-watch.ts';
import { type IssuerFields, type TrustedWorkload, trustWorkload } from './trusted-workload.ts';

type Entry = Readonly<Record<string, unknown>>;

let server: RunningServer;
let issuer: IssuerServer;
const trusted: TrustedWorkload[] = [];
beforeAll(async () => {
  server = await startQuietServer();
  issuer = await startIssuerServer('http');
});
afterAll(async () => {
  await server.close();
  await issuer.close();
});
// One RSA key serves many tests, and no two issuers at a time may have it.
afterEach(() => Promise.all(trusted.splice(0).map((workload) => workload.remove())));

let names = 0;

/** An issuer that publishes these entries, and its workload; `path` is where they are. */
async function publishing(
  entries: readonly unknown[],
  fields: IssuerFields = {},
): Promise<TrustedWorkload & { readonly path: string }> {
  names += 1;
  const path = `/${names}/jwks`;
  issuer.json(path, { keys: entries }, { 'content-type': 'application/jwk-set+json' });
  const workload = await trustWorkload(server, {
    issuer_url: `https://issuer-${names}.example.com`,
    issuer_type: 'oidc',
    key_source_type: 'static_jwks_url',
    jwks_url: `${issuer.origin}${path}`,
    ...fields,
  });
  trusted.push(workload);
  return Object.assign(workload, { path });
}

/** Asks with a header of the test's own. */
function ask(workload: TrustedWorkload, key: IssuerKey, header: Entry): Promise<Answer> {
  return server.token(
    workload
      .assertion({ ...key, ...header })
      .withHeader(header)
      .build(),
  );
}

const rsaA = (kid: string | null, alg = 'RS256') => issuerKey(kid, alg, RSA_A);
const rsaB = (kid: string | null, alg = 'RS256') => issuerKey(kid, alg, RSA_B);
const without = ({ entry }: IssuerKey, ...members: readonly string[]): Entry =>
  Object.fromEntries(Object.entries(entry).filter(([name]) => !members.includes(name)));

describe('JWK-01: entries that are not understood', () => {
  it.each<[string, unknown]>([
    ['AKP (ML-DSA)', { kty: 'AKP', alg: 'ML-DSA-65', kid: 'pq', pub: 'AAAA' }],
    ['an unknown kty', { kty: 'LATTICE', kid: 'x' }],
    ['no kty', { kid: 'x' }],
    ['a symmetric key', { kty: 'oct', kid: 'x', k: 'AAAA' }],
    ['a curve for key agreement', { kty: 'OKP', crv: 'X25519', kid: 'x', x: 'AAAA' }],
    ['an unsupported curve', { kty: 'EC', crv: 'secp256k1', kid: 'x', x: 'AAAA', y: 'AAAA' }],
    ['a point that is not on its curve', { kty: 'EC', crv: 'P-256', kid: 'x', x: 'AAAA', y: 'AAAA' }],
    ['an RSA key without a modulus', { kty: 'RSA', kid: 'x', e: 'AQAB' }],
    ['an RSA key that is too short', publicJwk(RSA_1024, { kid: 'x' })],
    ['a private key', { ...ecKey('x').privateJwk, kid: 'x' }],
    ['a kid that is a number', { ...ecKey('x').entry, kid: 7 }],
    ['null', null],
    ['text', 'key'],
    ['an array', []],
  ])('JWK-01: %s beside a good key spoils nothing', async (_what, entry) => {
    const key = rsaA('r1');
    const workload = await publishing([entry, key.entry, entry]);
    expect(workload.warnings).toEqual([]);
    await expectIssued(server, await workload.token(key));
    expect((await workload.keys())?.kids).toEqual(['r1']);
  });

  it('JWK-01: the admin learns why the entry that a token names was left out', async () => {
    const workload = await publishing([{ kty: 'AKP', alg: 'ML-DSA-65', kid: 'pq', pub: 'AAAA' }, rsaA('r1').entry]);
    await expectRefused(
      server,
      await workload.token(rsaA('pq')),
      'kid_unknown',
      /^kid "pq" is not in the key set fetched at .* \(1 key: "r1"\) \(its entry was skipped: unsupported key type AKP\)$/,
    );
  });
});

describe('JWK-03: a key without use', () => {
  it.each<[string, Entry]>([
    ['no use', {}],
    ['no use, and key_ops with verify', { key_ops: ['verify'] }],
    ['use and key_ops', { use: 'sig', key_ops: ['sign', 'verify'] }],
  ])('JWK-03: %s is a signing key', async (_what, members) => {
    const key = rsaA('k');
    const workload = await publishing([{ ...without(key, 'use', 'alg'), ...members }]);
    await expectIssued(server, await workload.token(key));
  });

  it.each<[string, unknown, string]>([
    ['without verify', ['sign'], 'key_ops does not contain "verify"'],
    ['empty', [], 'key_ops does not contain "verify"'],
    ['not a list', 'verify', 'key_ops does not contain "verify"'],
  ])('JWK-03: key_ops that are %s make it none', async (_what, keyOps, reason) => {
    const key = ecKey('k');
    const workload = await publishing([{ ...without(key, 'use'), key_ops: keyOps }, ecKey('other').entry]);
    const evidence = await expectRefused(server, await workload.token(key), 'kid_unknown');
    expect(evidence.detail).toContain(`(its entry was skipped: ${reason})`);
  });
});

describe('JWK-04: an EC or RSA key without alg', () => {
  const e = ecKey('e');
  const entries = [without(e, 'alg'), without(rsaA('r'), 'alg', 'use')];

  it.each<[string, IssuerKey]>([
    ['ES256', e],
    ['RS256', rsaA('r')],
    ['RS384', rsaA('r', 'RS384')],
    ['RS512', rsaA('r', 'RS512')],
    ['PS256', rsaA('r', 'PS256')],
    ['PS384', rsaA('r', 'PS384')],
    ['PS512', rsaA('r', 'PS512')],
  ])('JWK-04: verifies %s, which its type and curve allow', async (_alg, key) => {
    const workload = await publishing(entries);
    await expectIssued(server, await workload.token(key));
  });

  it.each<[string, IssuerKey]>([
    ['ES384 with a P-256 key', { ...e, alg: 'ES384' }],
    ['ES512 with a P-256 key', { ...e, alg: 'ES512' }],
    ['RS256 with an elliptic key', { ...rsaA('e') }],
    ['ES256 with an RSA key', { ...e, kid: 'r' }],
  ])('JWK-04: refuses %s', async (_what, key) => {
    const workload = await publishing(entries);
    await expectRefused(
      server,
      await workload.token(key),
      'key_unfit',
      `no key with kid "${key.kid}" is for ${key.alg}`,
    );
  });

  it('JWK-04: an alg that is there must be that of the header', async () => {
    const workload = await publishing([rsaA('r', 'RS512').entry]);
    await expectRefused(server, await workload.token(rsaA('r')), 'key_unfit', 'no key with kid "r" is for RS256');
    await expectIssued(server, await workload.token(rsaA('r', 'RS512')));
  });
});

describe('JWK-05: an encryption key in the set', () => {
  it('JWK-05: is no signing key, though it shares the kid of one', async () => {
    const encryption = ecKey('same');
    const signing = rsaA('same');
    const workload = await publishing([{ ...encryption.entry, use: 'enc' }, signing.entry]);
    await expectIssued(server, await workload.token(signing));
    await expectRefused(server, await workload.token(encryption), 'key_unfit', 'no key with kid "same" is for ES256');
  });

  it('JWK-05: of the same type is not tried either', async () => {
    const encryption = rsaB('same');
    const signing = rsaA('same');
    const workload = await publishing([{ ...encryption.entry, use: 'enc' }, signing.entry]);
    await expectIssued(server, await workload.token(signing));
    await expectRefused(server, await workload.token(encryption), 'signature_invalid');
  });

  it('JWK-05: alone is a set without a usable key, which is a failed fetch', async () => {
    const encryption = ecKey('enc');
    const workload = await publishing([{ ...encryption.entry, use: 'enc' }]);
    const detail = `key set at ${issuer.origin}${workload.path}: the JWK set has no usable key: enc: use is not "sig"`;
    expect(workload.warnings).toEqual([`no keys can be had from this issuer right now: ${detail}`]);
    await expectUnavailable(server, await workload.token(encryption), detail);
  });
});

describe('JWK-06: a token without kid', () => {
  it.each<[string, (key: IssuerKey) => readonly unknown[]]>([
    ['one key without kid', (key) => [key.entry]],
    ['one key with an empty kid', (key) => [{ ...key.entry, kid: '' }]],
    ['one key that fits, beside one of another type', (key) => [rsaA('other').entry, key.entry]],
    ['one key that fits, beside one for encryption', (key) => [{ ...ecKey('x').entry, use: 'enc' }, key.entry]],
  ])('JWK-06: is accepted when the set has %s', async (_what, entriesOf) => {
    const named = ecKey('unused');
    const key: IssuerKey = { ...named, kid: null, entry: without(named, 'kid') };
    const workload = await publishing(entriesOf(key));
    await expectIssued(server, await workload.token(key));
  });

  it('JWK-06: is refused when two keys fit, whichever of them signed', async () => {
    const keys = [ecKey('a'), ecKey('b')] as const;
    const workload = await publishing(keySetOf(...keys).keys);
    for (const key of [...keys, ...keys.toReversed()]) {
      await expectRefused(
        server,
        await ask(workload, key, { kid: undefined }),
        'key_ambiguous',
        'no kid, and 2 keys fit',
      );
    }
    for (const key of keys) await expectIssued(server, await workload.token(key));
  });

  it('JWK-06: is refused for a Kubernetes cluster, which always sends one, unless the row says otherwise', async () => {
    const key = ecKey('a');
    const workload = await publishing([key.entry], { issuer_type: 'kubernetes_sa' });
    const nameless = () => ask(workload, key, { kid: undefined });
    await expectRefused(server, await nameless(), 'kid_missing', 'no kid, and the issuer has 1 key');
    await workload.update({ require_kid: false });
    await expectIssued(server, await nameless());
  });
});

describe('JWK-08: the same key is listed twice', () => {
  it.each<[string, (key: IssuerKey) => readonly unknown[]]>([
    ['in equal entries', (key) => [key.entry, key.entry]],
    ['with alg and without', (key) => [key.entry, without(key, 'alg')]],
    ['under two kids', (key) => [key.entry, { ...key.entry, kid: 'b' }]],
    ['a hundred times', (key) => Array.from({ length: 100 }, () => key.entry)],
  ])('JWK-08: %s verifies its tokens', async (_what, entriesOf) => {
    const key = ecKey('a');
    const workload = await publishing(entriesOf(key));
    await expectIssued(server, await workload.token(key));
    // Nothing to choose between: it is one key.
    await expectIssued(server, await ask(workload, key, { kid: undefined }));
  });

  it('JWK-08: of several keys under one kid the first four that fit are tried, and no more', async () => {
    const keys = Array.from({ length: 5 }, () => ecKey('same'));
    const workload = await publishing([rsaA('same').entry, ...keySetOf(...keys).keys]);
    const [first, , , fourth, fifth] = keys;
    for (const key of [first, fourth]) await expectIssued(server, await workload.token(key as IssuerKey));
    await expectRefused(server, await workload.token(fifth as IssuerKey), 'signature_invalid');
    await expectIssued(server, await workload.token(rsaA('same')));
  });

  it('JWK-08: more than a hundred entries are no set that anyone means', async () => {
    const key = ecKey('a');
    const workload = await publishing(Array.from({ length: 101 }, () => key.entry));
    await expectUnavailable(
      server,
      await workload.token(key),
      `key set at ${issuer.origin}${workload.path}: the JWK set has 101 keys, more than 100`,
    );
  });
});

describe('JWK-09: one kid for several algorithms', () => {
  const entries = [
    { ...rsaB('x').entry, alg: 'RSA-OAEP', use: 'enc' },
    without(rsaA('x'), 'use'),
    without(rsaB('x', 'PS256'), 'use'),
  ];

  it.each<[string, IssuerKey]>([
    ['RS256', rsaA('x')],
    ['PS256', rsaB('x', 'PS256')],
  ])('JWK-09: the key is found by kid and %s', async (_alg, key) => {
    const workload = await publishing(entries);
    await expectIssued(server, await workload.token(key));
  });

  it.each<[string, IssuerKey]>([
    ['RS256 by the key for PS256', rsaB('x')],
    ['PS256 by the key for RS256', rsaA('x', 'PS256')],
  ])('JWK-09: %s is refused', async (_what, key) => {
    const workload = await publishing(entries);
    await expectRefused(
      server,
      await workload.token(key),
      'signature_invalid',
      `the signature does not fit the key "x" (${key.alg})`,
    );
  });
});

describe('JWK-11: the media types of key endpoints', () => {
  it('JWK-11: an API server that answers 406 to application/json alone gives us its keys', async () => {
    const key = ecKey('k1');
    issuer.route('/openid/v1/jwks', ({ headers }, response) => {
      const isWelcome = /application\/jwk-set\+json|\*\/\*/.test(headers.accept ?? '');
      response.writeHead(isWelcome ? 200 : 406, {
        'content-type': 'application/jwk-set+json',
        'cache-control': 'public, max-age=3600',
      });
      response.end(isWelcome ? JSON.stringify(keySetOf(key)) : '');
    });
    const workload = await publishing([], { jwks_url: `${issuer.origin}/openid/v1/jwks` });
    expect(workload.warnings).toEqual([]);
    const asked = watchRequests(issuer);
    await expectIssued(server, await workload.token(key));
    expect(asked()).toEqual(['/openid/v1/jwks']);
    expect(issuer.requests.at(-1)?.headers.accept).toBe('application/jwk-set+json, application/json');
  });

  it.each([
    'application/jwk-set+json',
    'application/jwk-set+json; charset=utf-8',
    'application/json',
    'application/json;charset=UTF-8',
    'application/jwk+json',
    'text/plain; charset=utf-8',
    'application/octet-stream',
  ])('JWK-11: %s is taken, since parsing decides', async (contentType) => {
    const key = ecKey('k1');
    const path = `/typed/${encodeURIComponent(contentType)}`;
    issuer.json(path, keySetOf(key), { 'content-type': contentType });
    const workload = await publishing([], { jwks_url: `${issuer.origin}${path}` });
    await expectIssued(server, await workload.token(key));
  });

  it('JWK-11: a web page is not taken, whatever type it claims', async () => {
    issuer.route('/page', (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end('<html><title>Sign in</title></html>');
    });
    const workload = await publishing([], { jwks_url: `${issuer.origin}/page` });
    await expectUnavailable(
      server,
      await workload.token(ecKey('k1')),
      `key set at ${issuer.origin}/page: the answer is not JSON (media type application/json)`,
    );
  });
});

describe('JWK-13: a set of elliptic keys alone', () => {
  const p521 = ecKey('k9', 'P-521');
  const p384 = ecKey('k8', 'P-384');
  const p256 = ecKey('k7');
  const set = keySetOf(p521, p384, p256).keys;
  const ed25519 = issuerKey('ed', 'EdDSA', generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' }));

  it.each(['kubernetes_sa', 'oidc'])('JWK-13: verifies every curve for %s', async (issuerType) => {
    const workload = await publishing(set, { issuer_type: issuerType });
    for (const key of [p521, p384, p256]) await expectIssued(server, await workload.token(key));
    await expectRefused(server, await workload.token({ ...p256, kid: 'k8', alg: 'ES384' }), 'signature_invalid');
  });

  it('JWK-13: EdDSA is for issuers whose row lists it', async () => {
    const workload = await publishing([...set, ed25519.entry]);
    const refused = await expectRefused(server, await workload.token(ed25519), 'alg_not_allowed');
    expect(refused.detail).toMatch(/^alg "EdDSA" is not among "RS256",/);
    await workload.update({ algorithms: ['EdDSA', 'ES256'] });
    await expectIssued(server, await workload.token(ed25519));
    // RFC 9864 gives the same algorithm a second name.
    await expectIssued(server, await workload.token({ ...ed25519, alg: 'Ed25519' }));
    await expectIssued(server, await workload.token(p256));
    await expectRefused(
      server,
      await workload.token(p384),
      'alg_not_allowed',
      'alg "ES384" is not among "EdDSA", "ES256"',
    );
  });
});

describe('JWK-14: kid on one side only', () => {
  it('JWK-14: a kid that the set does not have makes one refetch, and is then refused', async () => {
    const key = ecKey('unused');
    const workload = await publishing([without(key, 'kid')]);
    const asked = watchRequests(issuer);
    const detail = /^kid "z" is not in the key set fetched at [-\dT:.Z]+ \(0 keys: none\)$/;
    await expectRefused(server, await workload.token({ ...key, kid: 'z' }), 'kid_unknown', detail);
    expect(asked()).toEqual([workload.path, workload.path]);
    await expectRefused(server, await workload.token({ ...key, kid: 'z' }), 'kid_unknown', detail);
    expect(asked()).toHaveLength(2);
  });

  it('JWK-14: a named key verifies a token without kid, as the only candidate', async () => {
    const key = ecKey('z');
    const workload = await publishing([key.entry]);
    const asked = watchRequests(issuer);
    await expectIssued(server, await ask(workload, key, { kid: undefined }));
    expect(asked()).toEqual([workload.path]);
  });
});

describe('JWK-15: two issuers with one kid', () => {
  it.each([
    ['A, then B', 0],
    ['B, then A', 1],
  ])('JWK-15: neither key verifies the other’s tokens, warmed up in the order %s', async (_order, first) => {
    const keys = [ecKey('1'), ecKey('1')] as const;
    const a = await publishing([keys[0].entry]);
    const b = await publishing([keys[1].entry]);
    const pairs = [
      { mine: keys[0], theirs: keys[1], workload: a },
      { mine: keys[1], theirs: keys[0], workload: b },
    ] as const;
    const [warm, cold] = first === 0 ? pairs : pairs.toReversed();
    if (warm === undefined || cold === undefined) throw new Error('two issuers');
    const refuse = async ({ workload, theirs }: (typeof pairs)[number]) => {
      const answer = await workload.token(theirs);
      await expectRefused(server, answer, 'signature_invalid', 'the signature does not fit the key "1" (ES256)');
      expect((await server.auditOf(answer)).trusted_issuer_id).toBe(workload.issuerId);
    };
    await expectIssued(server, await warm.workload.token(warm.mine));
    // The forged token is the first that the other issuer's keys are fetched for.
    await refuse(cold);
    await expectIssued(server, await cold.workload.token(cold.mine));
    await refuse(warm);
    await refuse(cold);
  });
});
