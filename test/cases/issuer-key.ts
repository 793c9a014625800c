/**
 * Key pairs of stand-in issuers. Each is new, since two issuers that publish one key are both closed; elliptic ones
 * are made in a fraction of a millisecond. RSA keys are those that are checked in.
 */
import { generateKeyPairSync, type JsonWebKey } from 'node:crypto';
import { publicJwk } from '../fixtures/keys.ts';

export type IssuerKey = {
  /** What a token of this key has in its header; null for none. */
  readonly kid: string | null;
  readonly alg: string;
  readonly privateJwk: JsonWebKey;
  /** The entry of a JWK set, with every member that an issuer can give. */
  readonly entry: Readonly<Record<string, unknown>>;
};

const ALGORITHM_OF = { 'P-256': 'ES256', 'P-384': 'ES384', 'P-521': 'ES512' } as const;

/** A new elliptic key. */
export function ecKey(kid: string, crv: keyof typeof ALGORITHM_OF = 'P-256'): IssuerKey {
  const privateJwk = generateKeyPairSync('ec', { namedCurve: crv }).privateKey.export({ format: 'jwk' });
  return issuerKey(kid, ALGORITHM_OF[crv], privateJwk);
}

/** A given key under a name and an algorithm. */
export function issuerKey(kid: string | null, alg: string, privateJwk: JsonWebKey): IssuerKey {
  return { kid, alg, privateJwk, entry: publicJwk(privateJwk, { kid: kid ?? undefined, alg, use: 'sig' }) };
}

/** A JWK set of these keys. */
export function keySetOf(...keys: readonly IssuerKey[]): { readonly keys: readonly unknown[] } {
  return { keys: keys.map(({ entry }) => entry) };
}
