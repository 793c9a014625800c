/**
 * Is the assertion alive, and short-lived (RFC 7523 §3 rules 4 to 6)? NumericDates may have fractions (RFC 7519 §2);
 * anything that is not a finite number in a sane range is refused, never coerced.
 */
import { err, ok, type Result } from '../result.ts';
import type { AssertionRefusal } from './refusal.ts';
import { endsWithAssertion, type TrustedIssuer } from './trusted-issuer.ts';

/** Leeway for clocks that differ, in seconds: what kube-apiserver itself allows (go-jose's DefaultLeeway). */
export const CLOCK_SKEW_SECONDS = 60;
/** 9999-12-31T23:59:59Z: beyond it dates break, and milliseconds mistaken for seconds end up there. */
const LATEST_NUMERIC_DATE = 253_402_300_799;

export type TimeClaims = {
  readonly exp: number;
  readonly iat: number | null;
};

/** Checks `exp`, `nbf` and `iat` at `now` (seconds since the epoch), and the ceiling on the whole lifetime. */
export function checkTimeClaims(
  claims: Readonly<Record<string, unknown>>,
  issuer: Pick<TrustedIssuer, 'maxTokenLifetimeSeconds' | 'assertionUse' | 'capToAssertion'>,
  now: number,
): Result<TimeClaims, AssertionRefusal> {
  const exp = readNumericDate(claims, 'exp');
  if (!exp.ok) return exp;
  const iat = readNumericDate(claims, 'iat');
  if (!iat.ok) return iat;
  const nbf = readNumericDate(claims, 'nbf');
  if (!nbf.ok) return nbf;
  if (exp.value === null) return err({ reason: 'time_claim_missing', claim: 'exp' });

  // Where the issued token ends with the assertion there is nothing to issue once less than a second is left: no leeway.
  const end = endsWithAssertion(issuer) ? Math.floor(exp.value) : exp.value + CLOCK_SKEW_SECONDS;
  if (now >= end) return err({ reason: 'expired', exp: exp.value, now });
  if (nbf.value !== null && nbf.value > now + CLOCK_SKEW_SECONDS) {
    return err({ reason: 'not_yet_valid', claim: 'nbf', value: nbf.value, now });
  }
  if (iat.value !== null && iat.value > now + CLOCK_SKEW_SECONDS) {
    return err({ reason: 'not_yet_valid', claim: 'iat', value: iat.value, now });
  }
  // Without iat the life that is left is all we know. Replay memory lasts until exp, so this also bounds the table.
  const lifetimeSeconds = exp.value - (iat.value ?? now);
  const maxSeconds = issuer.maxTokenLifetimeSeconds;
  const longest = Math.max(lifetimeSeconds, exp.value - now - CLOCK_SKEW_SECONDS);
  if (longest > maxSeconds) return err({ reason: 'lifetime_too_long', lifetimeSeconds: longest, maxSeconds });
  return ok({ exp: exp.value, iat: iat.value });
}

function readNumericDate(
  claims: Readonly<Record<string, unknown>>,
  claim: 'exp' | 'iat' | 'nbf',
): Result<number | null, AssertionRefusal> {
  if (!Object.hasOwn(claims, claim)) return ok(null);
  const value = claims[claim];
  if (
    typeof value !== 'number' ||
    !Number.isFinite(value) ||
    value > LATEST_NUMERIC_DATE ||
    value < -LATEST_NUMERIC_DATE
  ) {
    const presented = typeof value === 'number' ? String(value) : `a ${value === null ? 'null' : typeof value}`;
    return err({ reason: 'time_claim_invalid', claim, presented });
  }
  return ok(value);
}
