/** Resource indicators (RFC 8707): for which protected APIs a token is meant. Compared byte for byte. */
import { err, ok, type Result } from '../result.ts';
import type { Client } from './client.ts';
import type { Clients } from './ports.ts';

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

/**
 * The resources behind logical names (RFC 8693 §2.1 `audience`): the `client_id` of a protected API means all of its
 * identifiers; a resource may also be named by itself. Whether the client may have them is `grantAudiences`' to say. The
 * error is for the audit record.
 */
export async function resourcesOfAudiences(
  audiences: readonly string[],
  client: Pick<Client, 'allowedResources' | 'defaultResource'>,
  ownIssuer: string,
  clients: Pick<Clients, 'findByClientId'>,
): Promise<Result<readonly string[], string>> {
  const resources: string[] = [];
  for (const audience of new Set(audiences)) {
    if (audience === (client.defaultResource ?? ownIssuer) || client.allowedResources.includes(audience)) {
      resources.push(audience);
      continue;
    }
    const api = await clients.findByClientId(audience);
    if (api === null || !api.isActive || api.resourceIdentifiers.length === 0) {
      return err(`audience ${JSON.stringify(audience)} is not the name of a protected API`);
    }
    resources.push(...api.resourceIdentifiers);
  }
  return ok(resources);
}
