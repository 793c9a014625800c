import { createPublicKey } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { weakRsaKey } from '../../src/assertion/weak-rsa-key.ts';
import { publicJwk, RSA_1024, RSA_2028, RSA_A, RSA_B } from '../fixtures/keys.ts';

const bytes = (value: bigint) => {
  const hex = value.toString(16);
  return Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex');
};
const rsaKey = (n: bigint, e = 65537n) =>
  createPublicKey({
    key: { kty: 'RSA', n: bytes(n).toString('base64url'), e: bytes(e).toString('base64url') },
    format: 'jwk',
  });
const MODULUS = BigInt(`0x${Buffer.from(RSA_A.n, 'base64url').toString('hex')}`);

/** What the broken generator's moduli look like: a power of 65537 modulo the product of the first primes. */
function rocaModulus(bits: bigint): bigint {
  const isPrime = (value: number) => ![2, 3, 5, 7, 11].some((prime) => prime < value && value % prime === 0);
  const primes = Array.from({ length: 166 }, (_, index) => index + 2).filter(isPrime);
  expect(primes).toHaveLength(39);
  const product = primes.reduce((all, prime) => all * BigInt(prime), 1n);
  const residue = 65537n ** 5n % product;
  // The product is even and the residue odd: any multiple added keeps the modulus odd.
  return residue + product * (2n ** (bits - 1n) / product + 7n);
}

describe('an RSA key', () => {
  it.each([
    ['RSA_A', RSA_A],
    ['RSA_B', RSA_B],
  ])('that is sound is taken: %s', (_name, key) => {
    expect(weakRsaKey(createPublicKey({ key: publicJwk(key), format: 'jwk' }))).toBeNull();
  });

  it('of 2048 to 8192 bits is taken', () => {
    expect(weakRsaKey(rsaKey(MODULUS))).toBeNull();
    expect(weakRsaKey(rsaKey((1n << 8191n) + 12_345n))).toBeNull();
    expect(weakRsaKey(rsaKey((1n << 8192n) + 12_345n))).toBe('RSA modulus of 8193 > 8192 bits');
    expect(weakRsaKey(rsaKey((1n << 2046n) + 12_345n))).toBe('RSA modulus of 2047 < 2048 bits');
  });

  it.each([
    ['1024', RSA_1024],
    ['2028', RSA_2028],
  ])('of %s bits is too short (RFC 7518 §3.3)', (bits, key) => {
    expect(weakRsaKey(createPublicKey({ key: publicJwk(key), format: 'jwk' }))).toBe(
      `RSA modulus of ${bits} < 2048 bits`,
    );
  });

  it.each([3n, 17n, 65537n])('with exponent %s is taken', (exponent) => {
    expect(weakRsaKey(rsaKey(MODULUS, exponent))).toBeNull();
  });

  it.each([1n, 2n, 65536n, 2n ** 64n + 1n])('with exponent %s is not: it is not sane', (exponent) => {
    expect(weakRsaKey(rsaKey(MODULUS, exponent))).toBe('RSA public exponent is not sane');
  });

  it('with the ROCA fingerprint is not', () => {
    const modulus = rocaModulus(2048n);
    expect(weakRsaKey(rsaKey(modulus))).toContain('CVE-2017-15361');
    expect(weakRsaKey(rsaKey(modulus + 2n))).toBeNull();
  });
});
