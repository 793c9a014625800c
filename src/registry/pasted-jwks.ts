/**
 * A JWK set that an admin pastes: read strictly, because what is stored here is believed later. Public keys only; a
 * private key that someone pasted by mistake must not end up in a database.
 */

import { readJsonObject } from '../assertion/json-object.ts';
import { type JwkSetContent, readJwkSet } from '../assertion/key-set.ts';
import { err, type Result } from '../result.ts';

/** Longest text of a set; a hundred RSA keys fit. */
export const MAX_JWKS_LENGTH = 128 * 1024;

/** Members that only a private or symmetric key has: RFC 7518 §6, RFC 8037 §2, and `priv` of AKP keys. */
const SECRET_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv'];

/** Reads JSON text of a JWK set (RFC 7517 §5). The error is a sentence for the admin and holds no key material. */
export async function readPastedJwks(text: string): Promise<Result<JwkSetContent, string>> {
  const document = readJsonObject(Buffer.from(text, 'utf8'));
  if (!document.ok) return err(`must be JSON text of a JWK set: ${document.error}`);
  const entries: unknown = document.value.keys;
  if (hasSecretMember(document.value) || (Array.isArray(entries) && entries.some(hasSecretMember))) {
    return err(
      'holds private or symmetric key material: paste the public keys only, and treat what was pasted as leaked',
    );
  }
  return readJwkSet(document.value);
}

function hasSecretMember(entry: unknown): boolean {
  return typeof entry === 'object' && entry !== null && SECRET_MEMBERS.some((member) => Object.hasOwn(entry, member));
}

/** The names of the keys in a stored set, for the audit record; a key without a name counts as `no kid`. */
export function kidsOf(jwks: string): readonly string[] {
  const document = readJsonObject(Buffer.from(jwks, 'utf8'));
  const entries: unknown = document.ok ? document.value.keys : [];
  if (!Array.isArray(entries)) return [];
  return entries.map((entry: unknown) => {
    const kid = typeof entry === 'object' && entry !== null && 'kid' in entry ? entry.kid : undefined;
    return typeof kid === 'string' && kid !== '' ? kid.slice(0, 200) : 'no kid';
  });
}
