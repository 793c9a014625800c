/**
 * The signing keys of this process: made at first start, re-read so often that every replica follows a rotation, and
 * always enough of them. It keeps no rule of its own; when a key signs and when it leaves is in `signing-key.ts`.
 */
import { generateKeyPair, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import { calculateJwkThumbprint } from 'jose';
import type { Clock } from '../clock.ts';
import { ACCESS_TOKEN_SIGNING_ALGS, type AccessTokenSigningAlg } from './client.ts';
import type { SigningKeyStore } from './ports.ts';
import { planRotation, publishedKeys, type SigningKey, signingKeyAt } from './signing-key.ts';

/** How old the list in memory may be: the bound on how fast a replica follows an emergency rotation. */
const RELOAD_AFTER_SECONDS = 5;
/** RFC 7518 §3.3 asks for at least 2048 bits; a key lives for months, its tokens for minutes. */
const RSA_MODULUS_BITS = 2048;

const generate = promisify(generateKeyPair);

export class SigningKeyRing {
  readonly #store: SigningKeyStore;
  readonly #clock: Clock;
  #keys: readonly SigningKey[];
  #loadedAt: number;
  #loading: Promise<void> | null = null;

  private constructor(store: SigningKeyStore, clock: Clock, keys: readonly SigningKey[]) {
    this.#store = store;
    this.#clock = clock;
    this.#keys = keys;
    this.#loadedAt = clock();
  }

  /** Loads the keys and makes the first one of each algorithm where there is none; those sign at once. */
  static async open(store: SigningKeyStore, clock: Clock): Promise<SigningKeyRing> {
    for (const alg of ACCESS_TOKEN_SIGNING_ALGS) {
      const now = clock();
      if (signingKeyAt(await store.list(now), alg, now) !== undefined) continue;
      await store.insertFirst(await newSigningKey(alg, now, now));
    }
    return new SigningKeyRing(store, clock, await store.list(clock()));
  }

  /** The keys in our JWKS right now. */
  async published(): Promise<readonly SigningKey[]> {
    await this.#refresh();
    return publishedKeys(this.#keys, this.#clock());
  }

  /** The keys that sign right now, one for each algorithm. */
  async active(): Promise<readonly SigningKey[]> {
    await this.#refresh();
    const now = this.#clock();
    return ACCESS_TOKEN_SIGNING_ALGS.flatMap((alg) => signingKeyAt(this.#keys, alg, now) ?? []);
  }

  /**
   * Makes a new key. It is published now and signs once every cache has seen it; after a compromise it signs at once
   * and the earlier keys of its algorithm are withdrawn at once, with every token they signed.
   */
  async rotate(alg: AccessTokenSigningAlg, compromised: boolean): Promise<SigningKey> {
    const now = this.#clock();
    const plan = planRotation(now, compromised);
    const key = await newSigningKey(alg, now, plan.activeFrom);
    const end = { activeUntil: plan.currentActiveUntil, removeAt: plan.currentRemoveAt };
    await this.#store.rotate(key, end, compromised);
    await this.#reload();
    return key;
  }

  async #refresh(): Promise<void> {
    if (this.#clock() - this.#loadedAt < RELOAD_AFTER_SECONDS) return;
    this.#loading ??= this.#reload().finally(() => {
      this.#loading = null;
    });
    try {
      await this.#loading;
    } catch {
      // The database is away: what was signed stays verifiable with the keys we know. Whether tokens may still be
      // issued is decided by the steps that need the database.
    }
  }

  async #reload(): Promise<void> {
    const now = this.#clock();
    this.#keys = await this.#store.list(now);
    this.#loadedAt = now;
  }
}

async function newSigningKey(alg: AccessTokenSigningAlg, createdAt: number, activeFrom: number): Promise<SigningKey> {
  const { publicKey, privateKey } = await generateFor(alg);
  const publicJwk = publicKey.export({ format: 'jwk' });
  return {
    kid: await calculateJwkThumbprint(publicJwk),
    alg,
    publicJwk,
    privateKeyDer: privateKey.export({ format: 'der', type: 'pkcs8' }),
    createdAt,
    activeFrom,
    activeUntil: null,
    removeAt: null,
  };
}

function generateFor(alg: AccessTokenSigningAlg): Promise<{ publicKey: KeyObject; privateKey: KeyObject }> {
  return alg === 'ES256'
    ? generate('ec', { namedCurve: 'P-256' })
    : generate('rsa', { modulusLength: RSA_MODULUS_BITS });
}
