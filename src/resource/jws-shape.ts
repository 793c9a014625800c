/**
 * Whether a bearer token is a compact JWS, by its shape alone: what an API with tokens of its own needs to know before
 * it decides who looks at the token. Pure, and no judgement about the token.
 */

/** A header, a payload and a signature (RFC 7515 §7.1). The last two may be empty: RFC 7515 appendix F, RFC 7519 §6.1. */
const COMPACT_JWS = /^([A-Za-z0-9_-]+)\.[A-Za-z0-9_-]*\.[A-Za-z0-9_-]*$/;

/** Drops a byte order mark and mends broken UTF-8, as the most lenient of readers would. */
const lenientUtf8 = new TextDecoder();

/**
 * Whether the text has three parts of base64url, the first of which holds a JSON object with `alg`. A JWE has five.
 *
 * It is lenient on purpose: what any reader could take for a JWS counts as one here, so that no spelling of a forged
 * token (repeated members, `alg: none`, no signature) comes to a place where nobody checks signatures. The verifier is
 * strict, and refuses it.
 */
export function hasJwsShape(token: string): boolean {
  const [, header] = COMPACT_JWS.exec(token) ?? [];
  if (header === undefined) return false;
  try {
    const decoded: unknown = JSON.parse(lenientUtf8.decode(Buffer.from(header, 'base64url')));
    return typeof decoded === 'object' && decoded !== null && Object.hasOwn(decoded, 'alg');
  } catch {
    return false;
  }
}
