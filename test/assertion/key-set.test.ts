/** What is taken from a published key set, and which of its keys may then verify which signature. */
import { createPrivateKey, type JsonWebKey, sign } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { isSignatureValid } from '../../src/assertion/jws-algorithm.ts';
import { selectKeys } from '../../src/assertion/key-selection.ts';
import { type KeySet, MAX_KEYS_PER_SET, readJwkSet } from '../../src/assertion/key-set.ts';
import { ED25519, P256, P256_B, P384, P521, publicJwk, RSA_1024, RSA_A, RSA_B } from '../fixtures/keys.ts';

const RSA_ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'];
const INPUT = Buffer.from('header.payload');

async function setOf(...entries: unknown[]): Promise<KeySet> {
  const read = await readJwkSet({ keys: entries });
  if (!read.ok) throw new Error(read.error);
  return { ...read.value, loadedAt: 0, origin: 'fetched', stale: false };
}

const describeSet = (set: KeySet) => set.keys.map((key) => [key.kid, key.algorithms] as const);

/** Signs as the header says, and asks whether the set verifies it. */
async function verdict(set: KeySet, header: { alg: string; kid?: string }, signer: JsonWebKey): Promise<string> {
  const selected = selectKeys({ alg: header.alg, kid: header.kid ?? null }, set, { requireKid: false });
  if (!selected.ok) return selected.error.reason;
  const hash = header.alg === 'EdDSA' ? null : `sha${header.alg.slice(2)}`;
  const signature = sign(hash, INPUT, {
    key: createPrivateKey({ key: signer, format: 'jwk' }),
    dsaEncoding: 'ieee-p1363',
  });
  return selected.value.some(({ key }) => isSignatureValid(header.alg, key, INPUT, signature)) ? 'valid' : 'invalid';
}

describe('entries that are not for us', () => {
  it('JWK-01: an unknown kty is skipped, and the rest is used', async () => {
    const set = await setOf(
      { kty: 'AKP', alg: 'ML-DSA-65', kid: 'pq', pub: 'AAAA' },
      publicJwk(RSA_A, { kid: 'r1', use: 'sig', alg: 'RS256' }),
    );
    expect(describeSet(set)).toEqual([['r1', ['RS256']]]);
    expect(set.skipped).toEqual([{ kid: 'pq', reason: 'unsupported key type AKP' }]);
    expect(await verdict(set, { alg: 'RS256', kid: 'r1' }, RSA_A)).toBe('valid');
  });

  it.each([
    ['use is enc', publicJwk(P256, { use: 'enc' }), 'use is not "sig"'],
    ['use is for X.509 or SPIFFE', publicJwk(P256, { use: 'x509-svid' }), 'use is not "sig"'],
    ['use is not a string', publicJwk(P256, { use: ['sig'] }), 'use is not "sig"'],
    ['key_ops has no verify', publicJwk(P256, { key_ops: ['sign'] }), 'key_ops does not contain "verify"'],
    ['key_ops is empty', publicJwk(P256, { key_ops: [] }), 'key_ops does not contain "verify"'],
    ['key_ops is not an array', publicJwk(P256, { key_ops: 'verify' }), 'key_ops does not contain "verify"'],
    ['alg is of another type', publicJwk(P256, { alg: 'RS256' }), 'alg does not fit the key type'],
    ['alg is of another curve', publicJwk(P256, { alg: 'ES384' }), 'alg does not fit the key type'],
    ['alg is for encryption', publicJwk(RSA_A, { alg: 'RSA-OAEP' }), 'alg does not fit the key type'],
    ['alg is symmetric', publicJwk(RSA_A, { alg: 'HS256' }), 'alg does not fit the key type'],
    ['alg is null', publicJwk(RSA_A, { alg: null }), 'alg does not fit the key type'],
    ['kid is a number', publicJwk(P256, { kid: 7 }), 'kid is not a string'],
    ['the key is symmetric', { kty: 'oct', k: 'AAAA' }, 'holds private or symmetric key material'],
    ['the RSA key is private', RSA_A, 'holds private or symmetric key material'],
    ['the EC key is private', P256, 'holds private or symmetric key material'],
    ['d is there but null', { ...publicJwk(P256), d: null }, 'holds private or symmetric key material'],
    ['the curve is not ours', { ...publicJwk(P256), crv: 'secp256k1' }, 'unsupported key type EC secp256k1'],
    ['the curve is not a string', { ...publicJwk(P256), crv: { toString: 1 } }, 'unsupported key type EC object'],
    ['the curve is missing', { kty: 'EC', x: 'AA', y: 'AA' }, 'unsupported key type EC'],
    ['the curve is for key agreement', { kty: 'OKP', crv: 'X25519', x: ED25519.x }, 'unsupported key type OKP X25519'],
    ['kty is missing', { kid: undefined }, 'unsupported key type undefined'],
    ['a member is missing', { kty: 'RSA', e: 'AQAB' }, 'members missing or malformed'],
    ['a member is malformed', { kty: 'RSA', n: 7, e: 'AQAB' }, 'members missing or malformed'],
    ['the point is not on the curve', { ...publicJwk(P256), y: P256.x }, 'members missing or malformed'],
    ['the modulus is short', publicJwk(RSA_1024), 'RSA modulus of 1024 < 2048 bits'],
    ['it is null', null, 'not a JSON object'],
    ['it is a string', 'x', 'not a JSON object'],
    ['it is an array', [], 'not a JSON object'],
  ])('are skipped with the reason: %s', async (_what, entry, reason) => {
    const set = await setOf(entry, publicJwk(RSA_A, { kid: 'good' }));
    expect(describeSet(set)).toEqual([['good', RSA_ALGORITHMS]]);
    expect(set.skipped).toEqual([{ kid: null, reason }]);
  });

  it('JWK-05: an encryption key under the same kid is neither fatal nor used', async () => {
    const set = await setOf(
      publicJwk(P256, { use: 'enc', alg: 'ES256', kid: 'same' }),
      publicJwk(RSA_A, { use: 'sig', alg: 'RS256', kid: 'same' }),
    );
    expect(await verdict(set, { alg: 'RS256', kid: 'same' }, RSA_A)).toBe('valid');
    expect(await verdict(set, { alg: 'ES256', kid: 'same' }, P256)).toBe('key_unfit');
  });
});

