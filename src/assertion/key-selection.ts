/**
 * Which keys of an issuer's set may have signed this assertion. Only ever within that issuer's own set (RFC 8725 §3.8):
 * two issuers may use one `kid`. A declared `kid` that is not there never falls through to another key.
 */
import { err, ok, type Result } from '../result.ts';
import type { UnverifiedAssertion } from './compact-jws.ts';
import type { KeySet, VerificationKey } from './key-set.ts';
import type { AssertionRefusal } from './refusal.ts';
import type { TrustedIssuer } from './trusted-issuer.ts';

/** Keys with one `kid` that are tried at most: each costs a signature check. */
const MAX_CANDIDATES = 4;

/** The keys to try, at least one. */
export function selectKeys(
  { alg, kid }: Pick<UnverifiedAssertion, 'alg' | 'kid'>,
  keySet: KeySet,
  issuer: Pick<TrustedIssuer, 'requireKid'>,
): Result<readonly VerificationKey[], AssertionRefusal> {
  const fitting = keySet.keys.filter((key) => key.algorithms.includes(alg));
  if (kid === null) return selectWithoutKid(fitting, keySet, issuer, alg);
  if (!keySet.keys.some((key) => key.kid === kid)) {
    return err({
      reason: 'kid_unknown',
      kid,
      known: keySet.keys.map((key) => key.kid ?? '').filter((known) => known !== ''),
      origin: keySet.origin,
      loadedAt: keySet.loadedAt,
      skipped: keySet.skipped.find((skip) => skip.kid === kid)?.reason ?? null,
    });
  }
  const candidates = fitting.filter((key) => key.kid === kid).slice(0, MAX_CANDIDATES);
  return candidates.length === 0 ? err({ reason: 'key_unfit', kid, alg }) : ok(candidates);
}

/** No `kid`: right only when there is nothing to choose from (RFC 7515 §4.1.4 makes it optional). */
function selectWithoutKid(
  fitting: readonly VerificationKey[],
  keySet: KeySet,
  issuer: Pick<TrustedIssuer, 'requireKid'>,
  alg: string,
): Result<readonly VerificationKey[], AssertionRefusal> {
  if (issuer.requireKid) return err({ reason: 'kid_missing', keys: keySet.keys.length });
  const thumbprints = new Set(fitting.map((key) => key.thumbprint));
  if (thumbprints.size === 0) return err({ reason: 'key_unfit', kid: null, alg });
  if (thumbprints.size > 1) return err({ reason: 'key_ambiguous', keys: thumbprints.size });
  return ok(fitting.slice(0, 1));
}
