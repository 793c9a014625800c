/**
 * RSA keys that must not be believed: too short (RFC 7518 §3.3), too long to verify cheaply, with an exponent that
 * makes every signature valid, or made by the broken generator of CVE-2017-15361 (ROCA).
 */
import type { KeyObject } from 'node:crypto';

const MIN_MODULUS_BITS = 2048;
/** Verification time grows with the square of the modulus; nobody real publishes more. */
const MAX_MODULUS_BITS = 8192;
/** FIPS 186-5 §5.1 allows exponents below 2^256; OpenSSL verifies up to 64 bits for large moduli. */
const MAX_EXPONENT = 2n ** 64n;

/**
 * Primes of the ROCA fingerprint (Nemec et al., "The Return of Coppersmith's Attack", CCS 2017, §3): a modulus from
 * the broken generator is a power of 65537 modulo each of them. A sound modulus is so by chance once in 2^27.
 */
const ROCA_PRIMES = [
  3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103, 107, 109, 113,
  127, 131, 137, 139, 149, 151, 157, 163, 167,
];
const ROCA_RESIDUES = ROCA_PRIMES.map((prime) => ({ prime: BigInt(prime), powers: powersOf65537(prime) }));

function powersOf65537(prime: number): ReadonlySet<bigint> {
  const generator = 65537 % prime;
  const powers = new Set<bigint>();
  for (let power = 1; !powers.has(BigInt(power)); power = (power * generator) % prime) powers.add(BigInt(power));
  return powers;
}

/** Why an RSA public key is refused, as a phrase for the admin; null when it is sound. */
export function weakRsaKey(key: KeyObject): string | null {
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0;
  if (bits < MIN_MODULUS_BITS) return `RSA modulus of ${bits} < ${MIN_MODULUS_BITS} bits`;
  if (bits > MAX_MODULUS_BITS) return `RSA modulus of ${bits} > ${MAX_MODULUS_BITS} bits`;
  const exponent = key.asymmetricKeyDetails?.publicExponent ?? 0n;
  if (exponent < 3n || exponent % 2n === 0n || exponent > MAX_EXPONENT) return 'RSA public exponent is not sane';
  return isRocaModulus(modulusOf(key)) ? 'RSA modulus has the ROCA fingerprint (CVE-2017-15361)' : null;
}

function modulusOf(key: KeyObject): bigint {
  const { n } = key.export({ format: 'jwk' });
  return BigInt(`0x${Buffer.from(n ?? '', 'base64url').toString('hex')}`);
}

function isRocaModulus(modulus: bigint): boolean {
  return ROCA_RESIDUES.every(({ prime, powers }) => powers.has(modulus % prime));
}
