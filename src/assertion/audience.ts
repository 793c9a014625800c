/**
 * Was the assertion made for us, and for nobody else (RFC 7523 §3 rule 3, 7523bis §4)? An assertion that names two
 * audiences can be carried by one of them to the other. Values are compared byte for byte with configuration, never
 * with what a request header says.
 */
import { err, ok, type Result } from '../result.ts';
import type { AssertionRefusal } from './refusal.ts';
import type { TrustedIssuer } from './trusted-issuer.ts';

/** An assertion with more audiences than this is not one of ours whatever they are. */
const MAX_AUDIENCES = 20;

/** Checks `aud`, a string or an array of strings. */
export function checkAudience(
  aud: unknown,
  issuer: Pick<TrustedIssuer, 'expectedAud' | 'allowAdditionalAudiences'>,
): Result<void, AssertionRefusal> {
  const presented = typeof aud === 'string' ? [aud] : aud;
  if (!Array.isArray(presented) || presented.length === 0 || presented.length > MAX_AUDIENCES) {
    return err({ reason: 'aud_missing' });
  }
  if (!presented.every((audience): audience is string => typeof audience === 'string' && audience !== '')) {
    return err({ reason: 'aud_missing' });
  }
  const expected = issuer.expectedAud;
  if (!presented.some((audience) => expected.includes(audience))) {
    return err({ reason: 'aud_mismatch', presented, expected });
  }
  if (!issuer.allowAdditionalAudiences && presented.length > 1) {
    return err({ reason: 'aud_not_sole', presented, expected });
  }
  return ok(undefined);
}