describe('members that may be missing', () => {
  it('JWK-03: a key without use is for signatures', async () => {
    const set = await setOf(publicJwk(RSA_A, { kid: 'k' }), publicJwk(P256, { kid: 'ops', key_ops: ['verify', 'x'] }));
    expect(describeSet(set)).toEqual([
      ['k', RSA_ALGORITHMS],
      ['ops', ['ES256']],
    ]);
    expect(await verdict(set, { alg: 'RS256', kid: 'k' }, RSA_A)).toBe('valid');
  });

  it('JWK-04: a key without alg may verify what its type and curve allow, and nothing else', async () => {
    const set = await setOf(publicJwk(P256, { kid: 'e', use: 'sig' }), publicJwk(RSA_A, { kid: 'r' }));
    expect(await verdict(set, { alg: 'ES256', kid: 'e' }, P256)).toBe('valid');
    expect(await verdict(set, { alg: 'RS256', kid: 'r' }, RSA_A)).toBe('valid');
    expect(await verdict(set, { alg: 'RS512', kid: 'r' }, RSA_A)).toBe('valid');
    expect(await verdict(set, { alg: 'ES384', kid: 'e' }, P384)).toBe('key_unfit');
    expect(await verdict(set, { alg: 'RS256', kid: 'e' }, RSA_A)).toBe('key_unfit');
  });

  it('JWK-04: a key with alg verifies that one only', async () => {
    const set = await setOf(publicJwk(RSA_A, { kid: 'r', alg: 'RS256' }));
    expect(await verdict(set, { alg: 'RS256', kid: 'r' }, RSA_A)).toBe('valid');
    expect(await verdict(set, { alg: 'RS384', kid: 'r' }, RSA_A)).toBe('key_unfit');
  });

  it('an empty kid counts as none', async () => {
    expect(describeSet(await setOf(publicJwk(P256, { kid: '' })))).toEqual([[null, ['ES256']]]);
  });

  it('JWK-06: neither token nor key has a kid: one candidate is used, two are never guessed between', async () => {
    const one = await setOf(publicJwk(RSA_A));
    expect(await verdict(one, { alg: 'RS256' }, RSA_A)).toBe('valid');
    expect(await verdict(one, { alg: 'RS256' }, RSA_B)).toBe('invalid');
    const two = await setOf(publicJwk(RSA_A), publicJwk(RSA_B));
    expect(await verdict(two, { alg: 'RS256' }, RSA_A)).toBe('key_ambiguous');
    const otherType = await setOf(publicJwk(RSA_A), publicJwk(P256));
    expect(await verdict(otherType, { alg: 'RS256' }, RSA_A)).toBe('valid');
  });

  it('JWK-14: a key’s kid that the token does not name is no obstacle; a token’s kid that no key has is', async () => {
    expect(await verdict(await setOf(publicJwk(RSA_A, { kid: 'z' })), { alg: 'RS256' }, RSA_A)).toBe('valid');
    expect(await verdict(await setOf(publicJwk(RSA_A)), { alg: 'RS256', kid: 'z' }, RSA_A)).toBe('kid_unknown');
  });
});

