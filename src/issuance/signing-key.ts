/**
 * Our signing keys and their life: published, then signing, then retired, then gone. The timeline follows from the
 * caches of those who verify: a key is in the JWKS for longer than a cache may live before it signs, and stays there
 * until the last token that it signed has expired.
 */
import type { JsonWebKey } from 'node:crypto';
import type { AccessTokenSigningAlg } from './client.ts';

/** `max-age` of our JWKS answer, in seconds. */
export const JWKS_MAX_AGE_SECONDS = 300;
/** How long a new key is published before it signs: a cached answer, its refresh, and as much again. */
export const PUBLISH_AHEAD_SECONDS = 2 * JWKS_MAX_AGE_SECONDS;
/** The longest life of an access token, so also how long a key outlives its last signature. */
export const MAX_ACCESS_TOKEN_TTL_SECONDS = 3600;
/** Margin for the clocks of those who verify. */
export const CLOCK_SKEW_SECONDS = 60;

export type SigningKeyState = 'next' | 'active' | 'retired' | 'removed';

export type SigningKey = {
  /** RFC 7638 thumbprint of the public key: the same on every replica and after every restart. */
  readonly kid: string;
  readonly alg: AccessTokenSigningAlg;
  readonly publicJwk: JsonWebKey;
  /** PKCS #8 DER; lives in memory only, sealed wherever it is stored. */
  readonly privateKeyDer: Uint8Array;
  readonly createdAt: number;
  /** It signs from this instant on. */
  readonly activeFrom: number;
  /** It signs until this instant; null while nothing replaces it. */
  readonly activeUntil: number | null;
  /** It leaves the JWKS at this instant; null while nothing replaces it. */
  readonly removeAt: number | null;
};

/** The state of a key at `now`. */
export function signingKeyState(
  key: Pick<SigningKey, 'activeFrom' | 'activeUntil' | 'removeAt'>,
  now: number,
): SigningKeyState {
  if (key.removeAt !== null && now >= key.removeAt) return 'removed';
  if (key.activeUntil !== null && now >= key.activeUntil) return 'retired';
  return now >= key.activeFrom ? 'active' : 'next';
}

/** The key that signs at `now` for one algorithm: the active one that started last. */
export function signingKeyAt(
  keys: readonly SigningKey[],
  alg: AccessTokenSigningAlg,
  now: number,
): SigningKey | undefined {
  return keys
    .filter((key) => key.alg === alg && signingKeyState(key, now) === 'active')
    .sort((a, b) => b.activeFrom - a.activeFrom)[0];
}

/** The keys that belong in our JWKS at `now`. */
export function publishedKeys(keys: readonly SigningKey[], now: number): readonly SigningKey[] {
  return keys.filter((key) => signingKeyState(key, now) !== 'removed');
}

export type RotationPlan = {
  readonly activeFrom: number;
  readonly currentActiveUntil: number;
  readonly currentRemoveAt: number;
};

/**
 * When a new key takes over. Planned: published first, the current one signs until then and stays for its last token.
 * After a compromise: the new one signs at once and the current one leaves the JWKS at once.
 */
export function planRotation(now: number, compromised: boolean): RotationPlan {
  const activeFrom = compromised ? now : now + PUBLISH_AHEAD_SECONDS;
  return {
    activeFrom,
    currentActiveUntil: activeFrom,
    currentRemoveAt: compromised ? now : activeFrom + MAX_ACCESS_TOKEN_TTL_SECONDS + CLOCK_SKEW_SECONDS,
  };
}
