/**
 * The workload behind a client, as an access token names it (`workload`, and inside `act`): what the platform said and we
 * verified. Written here and read back from our own tokens, so that both sides agree.
 */
import type { VerifiedWorkload } from '../assertion/verified-workload.ts';

export type WorkloadClaim = {
  readonly issuer: string;
  readonly subject: string;
  readonly namespace?: string;
  readonly service_account?: string;
  readonly service_account_uid?: string;
  readonly pod?: string;
  readonly pod_uid?: string;
  readonly node?: string;
};

/** The claim for a workload. The issuer is the row's main name, whichever of its names the assertion used. */
export function workloadClaim({
  trustedIssuer,
  subject,
  kubernetes,
}: Pick<VerifiedWorkload, 'trustedIssuer' | 'subject' | 'kubernetes'>): WorkloadClaim {
  return {
    issuer: trustedIssuer.issuerUrl,
    subject,
    ...(kubernetes !== null && {
      namespace: kubernetes.namespace,
      service_account: kubernetes.serviceAccount.name,
      service_account_uid: kubernetes.serviceAccount.uid,
      ...(kubernetes.pod !== null && { pod: kubernetes.pod.name, pod_uid: kubernetes.pod.uid }),
      ...(kubernetes.node !== null && { node: kubernetes.node.name }),
    }),
  };
}
