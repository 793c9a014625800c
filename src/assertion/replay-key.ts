/**
 * What makes an assertion the same one: `(issuer, jti)`, or without a `jti` (Kubernetes before 1.30)
 * `(issuer, sub, iat, exp)` with the digest of what was signed, so that two pods whose tokens were minted in the same
 * second are told apart. Every field is length-prefixed before it is hashed: ("ab","c") is not ("a","bc").
 */
import { createHash } from 'node:crypto';
import { err, ok, type Result } from '../result.ts';
import type { UnverifiedAssertion } from './compact-jws.ts';
import type { AssertionRefusal } from './refusal.ts';
import type { TimeClaims } from './time-claims.ts';

/** Longest `jti`; a UUID has 36. */
const MAX_JTI_LENGTH = 256;

/** The assertion's `jti`; null where it has none. */
export function readJti(claims: Readonly<Record<string, unknown>>): Result<string | null, AssertionRefusal> {
  if (!Object.hasOwn(claims, 'jti')) return ok(null);
  const { jti } = claims;
  if (typeof jti !== 'string' || jti === '') return err({ reason: 'jti_invalid', detail: 'not a non-empty string' });
  if (jti.length > MAX_JTI_LENGTH)
    return err({ reason: 'jti_invalid', detail: `longer than ${MAX_JTI_LENGTH} characters` });
  return ok(jti);
}

/** 32 bytes that are equal exactly for equal assertions of one issuer row. */
export function replayKey(
  trustedIssuerId: string,
  jti: string | null,
  subject: string,
  times: TimeClaims,
  signingInput: UnverifiedAssertion['signingInput'],
): Buffer {
  return jti === null
    ? hashFields(
        'digest',
        trustedIssuerId,
        subject,
        String(times.iat),
        String(times.exp),
        assertionDigest(signingInput),
      )
    : hashFields('jti', trustedIssuerId, jti);
}

/** SHA-256 of the signing input, hexadecimal: names an assertion in the audit log without giving it away. */
export function assertionDigest(signingInput: Buffer): string {
  return createHash('sha256').update(signingInput).digest('hex');
}

function hashFields(...fields: readonly string[]): Buffer {
  const hash = createHash('sha256');
  for (const field of fields) {
    const bytes = Buffer.from(field, 'utf8');
    const length = Buffer.alloc(4);
    length.writeUInt32BE(bytes.length);
    hash.update(length).update(bytes);
  }
  return hash.digest();
}
