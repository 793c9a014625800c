/**
 * A trusted issuer's public keys: a JWK set (RFC 7517) as we are willing to use it. One unusable entry never spoils
 * the others; it is skipped, with the reason kept for the admin.
 */
import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import { calculateJwkThumbprint } from 'jose';
import { err, ok, type Result } from '../result.ts';
import { EC_ALGORITHM_BY_CURVE, RSA_ALGORITHMS } from './jws-algorithm.ts';
import { weakRsaKey } from './weak-rsa-key.ts';

/** Most keys read from one set; more is a hostile or broken issuer. Real sets have one to five. */
export const MAX_KEYS_PER_SET = 100;

export type VerificationKey = {
  /** Null where the entry has none, or an empty one (self-hosted IRSA recipes print `kid: ""`). */
  readonly kid: string | null;
  /** The algorithms this key may verify: its own `alg`, or those of its type and curve. */
  readonly algorithms: readonly string[];
  readonly key: KeyObject;
  /** RFC 7638, SHA-256. */
  readonly thumbprint: string;
};

export type SkippedKey = { readonly kid: string | null; readonly reason: string };

export type KeySet = {
  readonly keys: readonly VerificationKey[];
  readonly skipped: readonly SkippedKey[];
  /** When it was fetched, or for a pasted set when it was stored. */
  readonly loadedAt: number;
  /** `static`: pasted by an admin, never fetched again. */
  readonly origin: 'fetched' | 'static';
  /** True while the last good set is used because newer ones cannot be had. */
  readonly stale: boolean;
};

export type JwkSetContent = Pick<KeySet, 'keys' | 'skipped'>;

/**
 * Reads a parsed JWK set document. The error is a sentence for the admin.
 *
 * A document without a `keys` array, or with an empty one, is an error: what an outage or an error page looks like
 * must not be taken for the removal of all keys. A set whose keys are all unusable is an error for the same reason.
 */
export async function readJwkSet(document: unknown): Promise<Result<JwkSetContent, string>> {
  if (typeof document !== 'object' || document === null || !Array.isArray((document as { keys?: unknown }).keys)) {
    return err('not a JWK set: no array "keys"');
  }
  const entries: unknown[] = (document as { keys: unknown[] }).keys;
  if (entries.length === 0) return err('the JWK set is empty');
  if (entries.length > MAX_KEYS_PER_SET)
    return err(`the JWK set has ${entries.length} keys, more than ${MAX_KEYS_PER_SET}`);

  const keys: VerificationKey[] = [];
  const skipped: SkippedKey[] = [];
  for (const entry of entries) {
    const read = await readJwk(entry);
    if (!read.ok) skipped.push(read.error);
    else if (!keys.some((key) => isSameEntry(key, read.value))) keys.push(read.value);
  }
  if (keys.length === 0) {
    return err(
      `the JWK set has no usable key: ${skipped.map((skip) => `${skip.kid ?? 'no kid'}: ${skip.reason}`).join('; ')}`,
    );
  }
  return ok({ keys, skipped });
}

function isSameEntry(a: VerificationKey, b: VerificationKey): boolean {
  return a.thumbprint === b.thumbprint && a.kid === b.kid && a.algorithms.join() === b.algorithms.join();
}

async function readJwk(entry: unknown): Promise<Result<VerificationKey, SkippedKey>> {
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) {
    return err({ kid: null, reason: 'not a JSON object' });
  }
  const jwk = entry as JsonWebKey & { kid?: unknown; use?: unknown; key_ops?: unknown; alg?: unknown };
  const kid = typeof jwk.kid === 'string' && jwk.kid !== '' ? jwk.kid : null;
  const skip = (reason: string) => err({ kid, reason });

  if (jwk.kid !== undefined && typeof jwk.kid !== 'string') return skip('kid is not a string');
  if (jwk.use !== undefined && jwk.use !== 'sig') return skip('use is not "sig"');
  if (jwk.key_ops !== undefined && !(Array.isArray(jwk.key_ops) && jwk.key_ops.includes('verify'))) {
    return skip('key_ops does not contain "verify"');
  }
  // A published private key is everyone's key: what it signed proves nothing.
  if ('d' in jwk || 'p' in jwk || 'k' in jwk) return skip('holds private or symmetric key material');

  const supported = algorithmsOfKeyType(jwk);
  if (supported.length === 0) return skip(`unsupported key type ${describeKeyType(jwk)}`);
  const algorithms = permittedAlgorithms(supported, jwk.alg);
  if (algorithms.length === 0) return skip('alg does not fit the key type');

  let key: KeyObject;
  let thumbprint: string;
  try {
    key = createPublicKey({ key: jwk, format: 'jwk' });
    thumbprint = await calculateJwkThumbprint(key.export({ format: 'jwk' }));
  } catch {
    return skip('members missing or malformed');
  }
  if (key.asymmetricKeyType === 'rsa') {
    const weakness = weakRsaKey(key);
    if (weakness !== null) return skip(weakness);
  }
  return ok({ kid, algorithms, key, thumbprint });
}

function algorithmsOfKeyType(jwk: JsonWebKey): readonly string[] {
  if (jwk.kty === 'RSA') return RSA_ALGORITHMS;
  if (jwk.kty === 'EC') {
    // A curve that is not a string must not be turned into one: the conversion can throw.
    const algorithm = typeof jwk.crv === 'string' ? EC_ALGORITHM_BY_CURVE[jwk.crv] : undefined;
    return algorithm === undefined ? [] : [algorithm];
  }
  // RFC 9864 renames EdDSA over Ed25519 to Ed25519: one key, both names.
  return jwk.kty === 'OKP' && jwk.crv === 'Ed25519' ? ['EdDSA', 'Ed25519'] : [];
}

function permittedAlgorithms(supported: readonly string[], alg: unknown): readonly string[] {
  if (alg === undefined) return supported;
  if (supported.includes('EdDSA') && (alg === 'EdDSA' || alg === 'Ed25519')) return supported;
  return supported.filter((algorithm) => algorithm === alg);
}

function describeKeyType(jwk: JsonWebKey): string {
  const printable = (value: unknown) => (typeof value === 'string' ? value.slice(0, 20) : typeof value);
  return jwk.crv === undefined ? printable(jwk.kty) : `${printable(jwk.kty)} ${printable(jwk.crv)}`;
}
