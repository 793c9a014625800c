/**
 * What a client gets: scopes, audiences and lifetime, decided before anything is issued. Pure; the engine only writes
 * down what is decided here, whichever way the client proved itself.
 */
import { endsWithAssertion } from '../assertion/trusted-issuer.ts';
import type { VerifiedWorkload } from '../assertion/verified-workload.ts';
import { err, ok, type Result } from '../result.ts';
import type { Client } from './client.ts';
import type { Actor } from './delegation.ts';
import { isSelfIssued } from './private-key-jwt.ts';
import { grantAudiences } from './resource.ts';
import { grantScopes } from './scope.ts';
import { type WorkloadClaim, workloadClaim } from './workload-claim.ts';

/** An OAuth error with its true reason: the code goes to the caller, the detail to the audit record. */
export type GrantRefusal = {
  readonly error: 'invalid_scope' | 'invalid_target' | 'unauthorized_client';
  readonly detail: string;
};

export type AccessRequest = {
  /** The `scope` parameter; null when it was not sent. */
  readonly scope: string | null;
  /** The `resource` parameters. */
  readonly resources: readonly string[];
  /** Longest life that the grant type gives, in seconds; the client's own is the only bound where it is left out. */
  readonly maxLifetimeSeconds?: number;
};

/** Who stands behind the client in this request. */
export type WorkloadIdentity = {
  readonly claim: WorkloadClaim;
  /** Further claims for the token, from the binding. */
  readonly tokenClaims: Readonly<Record<string, string>>;
};

export type Grant = {
  readonly client: Client;
  readonly scopes: readonly string[];
  readonly audiences: readonly string[];
  readonly issuedAt: number;
  readonly expiresAt: number;
  /** Null when the client authenticated with its own secret or key. */
  readonly workload: WorkloadIdentity | null;
  /** Who acts for the client, the current one first; nearly always nobody. */
  readonly actors: readonly Actor[];
};

/** A proof that a token must not outlive; its verification has seen to it that a second is left. */
export type ProofLife = {
  readonly exp: number;
  /** False lets a token live `MIN_LIFETIME_SECONDS` in any case. */
  readonly isStrict: boolean;
};

/** What the proofs of a request allow, whatever it asks for. */
export type GrantTerms = {
  /** All that can be granted. */
  readonly scopes: readonly string[];
  readonly proofs: readonly ProofLife[];
  readonly workload: WorkloadIdentity | null;
  readonly actors: readonly Actor[];
};

/** A second workload that acts for the first, and the chain of actors that it makes. */
export type Delegation = { readonly actor: VerifiedWorkload; readonly actors: readonly Actor[] };

/** Shortest token worth issuing, for an assertion that is accepted within the leeway on its end. */
const MIN_LIFETIME_SECONDS = 60;

/**
 * Decides for one proven client at `now`. With a workload the token lives as long as its assertion, capped by the
 * client's lifetime: strictly with `until_expiry` or where the issuer's row asks for it, so that a thief gains no more
 * time than the assertion has.
 */
export function decideGrant(
  client: Client,
  workload: VerifiedWorkload<Client> | null,
  request: AccessRequest,
  ownIssuer: string,
  now: number,
  delegation: Delegation | null = null,
): Result<Grant, GrantRefusal> {
  const terms: GrantTerms = {
    scopes: client.allowedScopes,
    proofs: [workload, delegation?.actor].flatMap((proof) => (proof == null ? [] : lifeOfProof(proof))),
    workload: workload === null || isSelfIssued(workload.trustedIssuer) ? null : identityOf(workload),
    actors: delegation?.actors ?? [],
  };
  return grantOnTerms(client, terms, request, ownIssuer, now);
}

/** Decides within terms that are known already. */
export function grantOnTerms(
  client: Client,
  { scopes: allowedScopes, proofs, workload, actors }: GrantTerms,
  request: AccessRequest,
  ownIssuer: string,
  now: number,
): Result<Grant, GrantRefusal> {
  if (client.resourceIdentifiers.length > 0 && client.allowedScopes.length === 0) {
    return err({ error: 'unauthorized_client', detail: 'a protected API without scopes may only introspect' });
  }
  const scopes = grantScopes(request.scope, allowedScopes);
  if (!scopes.ok) return err({ error: 'invalid_scope', detail: scopes.error });
  const audiences = grantAudiences(request.resources, client, ownIssuer);
  if (!audiences.ok) return err({ error: 'invalid_target', detail: audiences.error });
  const lifetime = Math.min(
    client.accessTokenTtlSeconds,
    request.maxLifetimeSeconds ?? Number.POSITIVE_INFINITY,
    ...proofs.map(({ exp, isStrict }) => Math.max(Math.floor(exp) - now, isStrict ? 0 : MIN_LIFETIME_SECONDS)),
  );
  return ok({
    client,
    scopes: scopes.value,
    audiences: audiences.value,
    issuedAt: now,
    expiresAt: now + lifetime,
    workload,
    actors,
  });
}

/** How long a proof lets a token live; none for a client's own assertion, made for this one request. */
export function lifeOfProof({ times, trustedIssuer }: VerifiedWorkload): readonly ProofLife[] {
  if (isSelfIssued(trustedIssuer)) return [];
  return [{ exp: times.exp, isStrict: endsWithAssertion(trustedIssuer) }];
}

function identityOf(workload: VerifiedWorkload): WorkloadIdentity {
  return { claim: workloadClaim(workload), tokenClaims: workload.tokenClaims };
}
