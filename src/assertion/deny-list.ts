/**
 * The deny list: workloads that are cut off whatever their issuer and bindings say. One node, pod, account or subject
 * of a cluster can so be cut without access to that cluster. Pure: the entries come from the `DenyList` port.
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

/** One member of an identity with its value: what an entry can name. */
export type IdentityMember = { readonly member: DeniedMember; readonly value: string };

/** Who a workload is, as far as an entry can name it; what the platform does not say is absent. */
export type DeniableIdentity = {
  readonly subject: string;
  readonly nodeName?: string | undefined;
  readonly podUid?: string | undefined;
  readonly serviceAccountUid?: string | undefined;
};

/** The members that entries are looked up by. */
export function membersOf(identity: DeniableIdentity): readonly IdentityMember[] {
  const { subject, nodeName, podUid, serviceAccountUid } = identity;
  const values: Readonly<Record<DeniedMember, string | undefined>> = {
    subject,
    node_name: nodeName,
    pod_uid: podUid,
    service_account_uid: serviceAccountUid,
  };
  return DENIED_MEMBERS.flatMap((member) => {
    const value = values[member];
    return value === undefined ? [] : [{ member, value }];
  });
}

/** Of the entries that name a workload, the one in force at `now` that lasts longest; null when none is. */
export function denialInForce(entries: readonly DenyListEntry[], now: number): DenyListEntry | null {
  const end = ({ expiresAt }: DenyListEntry) => expiresAt ?? Number.POSITIVE_INFINITY;
  return entries
    .filter((entry) => end(entry) > now)
    .reduce<DenyListEntry | null>((last, entry) => (last === null || end(entry) > end(last) ? entry : last), null);
}
