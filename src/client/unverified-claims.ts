/**
 * What a JWT says of itself, without any trust: good for keeping time and for learning one's own name, never for letting
 * somebody in. Pure.
 */

const COMPACT_JWS = /^[A-Za-z0-9_-]+\.([A-Za-z0-9_-]+)\.[A-Za-z0-9_-]+$/;

export type UnverifiedClaims = Readonly<Record<string, unknown>>;

/** Whether the text has the three parts of a compact JWS (RFC 7515 §7.1). */
export function isCompactJws(token: string): boolean {
  return COMPACT_JWS.test(token);
}

/** The claims of a compact JWS; null for any other text, an encrypted or an opaque token among them. */
export function readUnverifiedClaims(token: string): UnverifiedClaims | null {
  const [, claims] = COMPACT_JWS.exec(token) ?? [];
  if (claims === undefined) return null;
  try {
    const decoded: unknown = JSON.parse(Buffer.from(claims, 'base64url').toString('utf8'));
    return typeof decoded === 'object' && decoded !== null && !Array.isArray(decoded)
      ? (decoded as UnverifiedClaims)
      : null;
  } catch {
    return null;
  }
}
