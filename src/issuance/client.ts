/** The client (service account): who the workload becomes. It has no secret unless an admin asked for one. */
import type { ManagedBy } from '../assertion/trusted-issuer.ts';

export const ACCESS_TOKEN_SIGNING_ALGS = ['ES256', 'RS256'] as const;
export type AccessTokenSigningAlg = (typeof ACCESS_TOKEN_SIGNING_ALGS)[number];

export type Client = {
  /** The row's id; a client that is deleted and made again has another. */
  readonly id: string;
  readonly clientId: string;
  readonly name: string;
  readonly description: string | null;
  readonly allowedScopes: readonly string[];
  /** Resource indicators (RFC 8707) it may ask for, besides its default one. */
  readonly allowedResources: readonly string[];
  /** The audience when no resource is asked for; our own issuer identifier when null. */
  readonly defaultResource: string | null;
  readonly accessTokenTtlSeconds: number;
  readonly accessTokenSigningAlg: AccessTokenSigningAlg;
  readonly organizationId: string | null;
  /** Public keys for `private_key_jwt`, as JSON text of a JWK set; null where the client has none. */
  readonly jwks: string | null;
  /** Audiences for which this client is the protected API: it may introspect tokens meant for them. */
  readonly resourceIdentifiers: readonly string[];
  /** Whether it may exchange access tokens of ours for others (RFC 8693). Without it none of ours is exchangeable. */
  readonly allowAccessTokenExchange?: boolean;
  readonly isActive: boolean;
  readonly managedBy: ManagedBy;
  readonly createdAt: number;
  readonly updatedAt: number;
};

/** A stored client secret: only its salted hash. Two may be valid at once while one replaces the other. */
export type ClientSecret = {
  readonly id: string;
  readonly clientRowId: string;
  readonly salt: Uint8Array;
  /** SHA-256 of salt and secret: enough for the 256 random bits that we generate ourselves. */
  readonly hash: Uint8Array;
  readonly createdAt: number;
  /** Null while it is the current one; the end of the overlap once it has been replaced. */
  readonly expiresAt: number | null;
};
