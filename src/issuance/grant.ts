/**
 * What a client gets: scopes, audiences and lifetime, decided before anything is issued. Pure; the engine only writes
 * down what is decided here.
 */
import type { KubernetesIdentity, VerifiedWorkload } from '../assertion/verified-workload.ts';
import { err, ok, type Result } from '../result.ts';
import type { Client } from './client.ts';
import { grantAudiences } from './resource.ts';
import { grantScopes } from './scope.ts';

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
};

/** Who stands behind the client in this request. */
export type WorkloadIdentity = {
  readonly trustedIssuerId: string;
  readonly issuer: string;
  readonly subject: string;
  readonly kubernetes: KubernetesIdentity | null;
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
};

/** Shortest token worth issuing, for an assertion that is accepted within the leeway on its end. */
const MIN_LIFETIME_SECONDS = 60;

/**
 * Decides for one authenticated client at `now`. With a workload the token lives as long as its assertion, capped by
 * the client's lifetime: with `until_expiry` strictly, so that a thief gains no more time than the assertion has.
 */
export function decideGrant(
  client: Client,
  workload: VerifiedWorkload<Client> | null,
  request: AccessRequest,
  ownIssuer: string,
  now: number,
): Result<Grant, GrantRefusal> {
  if (client.resourceIdentifiers.length > 0 && client.allowedScopes.length === 0) {
    return err({ error: 'unauthorized_client', detail: 'a protected API without scopes may only introspect' });
  }
  const scopes = grantScopes(request.scope, client.allowedScopes);
  if (!scopes.ok) return err({ error: 'invalid_scope', detail: scopes.error });
  const audiences = grantAudiences(request.resources, client, ownIssuer);
  if (!audiences.ok) return err({ error: 'invalid_target', detail: audiences.error });
  return ok({
    client,
    scopes: scopes.value,
    audiences: audiences.value,
    issuedAt: now,
    expiresAt: now + lifetimeSeconds(client, workload, now),
    workload: workload === null ? null : identityOf(workload),
  });
}

function lifetimeSeconds(client: Client, workload: VerifiedWorkload | null, now: number): number {
  if (workload === null) return client.accessTokenTtlSeconds;
  const left = Math.floor(workload.times.exp) - now;
  const isStrict = workload.trustedIssuer.assertionUse === 'until_expiry';
  return Math.min(client.accessTokenTtlSeconds, isStrict ? left : Math.max(left, MIN_LIFETIME_SECONDS));
}

function identityOf(workload: VerifiedWorkload): WorkloadIdentity {
  return {
    trustedIssuerId: workload.trustedIssuer.id,
    issuer: workload.trustedIssuer.issuerUrl,
    subject: workload.subject,
    kubernetes: workload.kubernetes,
    tokenClaims: workload.tokenClaims,
  };
}
