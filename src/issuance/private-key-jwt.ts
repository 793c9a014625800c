/**
 * `private_key_jwt` (RFC 7523 §2.2, OpenID Connect Core §9): a client that has a key of its own signs its own assertion.
 * To the verification it looks like a trusted issuer with one subject and one binding, so that there is one code path
 * with other policy values: our issuer as the only audience, five minutes at most, always single use, `iss` = `sub` =
 * the client_id.
 */
import { createHash } from 'node:crypto';
import { DEFAULT_ALGORITHMS } from '../assertion/jws-algorithm.ts';
import type { TrustedIssuers, WorkloadBindings } from '../assertion/ports.ts';
import type { TrustedIssuer } from '../assertion/trusted-issuer.ts';
import type { WorkloadBinding } from '../assertion/workload-binding.ts';
import type { Client } from './client.ts';
import type { Clients } from './ports.ts';

/** Longest life of an assertion that a client makes itself: it has no reason to make one ahead. */
const MAX_LIFETIME_SECONDS = 300;
const ROW_PREFIX = 'client:';

/** Whether an issuer is a client that vouches for itself. */
export function isSelfIssued(issuer: Pick<TrustedIssuer, 'id'>): boolean {
  return issuer.id.startsWith(ROW_PREFIX);
}

/** The given ports, extended by the clients that have keys. Registered issuers come first. */
export function withSelfIssuedClients(
  ports: { readonly trustedIssuers: TrustedIssuers; readonly workloadBindings: WorkloadBindings },
  clients: Clients,
  ownIssuer: string,
): { readonly trustedIssuers: TrustedIssuers; readonly workloadBindings: WorkloadBindings } {
  const { trustedIssuers, workloadBindings } = ports;
  const issuerOf = (client: Client | null) =>
    client === null || client.jwks === null ? null : selfIssuer(client, client.jwks, ownIssuer);
  return {
    trustedIssuers: {
      findById: async (id) =>
        isSelfIssued({ id })
          ? issuerOf(await clients.findById(id.slice(ROW_PREFIX.length)))
          : trustedIssuers.findById(id),
      async findByIssuerUrl(iss) {
        const registered = await trustedIssuers.findByIssuerUrl(iss);
        return registered ?? issuerOf(await clients.findByClientId(iss));
      },
    },
    workloadBindings: {
      async findBySubject(trustedIssuerId, subject) {
        if (!isSelfIssued({ id: trustedIssuerId })) return workloadBindings.findBySubject(trustedIssuerId, subject);
        const client = await clients.findById(trustedIssuerId.slice(ROW_PREFIX.length));
        return client?.clientId === subject ? [selfBinding(client, trustedIssuerId)] : [];
      },
    },
  };
}

function selfIssuer(client: Client, jwks: string, ownIssuer: string): TrustedIssuer {
  return {
    id: `${ROW_PREFIX}${client.id}`,
    name: client.name,
    issuerUrl: client.clientId,
    additionalIssuerUrls: [],
    issuerType: 'oidc',
    keySourceType: 'static_jwks',
    jwksUrl: null,
    jwks,
    discoveryUrl: null,
    caPem: null,
    allowPrivateNetwork: false,
    expectedAud: [ownIssuer],
    allowAdditionalAudiences: false,
    subjectClaim: 'sub',
    algorithms: DEFAULT_ALGORITHMS,
    requireKid: false,
    maxTokenLifetimeSeconds: MAX_LIFETIME_SECONDS,
    assertionUse: 'once',
    enableTokenReview: false,
    kubernetesApiServerUrl: null,
    kubernetesApiServerCaPem: null,
    kubernetesApiServerCredential: null,
    tokenReviewAudience: null,
    requirePod: false,
    requireNode: false,
    organizationId: client.organizationId,
    serviceAccountId: client.id,
    // An inactive client is refused as such, after its signature has been checked.
    isActive: true,
    managedBy: client.managedBy,
    keySourceRevision: contentRevision(jwks),
    keySourceUpdatedAt: client.updatedAt,
    createdAt: client.createdAt,
    updatedAt: client.updatedAt,
  };
}

/** A number that changes with the keys themselves: two updates may fall into one second. */
function contentRevision(jwks: string): number {
  return createHash('sha256').update(jwks).digest().readUIntBE(0, 6);
}

function selfBinding(client: Client, trustedIssuerId: string): WorkloadBinding {
  return {
    id: trustedIssuerId,
    trustedIssuerId,
    clientRowId: client.id,
    subject: client.clientId,
    claims: {},
    tokenClaims: {},
    isActive: true,
    managedBy: client.managedBy,
    createdAt: client.createdAt,
    updatedAt: client.updatedAt,
  };
}