describe('several entries', () => {
  it('JWK-08: of one key are one', async () => {
    const entry = publicJwk(RSA_A, { kid: 'a' });
    const set = await setOf(entry, { ...entry, x5t: 'other' });
    expect(set.keys).toHaveLength(1);
    expect(await verdict(set, { alg: 'RS256', kid: 'a' }, RSA_A)).toBe('valid');
  });

  it('JWK-08: of one key, once without a name, still name it', async () => {
    const set = await setOf(publicJwk(RSA_A, { kid: '' }), publicJwk(RSA_A, { kid: 'a' }));
    expect(set.keys.map((key) => key.kid)).toEqual([null, 'a']);
    expect(await verdict(set, { alg: 'RS256', kid: 'a' }, RSA_A)).toBe('valid');
    expect(await verdict(set, { alg: 'RS256' }, RSA_A)).toBe('valid');
  });

  it('JWK-09: under one kid are told apart by algorithm and use', async () => {
    const set = await setOf(
      publicJwk(RSA_B, { kid: 'x', alg: 'RSA-OAEP', use: 'enc' }),
      publicJwk(RSA_A, { kid: 'x', alg: 'RS256' }),
      publicJwk(RSA_B, { kid: 'x', alg: 'PS256' }),
    );
    expect(await verdict(set, { alg: 'RS256', kid: 'x' }, RSA_A)).toBe('valid');
    expect(await verdict(set, { alg: 'RS256', kid: 'x' }, RSA_B)).toBe('invalid');
  });

  it('JWK-09: under one kid and of one type are all tried', async () => {
    const set = await setOf(publicJwk(P256, { kid: 'x' }), publicJwk(P256_B, { kid: 'x' }));
    expect(await verdict(set, { alg: 'ES256', kid: 'x' }, P256)).toBe('valid');
    expect(await verdict(set, { alg: 'ES256', kid: 'x' }, P256_B)).toBe('valid');
  });

  it('JWK-13: of elliptic curves alone are all used', async () => {
    const set = await setOf(
      publicJwk(P521, { kid: 'k9', alg: 'ES512' }),
      publicJwk(P384, { kid: 'k8', alg: 'ES384' }),
      publicJwk(P256, { kid: 'k7', alg: 'ES256' }),
      publicJwk(ED25519, { kid: 'k6', alg: 'EdDSA' }),
    );
    expect(await verdict(set, { alg: 'ES512', kid: 'k9' }, P521)).toBe('valid');
    expect(await verdict(set, { alg: 'ES384', kid: 'k8' }, P384)).toBe('valid');
    expect(await verdict(set, { alg: 'ES256', kid: 'k7' }, P256)).toBe('valid');
    expect(await verdict(set, { alg: 'EdDSA', kid: 'k6' }, ED25519)).toBe('valid');
  });

  it.each(['EdDSA', 'Ed25519', undefined])(
    'Ed25519 has two names, whichever the key is published with: %s',
    async (alg) => {
      expect(describeSet(await setOf(publicJwk(ED25519, { kid: 'e', ...(alg && { alg }) })))).toEqual([
        ['e', ['EdDSA', 'Ed25519']],
      ]);
    },
  );

  it('JWK-15: keys are compared by thumbprint, not by name', async () => {
    const [a, b, again] = (
      await setOf(publicJwk(RSA_A, { kid: '1' }), publicJwk(RSA_B, { kid: '1' }), publicJwk(RSA_A))
    ).keys;
    expect(a?.thumbprint).not.toBe(b?.thumbprint);
    expect(a?.thumbprint).toBe(again?.thumbprint);
  });
});

describe('a document that is no key set', () => {
  it.each([
    ['null', null, 'not a JWK set: no array "keys"'],
    ['an array', [publicJwk(RSA_A)], 'not a JWK set: no array "keys"'],
    ['a string', 'keys', 'not a JWK set: no array "keys"'],
    ['an error', { error: 'x' }, 'not a JWK set: no array "keys"'],
    ['keys as an object', { keys: {} }, 'not a JWK set: no array "keys"'],
    ['no key', { keys: [] }, 'the JWK set is empty'],
    [
      'no usable key',
      { keys: [{ kty: 'AKP', kid: 'pq' }, 7] },
      expect.stringMatching(/pq: unsupported.*no kid: not a/),
    ],
    [
      'too many keys',
      { keys: Array.from({ length: MAX_KEYS_PER_SET + 1 }, () => publicJwk(P256)) },
      `the JWK set has ${MAX_KEYS_PER_SET + 1} keys, more than ${MAX_KEYS_PER_SET}`,
    ],
  ])('ROT-13: %s is an error, never the removal of all keys', async (_what, document, error) => {
    expect(await readJwkSet(document)).toEqual({ ok: false, error });
  });
});
