/** Resource indicators (RFC 8707): for which protected APIs a token is meant. Compared byte for byte. */
import { err, ok, type Result } from '../result.ts';
import type { Client } from './client.ts';

/** Whether `text` is an absolute URI without a fragment (RFC 8707 §2). */
export function isResourceIndicator(text: string): boolean {
  return !text.includes('#') && /^[a-z][a-z0-9+.-]*:[\x21-\x7E]+$/i.test(text) && URL.canParse(text);
}

/**
 * The audiences of the token: those asked for, or the client's default one. Unknown and forbidden resources are
 * refused alike. The error is for the audit record; the caller sees `invalid_target`.
 */
export function grantAudiences(
  requested: readonly string[],
  client: Pick<Client, 'allowedResources' | 'defaultResource'>,
  ownIssuer: string,
): Result<readonly string[], string> {
  const defaultResource = client.defaultResource ?? ownIssuer;
  if (requested.length === 0) return ok([defaultResource]);
  for (const resource of requested) {
    if (!isResourceIndicator(resource)) return err('resource is not an absolute URI without a fragment');
    if (resource !== defaultResource && !client.allowedResources.includes(resource)) {
      return err(`resource ${JSON.stringify(resource)} is not allowed`);
    }
  }
  return ok([...new Set(requested)]);
}
