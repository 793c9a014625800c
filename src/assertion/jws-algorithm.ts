/**
 * The signature algorithms we verify, as rows of a table (RFC 7518 §3, RFC 8037): asymmetric ones only, so that no
 * public key can ever serve as an HMAC secret. Resolved once; nobody downstream looks at the name again.
 */
import { constants, type KeyObject, verify } from 'node:crypto';

type JwsAlgorithm = {
  readonly hash: 'sha256' | 'sha384' | 'sha512' | null;
  readonly keyType: 'rsa' | 'ec' | 'ed25519';
  /** EC only: the curve, and with it the one length that a raw R‖S signature may have. */
  readonly curve?: string;
  readonly signatureBytes?: number;
  readonly pss?: true;
};

const ALGORITHMS: Readonly<Record<string, JwsAlgorithm>> = {
  RS256: { hash: 'sha256', keyType: 'rsa' },
  RS384: { hash: 'sha384', keyType: 'rsa' },
  RS512: { hash: 'sha512', keyType: 'rsa' },
  PS256: { hash: 'sha256', keyType: 'rsa', pss: true },
  PS384: { hash: 'sha384', keyType: 'rsa', pss: true },
  PS512: { hash: 'sha512', keyType: 'rsa', pss: true },
  ES256: { hash: 'sha256', keyType: 'ec', curve: 'prime256v1', signatureBytes: 64 },
  ES384: { hash: 'sha384', keyType: 'ec', curve: 'secp384r1', signatureBytes: 96 },
  ES512: { hash: 'sha512', keyType: 'ec', curve: 'secp521r1', signatureBytes: 132 },
  EdDSA: { hash: null, keyType: 'ed25519', signatureBytes: 64 },
  Ed25519: { hash: null, keyType: 'ed25519', signatureBytes: 64 },
};

/** All names that an issuer's `algorithms` may list. */
export const JWS_ALGORITHMS: readonly string[] = Object.keys(ALGORITHMS);

/** What an issuer may sign with when its row does not say: everything but EdDSA, which is opted into. */
export const DEFAULT_ALGORITHMS: readonly string[] = JWS_ALGORITHMS.filter(
  (name) => name !== 'EdDSA' && name !== 'Ed25519',
);

export const RSA_ALGORITHMS: readonly string[] = JWS_ALGORITHMS.filter((name) => ALGORITHMS[name]?.keyType === 'rsa');

/** RFC 7518 §3.4 ties each EC algorithm to one curve. */
export const EC_ALGORITHM_BY_CURVE: Readonly<Record<string, string>> = {
  'P-256': 'ES256',
  'P-384': 'ES384',
  'P-521': 'ES512',
};

/**
 * Whether `signature` is `alg` over `signingInput` by `key`. False for every mismatch of algorithm, key type, curve or
 * length; never throws. ECDSA signatures are raw R‖S of fixed length: DER is refused (RFC 7518 §3.4).
 */
export function isSignatureValid(alg: string, key: KeyObject, signingInput: Buffer, signature: Buffer): boolean {
  const algorithm = Object.hasOwn(ALGORITHMS, alg) ? ALGORITHMS[alg] : undefined;
  if (algorithm === undefined || key.asymmetricKeyType !== algorithm.keyType) return false;
  if (algorithm.curve !== undefined && key.asymmetricKeyDetails?.namedCurve !== algorithm.curve) return false;
  if (algorithm.signatureBytes !== undefined && signature.length !== algorithm.signatureBytes) return false;
  try {
    return verify(
      algorithm.hash,
      signingInput,
      algorithm.pss
        ? { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }
        : { key, dsaEncoding: 'ieee-p1363' },
      signature,
    );
  } catch {
    return false;
  }
}
