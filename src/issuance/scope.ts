/** Scopes (RFC 6749 §3.3): what a client asks for against what it may have. Never silently narrowed, never widened. */
import { err, ok, type Result } from '../result.ts';

/** `scope-token` of RFC 6749 §3.3: printable ASCII without space, quote and backslash. */
const SCOPE_TOKEN = /^[\x21\x23-\x5B\x5D-\x7E]+$/;

/** Scopes of OpenID Connect that mean things we do not do. */
export const RESERVED_SCOPES: readonly string[] = ['openid', 'offline_access'];

/** Whether `text` can be one scope. */
export function isScopeToken(text: string): boolean {
  return SCOPE_TOKEN.test(text);
}

/**
 * The scopes to grant, without duplicates. Null asks for all that are allowed. The error is for the audit record; the
 * caller sees `invalid_scope`.
 */
export function grantScopes(requested: string | null, allowed: readonly string[]): Result<readonly string[], string> {
  if (requested === null) return ok(allowed);
  const tokens = requested.split(' ');
  if (!tokens.every(isScopeToken)) return err('scope is not a list of names with single spaces between them');
  const refused = tokens.find((token) => !allowed.includes(token));
  return refused === undefined ? ok([...new Set(tokens)]) : err(`scope ${JSON.stringify(refused)} is not allowed`);
}
