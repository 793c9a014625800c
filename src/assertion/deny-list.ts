/**
 * The deny list: workloads that are cut off whatever their issuer and bindings say. One node, pod, account or subject
 * of a cluster can so be cut without access to that cluster.
 */
import type { ManagedBy } from './trusted-issuer.ts';

/** Which member of a workload's identity an entry names. */
export const DENIED_MEMBERS = ['subject', 'node_name', 'pod_uid', 'service_account_uid'] as const;
export type DeniedMember = (typeof DENIED_MEMBERS)[number];

export type DenyListEntry = {
  readonly id: string;
  readonly trustedIssuerId: string;
  readonly member: DeniedMember;
  /** Compared byte for byte. */
  readonly value: string;
  /** The admin's own words; for the audit record, never for the caller. */
  readonly reason: string;
  /** Seconds since the epoch; null: until it is removed. */
  readonly expiresAt: number | null;
  readonly managedBy: ManagedBy;
  readonly createdAt: number;
  readonly updatedAt: number;
};
