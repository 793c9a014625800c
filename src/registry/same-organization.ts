/** Organizations keep clients and issuers of several tenants apart: each side carries its own, never the token. */
import type { TrustedIssuer } from '../assertion/trusted-issuer.ts';
import type { Client } from '../issuance/client.ts';

/** Whether a client of one organization may be reached through an issuer of the other; null belongs to all. */
export function isSameOrganization(
  client: Pick<Client, 'organizationId'>,
  issuer: Pick<TrustedIssuer, 'organizationId'>,
): boolean {
  const { organizationId } = client;
  return organizationId === null || issuer.organizationId === null || organizationId === issuer.organizationId;
}
