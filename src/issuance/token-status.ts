/**
 * Is one of our access tokens still good (RFC 7662 §4)? A JWT lives on by itself until `exp`; here everything that may
 * have ended it earlier is looked up: the key, a revocation, the client, the trusted issuer, the deny list, the binding.
 */
import { createPublicKey } from 'node:crypto';
import { jwtVerify } from 'jose';
import { denialInForce, membersOf } from '../assertion/deny-list.ts';
import type { DenyList, TrustedIssuers, WorkloadBindings } from '../assertion/ports.ts';
import type { TrustedIssuer } from '../assertion/trusted-issuer.ts';
import type { WorkloadBinding } from '../assertion/workload-binding.ts';
import { type AccessTokenClaims, isTokenOfClient } from './access-token.ts';
import { ACCESS_TOKEN_SIGNING_ALGS, type Client } from './client.ts';
import { actorsOf } from './delegation.ts';
import type { Clients, RevokedTokens } from './ports.ts';
import type { SigningKey } from './signing-key.ts';
import type { WorkloadClaim } from './workload-claim.ts';

export type TokenStatusPorts = {
  readonly clients: Clients;
  readonly trustedIssuers: TrustedIssuers;
  readonly denyList: DenyList;
  readonly workloadBindings: WorkloadBindings;
  readonly revokedTokens: RevokedTokens;
};

/** Largest token that we look at; ours have 1 to 2 KiB. */
const MAX_TOKEN_LENGTH = 16_384;

/**
 * The claims of a token that we signed and that has not expired at `now`; null for anything else: another issuer's
 * token, an assertion, garbage.
 */
export async function readOwnAccessToken(
  token: string,
  keys: readonly SigningKey[],
  ownIssuer: string,
  now: number,
): Promise<AccessTokenClaims | null> {
  if (token.length > MAX_TOKEN_LENGTH) return null;
  try {
    const { payload } = await jwtVerify(
      token,
      (header) => {
        const key = keys.find(({ kid, alg }) => kid === header.kid && alg === header.alg);
        if (key === undefined) throw new Error('not a key of ours');
        return createPublicKey({ key: key.publicJwk, format: 'jwk' });
      },
      {
        issuer: ownIssuer,
        typ: 'at+jwt',
        algorithms: [...ACCESS_TOKEN_SIGNING_ALGS],
        requiredClaims: ['exp', 'iat', 'jti', 'client_id', 'aud'],
        currentDate: new Date(now * 1000),
      },
    );
    return payload as unknown as AccessTokenClaims; // the signature is ours, so the shape is the one we wrote
  } catch {
    return null;
  }
}

/** Whom a token stands for right now. */
export type TokenStanding = {
  readonly client: Client;
  /** Null, as is the binding, for a client that spoke for itself. */
  readonly trustedIssuer: TrustedIssuer | null;
  readonly binding: WorkloadBinding | null;
};

/**
 * Whom a live token stands for at `now`; null when anything has ended it early. Who acts with it must be as alive as
 * whom it is for: a stolen actor that is cut off must not live on in the tokens of others.
 */
export async function standingOfToken(
  ports: TokenStatusPorts,
  claims: AccessTokenClaims,
  now: number,
): Promise<TokenStanding | null> {
  if (await ports.revokedTokens.isRevoked(claims.jti)) return null;
  const standing = await standingOf(ports, claims.client_id, claims.workload ?? null, now);
  if (standing === null || !isTokenOfClient(claims.jti, standing.client)) return null;
  for (const { clientId, workload } of actorsOf(claims.act)) {
    if ((await standingOf(ports, clientId, workload, now)) === null) return null;
  }
  return standing;
}

/** The active client, and the active binding of this workload to it. */
async function standingOf(
  ports: TokenStatusPorts,
  clientId: string,
  workload: WorkloadClaim | null,
  now: number,
): Promise<TokenStanding | null> {
  const client = await ports.clients.findByClientId(clientId);
  if (client === null || !client.isActive) return null;
  if (workload === null) return { client, trustedIssuer: null, binding: null };
  const trustedIssuer = await ports.trustedIssuers.findByIssuerUrl(workload.issuer);
  if (trustedIssuer === null || !trustedIssuer.isActive) return null;
  if (await isDenied(ports.denyList, trustedIssuer.id, workload, now)) return null;
  const bindings = await ports.workloadBindings.findBySubject(trustedIssuer.id, workload.subject);
  const binding = bindings.find(({ clientRowId, isActive }) => isActive && clientRowId === client.id);
  return binding === undefined ? null : { client, trustedIssuer, binding };
}

/** Entries count for the workload that the token was issued to, as the token itself names it. */
async function isDenied(
  denyList: DenyList,
  trustedIssuerId: string,
  workload: WorkloadClaim,
  now: number,
): Promise<boolean> {
  const members = membersOf({
    subject: workload.subject,
    nodeName: workload.node,
    podUid: workload.pod_uid,
    serviceAccountUid: workload.service_account_uid,
  });
  return denialInForce(await denyList.find(trustedIssuerId, members), now) !== null;
}

/** Whether `asker` may learn about a token: its owner, or a protected API that the token is meant for. */
export function mayIntrospect(asker: Client, claims: AccessTokenClaims): boolean {
  const audiences: readonly string[] = typeof claims.aud === 'string' ? [claims.aud] : claims.aud;
  const isOwner = claims.client_id === asker.clientId && isTokenOfClient(claims.jti, asker);
  return (
    isOwner || audiences.some((audience) => audience === asker.clientId || asker.resourceIdentifiers.includes(audience))
  );
}
