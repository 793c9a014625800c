/** An admin's look at a key source: everything that came back from one load, as plain data. It keeps nothing. */
import type { SkippedKey } from '../assertion/key-set.ts';
import type { TrustedIssuer } from '../assertion/trusted-issuer.ts';
import { type KeyLoadFailure, loadIssuerKeys } from './key-source.ts';
import type { FetchJson } from './outbound-fetch.ts';

export type IssuerCheck = {
  readonly passed: boolean;
  /** Null where the key source needs no discovery. */
  readonly discoveryUrl: string | null;
  readonly discoveredIssuer: string | null;
  /** Null where the check did not come that far, or the keys are pasted. */
  readonly jwksUrl: string | null;
  readonly keys: readonly CheckedKey[];
  readonly skipped: readonly SkippedKey[];
  readonly maxAgeSeconds: number | null;
  readonly failure: KeyLoadFailure | null;
};

export type CheckedKey = {
  readonly kid: string | null;
  readonly algorithms: readonly string[];
  readonly thumbprint: string;
};

/** Loads an issuer's keys now, past every cache. Never rejects for anything that the other side does. */
export async function checkIssuer(issuer: TrustedIssuer, fetchJson: FetchJson): Promise<IssuerCheck> {
  const { outcome, ...addresses } = await loadIssuerKeys(issuer, fetchJson);
  if (!outcome.ok) {
    return { ...addresses, passed: false, keys: [], skipped: [], maxAgeSeconds: null, failure: outcome.error };
  }
  const { keys, skipped, maxAgeSeconds } = outcome.value;
  return {
    ...addresses,
    passed: true,
    keys: keys.map(({ kid, algorithms, thumbprint }) => ({ kid, algorithms, thumbprint })),
    skipped,
    maxAgeSeconds,
    failure: null,
  };
}
