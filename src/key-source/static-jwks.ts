/**
 * Keys that an admin pasted: read from the row's own text, never from the network. Such a set is a snapshot; when the
 * issuer rotates, the row must be changed, and `loadedAt` tells the admin how old it is.
 */
import { type JwkSetContent, readJwkSet } from '../assertion/key-set.ts';
import { err, type Result } from '../result.ts';

/** Reads JSON text of a JWK set (RFC 7517 §5). The error is a sentence for the admin. Never throws. */
export async function readStaticJwks(text: string | null): Promise<Result<JwkSetContent, string>> {
  if (text === null) return err('no key set is stored (jwks)');
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    return err('the stored key set is not JSON');
  }
  return readJwkSet(document);
}
