/** Signatures by every algorithm of the table, and what must not pass for one. */
import { constants, createHmac, createPrivateKey, createPublicKey, type JsonWebKey, sign } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { DEFAULT_ALGORITHMS, isSignatureValid, JWS_ALGORITHMS } from '../../src/assertion/jws-algorithm.ts';
import { ED25519, P256, P384, P521, publicJwk, RSA_A, RSA_B } from '../fixtures/keys.ts';

const INPUT = Buffer.from('header.payload');
const publicKey = (key: JsonWebKey) => createPublicKey({ key: publicJwk(key), format: 'jwk' });

const KEYS: Readonly<Record<string, JsonWebKey>> = {
  RS256: RSA_A,
  RS384: RSA_A,
  RS512: RSA_A,
  PS256: RSA_A,
  PS384: RSA_A,
  PS512: RSA_A,
  ES256: P256,
  ES384: P384,
  ES512: P521,
  EdDSA: ED25519,
  Ed25519: ED25519,
};

function signed(alg: string, key: JsonWebKey, options: { dsaEncoding?: 'der'; saltLength?: number } = {}): Buffer {
  const { dsaEncoding = 'ieee-p1363', saltLength = constants.RSA_PSS_SALTLEN_DIGEST } = options;
  return sign(alg.startsWith('Ed') ? null : `sha${alg.slice(2)}`, INPUT, {
    key: createPrivateKey({ key, format: 'jwk' }),
    dsaEncoding,
    ...(alg.startsWith('PS') && { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength }),
  });
}

describe('a signature', () => {
  it.each(Object.entries(KEYS))('by %s verifies with its own key and input, and with no other', (alg, key) => {
    const signature = signed(alg, key);
    expect(isSignatureValid(alg, publicKey(key), INPUT, signature)).toBe(true);
    expect(isSignatureValid(alg, publicKey(key), Buffer.from('header.other'), signature)).toBe(false);
    const flipped = Buffer.from(signature);
    flipped.writeUInt8(flipped.readUInt8(5) ^ 1, 5);
    expect(isSignatureValid(alg, publicKey(key), INPUT, flipped)).toBe(false);
    expect(isSignatureValid(alg, publicKey(key), INPUT, Buffer.concat([signature, Buffer.from([0])]))).toBe(false);
    expect(isSignatureValid(alg, publicKey(key), INPUT, Buffer.alloc(0))).toBe(false);
  });

  it('the table is tested whole, and leaves EdDSA to those who ask for it', () => {
    expect(Object.keys(KEYS)).toEqual(JWS_ALGORITHMS);
    expect(JWS_ALGORITHMS.filter((alg) => !DEFAULT_ALGORITHMS.includes(alg))).toEqual(['EdDSA', 'Ed25519']);
  });

  it('of another key is refused', () => {
    expect(isSignatureValid('RS256', publicKey(RSA_B), INPUT, signed('RS256', RSA_A))).toBe(false);
  });

  it.each([
    ['RS256 called PS256', 'PS256', RSA_A, signed('RS256', RSA_A)],
    ['RS256 called RS512', 'RS512', RSA_A, signed('RS256', RSA_A)],
    ['ES256 called ES384', 'ES384', P256, signed('ES256', P256)],
    ['an EC key for RS256', 'RS256', P256, signed('ES256', P256)],
    ['an RSA key for ES256', 'ES256', RSA_A, signed('RS256', RSA_A)],
    ['an Ed25519 key for ES256', 'ES256', ED25519, signed('EdDSA', ED25519)],
    ['DER instead of R‖S', 'ES256', P256, signed('ES256', P256, { dsaEncoding: 'der' })],
    ['zeroes for R and S', 'ES256', P256, Buffer.alloc(64)],
    ['a PSS salt of another length', 'PS256', RSA_A, signed('PS256', RSA_A, { saltLength: 20 })],
    ['none', 'none', RSA_A, Buffer.alloc(0)],
    [
      'an HMAC with the public key as its secret',
      'HS256',
      RSA_A,
      createHmac('sha256', publicKey(RSA_A).export({ type: 'spki', format: 'pem' }))
        .update(INPUT)
        .digest(),
    ],
    ['a name of Object’s own', 'constructor', RSA_A, signed('RS256', RSA_A)],
    ['another spelling', 'rs256', RSA_A, signed('RS256', RSA_A)],
  ])('is never %s', (_what, alg, key, signature) => {
    expect(isSignatureValid(alg, publicKey(key), INPUT, signature)).toBe(false);
  });
});
