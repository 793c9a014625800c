/**
 * An access token of ours as the subject of an exchange (RFC 8693): refused unless an admin lets the client do it, and
 * then for its own tokens alone. A token in other hands is no proof: an API that received one must not be able to turn
 * it into a token for another API (RFC 9700 §2.3). What comes out has at most the scopes and the life of what went in.
 */
import { decodeJwt, decodeProtectedHeader } from 'jose';
import type { VerifiedWorkload } from '../assertion/verified-workload.ts';
import { err, ok, type Result } from '../result.ts';
import { type AccessTokenClaims, RESERVED_CLAIMS } from './access-token.ts';
import type { Client } from './client.ts';
import { type Actor, actorsOf, type Delegator } from './delegation.ts';
import { type GrantTerms, lifeOfProof } from './grant.ts';
import type { SigningKey } from './signing-key.ts';
import { readOwnAccessToken, standingOfToken, type TokenStanding, type TokenStatusPorts } from './token-status.ts';

export type OwnTokenRefusal =
  | { readonly reason: 'exchange_not_allowed'; readonly detail: string }
  | { readonly reason: 'own_token_not_live'; readonly detail: string };

/** A live token of the client that asks. */
export type OwnSubject = { readonly claims: AccessTokenClaims; readonly standing: TokenStanding };

/** Whether a text says that it is an access token of ours: not verified, it only picks who looks at it. */
export function saysItIsOurs(token: string, ownIssuer: string): boolean {
  try {
    return decodeProtectedHeader(token).typ === 'at+jwt' && decodeJwt(token).iss === ownIssuer;
  } catch {
    return false;
  }
}

/** Reads such a token for the client that authenticated; null for none. */
export async function readOwnSubject(
  ports: TokenStatusPorts,
  token: string,
  client: Client | null,
  context: { readonly keys: readonly SigningKey[]; readonly ownIssuer: string; readonly now: number },
): Promise<Result<OwnSubject, OwnTokenRefusal>> {
  if (client === null) return notAllowed('the request has no client authentication, and the token alone is no proof');
  if (client.allowAccessTokenExchange !== true) return notAllowed('the client may not exchange access tokens of ours');
  const claims = await readOwnAccessToken(token, context.keys, context.ownIssuer, context.now);
  if (claims === null) {
    return err({ reason: 'own_token_not_live', detail: 'it is expired, or not an access token that we signed' });
  }
  if (claims.client_id !== client.clientId) return notAllowed('the token was issued to another client');
  const standing = await standingOfToken(ports, claims, context.now);
  if (standing === null || standing.client.id !== client.id) {
    const detail = 'it was revoked, or its client, trusted issuer, binding or actor has been cut off since';
    return err({ reason: 'own_token_not_live', detail });
  }
  return ok({ claims, standing });
}

/** For whom an actor would act. Earlier actors stay on record whoever comes next. */
export function delegatorOf({ claims, standing: { client, binding } }: OwnSubject): Delegator {
  return { client, allowedActors: binding?.allowedActors ?? [], priorActors: actorsOf(claims.act), assertion: null };
}

/** What a grant may hold at most. */
export function ownTokenTerms(
  { claims, standing: { client } }: OwnSubject,
  actors: readonly Actor[],
  actor: VerifiedWorkload | null,
): GrantTerms {
  const scopes = claims.scope?.split(' ') ?? [];
  return {
    scopes: scopes.filter((scope) => client.allowedScopes.includes(scope)),
    proofs: [{ exp: claims.exp, isStrict: true }, ...(actor === null ? [] : lifeOfProof(actor))],
    workload: claims.workload === undefined ? null : { claim: claims.workload, tokenClaims: tokenClaimsOf(claims) },
    actors,
  };
}

/** The claims that the binding added when the token was issued. */
function tokenClaimsOf(claims: AccessTokenClaims): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(claims).filter(
      (entry): entry is [string, string] => typeof entry[1] === 'string' && !RESERVED_CLAIMS.includes(entry[0]),
    ),
  );
}

function notAllowed(detail: string): Result<never, OwnTokenRefusal> {
  return err({ reason: 'exchange_not_allowed', detail });
}
