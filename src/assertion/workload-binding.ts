/** The workload binding: which subject of which trusted issuer acts as which client. */

import type { ManagedBy } from './trusted-issuer.ts';

/** A JSON value that a claim condition may ask for; compared with its type (`true` is not `"true"`). */
export type ClaimValue = string | number | boolean;

export type WorkloadBinding = {
  readonly id: string;
  readonly trustedIssuerId: string;
  /** The bound client's row id. */
  readonly clientRowId: string;
  /** Compared byte for byte. */
  readonly subject: string;
  /** Claim path (dot-separated, `kubernetes.io` being one step) to the exact value it must have. All must hold. */
  readonly claims: Readonly<Record<string, ClaimValue>>;
  /** Claim name to template, for the issued token. */
  readonly tokenClaims: Readonly<Record<string, string>>;
  /** Row ids of the clients whose workloads may act for this one (RFC 8693 `act`). Nobody may where it is left out. */
  readonly allowedActors?: readonly string[];
  readonly isActive: boolean;
  readonly managedBy: ManagedBy;
  readonly createdAt: number;
  readonly updatedAt: number;
};
