/**
 * The claims of an access token (RFC 9068 §2.2) for one grant. Nothing of the assertion gets in that is not named here
 * or mapped by the binding, and a binding's claims never replace these.
 */
import { createHash, randomUUID } from 'node:crypto';
import type { Client } from './client.ts';
import { type ActClaim, actClaim } from './delegation.ts';
import type { Grant } from './grant.ts';
import type { WorkloadClaim } from './workload-claim.ts';

export type AccessTokenClaims = {
  readonly iss: string;
  readonly sub: string;
  readonly client_id: string;
  readonly aud: string | readonly string[];
  readonly iat: number;
  readonly exp: number;
  readonly jti: string;
  readonly scope?: string;
  readonly organization_id?: string;
  readonly workload?: WorkloadClaim;
  /** Who acts for the client (RFC 8693 §4.1). */
  readonly act?: ActClaim;
  readonly [claim: string]: unknown;
};

/** Names that a binding's further claims may not take: they are ours, or have a registered meaning for whoever reads. */
export const RESERVED_CLAIMS: readonly string[] = [
  'iss sub aud exp nbf iat jti client_id scope organization_id workload cnf act may_act auth_time acr amr azp nonce',
  'sid at_hash c_hash s_hash authorization_details events token_introspection roles groups entitlements',
].flatMap((names) => names.split(' '));

/** The claims; `jti` from `newTokenId`. */
export function accessTokenClaims(grant: Grant, ownIssuer: string, jti: string): AccessTokenClaims {
  const { client, scopes, audiences, workload } = grant;
  const act = actClaim(grant.actors);
  const [audience = ownIssuer, ...others] = audiences;
  return {
    ...workload?.tokenClaims,
    iss: ownIssuer,
    sub: client.clientId,
    client_id: client.clientId,
    aud: others.length === 0 ? audience : audiences,
    iat: grant.issuedAt,
    exp: grant.expiresAt,
    jti,
    ...(scopes.length > 0 && { scope: scopes.join(' ') }),
    ...(client.organizationId !== null && { organization_id: client.organizationId }),
    ...(workload !== null && { workload: workload.claim }),
    ...(act !== undefined && { act }),
  };
}

/**
 * A new `jti`: a mark of the client's row, and 122 random bits. The mark tells a client that was deleted and made again
 * under the same `client_id` from the one that the token was issued to.
 */
export function newTokenId(client: Pick<Client, 'id'>): string {
  return `${clientMark(client)}.${randomUUID()}`;
}

/** Whether a token with this `jti` was issued to this row of the client. */
export function isTokenOfClient(jti: string, client: Pick<Client, 'id'>): boolean {
  return jti.startsWith(`${clientMark(client)}.`);
}

function clientMark({ id }: Pick<Client, 'id'>): string {
  return createHash('sha256').update(id).digest('base64url').slice(0, 12);
}
