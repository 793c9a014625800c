/**
 * Text to structure, without any trust: a compact JWS (RFC 7515 §7.1) that says of itself that it is an access token
 * (RFC 9068 §2.1). The rules for its form are those for assertions; only the kind of token differs, so that neither can
 * be taken for the other (RFC 8725 §3.12).
 */
import { decodeSegment, FORBIDDEN_HEADER_MEMBERS } from '../assertion/compact-jws.ts';
import { readJsonObject } from '../assertion/json-object.ts';
import { err, ok, type Result } from '../result.ts';
import type { AccessTokenRefusal } from './access-token-refusal.ts';

/** What Node accepts for all headers together; ours have 1 to 2 KiB. */
export const MAX_TOKEN_LENGTH = 16_384;
const MAX_KID_LENGTH = 1024;

/** What the authorization server signs with. An allow-list: `none` and HMAC are not on it (RFC 8725 §3.1). */
const ALGORITHMS: readonly string[] = ['ES256', 'RS256'];

/** Claims nobody has vouched for. */
export type UnverifiedAccessToken = {
  readonly alg: string;
  readonly kid: string;
  readonly claims: Readonly<Record<string, unknown>>;
  readonly signingInput: Buffer;
  readonly signature: Buffer;
};

/** Reads one token. Every refusal is a value; it never throws. */
export function parseSignedAccessToken(token: string): Result<UnverifiedAccessToken, AccessTokenRefusal> {
  if (token.length > MAX_TOKEN_LENGTH) return malformed('too long');
  const segments = token.split('.', 4);
  if (segments.length !== 3) return malformed('not three parts');
  const [headerText = '', claimsText = '', signatureText = ''] = segments;
  const headerBytes = decodeSegment(headerText);
  const claimsBytes = decodeSegment(claimsText);
  const signature = decodeSegment(signatureText);
  if (headerBytes === null || claimsBytes === null || signature === null) {
    return malformed('a part is empty or not canonical base64url');
  }
  const header = readJsonObject(headerBytes);
  if (!header.ok) return malformed(`header: ${header.error}`);
  const accepted = readHeader(header.value);
  if (!accepted.ok) return accepted;
  const claims = readJsonObject(claimsBytes);
  if (!claims.ok) return malformed(`claims: ${claims.error}`);
  return ok({
    ...accepted.value,
    claims: claims.value,
    signingInput: Buffer.from(`${headerText}.${claimsText}`, 'ascii'),
    signature,
  });
}

function readHeader(
  header: Readonly<Record<string, unknown>>,
): Result<Pick<UnverifiedAccessToken, 'alg' | 'kid'>, AccessTokenRefusal> {
  const forbidden = FORBIDDEN_HEADER_MEMBERS.find((member) => Object.hasOwn(header, member));
  if (forbidden !== undefined) return malformed(`header: ${forbidden} is not accepted`);
  const { typ, alg, kid } = header;
  // RFC 9068 §4: with or without `application/`; media types are compared without case.
  if (typeof typ !== 'string' || !/^(application\/)?at\+jwt$/i.test(typ)) {
    return err({ reason: 'typ_not_allowed', typ: typeof typ === 'string' ? typ.slice(0, 100) : '' });
  }
  if (typeof alg !== 'string' || !ALGORITHMS.includes(alg)) {
    return err({ reason: 'alg_not_allowed', alg: typeof alg === 'string' ? alg.slice(0, 40) : '' });
  }
  if (typeof kid !== 'string' || kid === '' || kid.length > MAX_KID_LENGTH) return malformed('header: kid');
  return ok({ alg, kid });
}

function malformed(detail: string): Result<never, AccessTokenRefusal> {
  return err({ reason: 'token_malformed', detail });
}
