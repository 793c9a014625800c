/** Public keys for tests that verify no signature: equal names give equal keys. */
import { createHash, generateKeyPairSync, type JsonWebKey } from 'node:crypto';

export type PublicJwk = JsonWebKey & { readonly kid: string };

const curves = new Map<string, JsonWebKey>();

/** A point whose private half is thrown away. */
export function ecJwk(kid: string, crv: 'P-256' | 'P-384' | 'P-521' = 'P-256'): PublicJwk {
  const name = `${crv} ${kid}`;
  const known = curves.get(name) ?? generateKeyPairSync('ec', { namedCurve: crv }).publicKey.export({ format: 'jwk' });
  curves.set(name, known);
  return { ...known, kid };
}

/** A modulus of the given size that nobody has factored, and nobody needs to. */
export function rsaJwk(kid: string, bits = 2048): PublicJwk {
  const modulus = Buffer.concat(
    Array.from({ length: Math.ceil(bits / 512) }, (_, block) =>
      createHash('sha512').update(`${kid} ${block}`).digest(),
    ),
  ).subarray(0, bits / 8);
  modulus.writeUInt8((modulus[0] ?? 0) | 0x80, 0);
  modulus.writeUInt8((modulus.at(-1) ?? 0) | 1, modulus.length - 1);
  return { kty: 'RSA', kid, n: modulus.toString('base64url'), e: 'AQAB' };
}
