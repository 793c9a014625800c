/**
 * Text to structure, without any trust: a compact JWS (RFC 7515 §7.1) whose header we are willing to look at. Stands in
 * front of everything, since what it refuses costs no signature, no look-up and no fetch.
 */
import { err, ok, type Result } from '../result.ts';
import { readJsonObject } from './json-object.ts';
import { JWS_ALGORITHMS } from './jws-algorithm.ts';
import type { AssertionRefusal } from './refusal.ts';

/** Kubernetes tokens have 1 to 2 KiB, CI tokens up to 4. */
export const MAX_ASSERTION_BYTES = 16_384;
/** The external signer's limit (KEP-740), the largest that anyone may legally send. */
const MAX_KID_BYTES = 1024;

/** Claims nobody has vouched for. There is no way from here to a subject but through verification. */
export type UnverifiedAssertion = {
  readonly alg: string;
  /** Null where the header has none, or an empty one. */
  readonly kid: string | null;
  readonly claims: Readonly<Record<string, unknown>>;
  readonly signingInput: Buffer;
  readonly signature: Buffer;
};

/**
 * Header members that pick the key, the bytes or the rules by the sender's choice: each was an attack somewhere
 * (CVE-2018-0114 `jwk`; SSRF through `jku` and `x5u`; RFC 7797 `b64`; RFC 8725 §3.10). A bearer assertion needs none.
 */
export const FORBIDDEN_HEADER_MEMBERS = ['crit', 'b64', 'zip', 'jku', 'jwk', 'x5u', 'x5c', 'enc', 'cty'] as const;

/** Kinds of JWT that are assertions (RFC 7519 §5.1, RFC 7523bis §4), lower case; no `typ` at all is fine too. */
const ASSERTION_TYPES: readonly string[] = ['jwt', 'client-authentication+jwt'];

const SEGMENT = /^[A-Za-z0-9_-]+$/;

/** A compact JWS with an acceptable header; its payload not looked at. */
export type DecodedJws = Pick<UnverifiedAssertion, 'alg' | 'kid' | 'signingInput' | 'signature'> & {
  readonly payload: Buffer;
};

/** Reads one assertion. Every refusal is a value; it never throws. */
export function parseCompactJws(text: string): Result<UnverifiedAssertion, AssertionRefusal> {
  const decoded = decodeCompactJws(text);
  if (!decoded.ok) return decoded;
  const { payload, ...jws } = decoded.value;
  const claims = readJsonObject(payload);
  return claims.ok ? ok({ ...jws, claims: claims.value }) : malformed(`claims: ${claims.error}`);
}

/** Takes one compact JWS apart and checks its header (RFC 7515 §5.2). */
export function decodeCompactJws(text: string): Result<DecodedJws, AssertionRefusal> {
  if (text.length > MAX_ASSERTION_BYTES) {
    return err({ reason: 'assertion_too_large', bytes: text.length, maxBytes: MAX_ASSERTION_BYTES });
  }
  const segments = text.split('.', 6);
  if (segments.length === 5) return malformed('five parts: encrypted tokens (JWE) are not accepted');
  if (segments.length !== 3) return malformed(`${segments.length} parts instead of three`);
  const [headerText = '', payloadText = '', signatureText = ''] = segments;
  const headerBytes = decodeSegment(headerText);
  const payload = decodeSegment(payloadText);
  const signature = decodeSegment(signatureText);
  if (headerBytes === null || payload === null || signature === null) {
    return malformed('a part is empty or not canonical base64url');
  }
  const header = readJsonObject(headerBytes);
  if (!header.ok) return malformed(`header: ${header.error}`);
  const accepted = readHeader(header.value);
  if (!accepted.ok) return accepted;
  const signingInput = Buffer.from(text.slice(0, headerText.length + 1 + payloadText.length), 'ascii');
  return ok({ ...accepted.value, payload, signingInput, signature });
}

/** Node decodes leniently; one token must have one spelling, or a replay could change its look (RFC 7515 §2). */
export function decodeSegment(segment: string): Buffer | null {
  if (!SEGMENT.test(segment)) return null;
  const bytes = Buffer.from(segment, 'base64url');
  return bytes.toString('base64url') === segment ? bytes : null;
}

function readHeader(
  header: Readonly<Record<string, unknown>>,
): Result<Pick<UnverifiedAssertion, 'alg' | 'kid'>, AssertionRefusal> {
  const forbidden = FORBIDDEN_HEADER_MEMBERS.find((member) => Object.hasOwn(header, member));
  if (forbidden !== undefined) return err({ reason: 'header_member_forbidden', member: forbidden });
  const { alg, kid, typ } = header;
  if (typeof alg !== 'string') return malformed('header: alg is not a string');
  if (!JWS_ALGORITHMS.includes(alg)) {
    return err({ reason: 'alg_not_allowed', alg: alg.slice(0, 40), allowed: JWS_ALGORITHMS });
  }
  if (typ !== undefined && typeof typ !== 'string') return malformed('header: typ is not a string');
  if (typ !== undefined && !ASSERTION_TYPES.includes(typ.toLowerCase().replace(/^application\//, ''))) {
    return err({ reason: 'typ_not_allowed', typ: typ.slice(0, 100) });
  }
  if (kid !== undefined && typeof kid !== 'string') return malformed('header: kid is not a string');
  if (kid !== undefined && Buffer.byteLength(kid) > MAX_KID_BYTES) return malformed('header: kid is too long');
  return ok({ alg, kid: kid === undefined || kid === '' ? null : kid });
}

function malformed(detail: string): Result<never, AssertionRefusal> {
  return err({ reason: 'assertion_malformed', detail });
}
