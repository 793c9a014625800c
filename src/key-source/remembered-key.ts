/**
 * A verification key as small as it can be kept: a registry of 10,000 issuers has tens of thousands of keys, of which
 * most are not used for days. Measured with RSA-2048: 0.3 KB as text; a `KeyObject` is 1 KB of OpenSSL's memory, and
 * 2.5 KB once it has verified something.
 */
import { createPublicKey, type KeyObject } from 'node:crypto';
import type { VerificationKey } from '../assertion/key-set.ts';

/** Lists of algorithms, each kept once: there are as many as there are kinds of keys. */
const algorithmLists = new Map<string, readonly string[]>();

export class RememberedKey implements VerificationKey {
  readonly kid: string | null;
  readonly algorithms: readonly string[];
  readonly thumbprint: string;
  /** SubjectPublicKeyInfo (RFC 5280 §4.1), one character for each byte. */
  readonly #der: string;
  #key: KeyObject | null = null;

  constructor({ kid, algorithms, thumbprint, key }: VerificationKey) {
    this.kid = kid;
    this.algorithms = keptOnce(algorithms);
    this.thumbprint = thumbprint;
    this.#der = key.export({ type: 'spki', format: 'der' }).toString('latin1');
  }

  /** Made at the first use, and kept from then on. */
  get key(): KeyObject {
    this.#key ??= createPublicKey({ key: Buffer.from(this.#der, 'latin1'), format: 'der', type: 'spki' });
    return this.#key;
  }
}

function keptOnce(algorithms: readonly string[]): readonly string[] {
  const name = algorithms.join();
  const known = algorithmLists.get(name) ?? algorithms;
  algorithmLists.set(name, known);
  return known;
}
