/**
 * The claims of a Kubernetes ServiceAccount token, checked in full (kubernetes/kubernetes pkg/serviceaccount/claims.go).
 * Pure; the verification calls it for issuers of type `kubernetes_sa`. The claims object lives under the literal name
 * `kubernetes.io`.
 */
import type { AssertionRefusal } from '../assertion/refusal.ts';
import type { TrustedIssuer } from '../assertion/trusted-issuer.ts';
import type { KubernetesIdentity } from '../assertion/verified-workload.ts';
import { err, ok, type Result } from '../result.ts';

/** RFC 1123 label, as Kubernetes names namespaces. */
const NAMESPACE = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
/** RFC 1123 subdomain, as Kubernetes names ServiceAccounts, pods and nodes: dots allowed, up to 253 characters. */
const OBJECT_NAME = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/;

/** The form that every ServiceAccount's subject has. */
export const SERVICE_ACCOUNT_SUBJECT_FORM = 'system:serviceaccount:<namespace>:<name>';

/** Issuer of the never-expiring Secret tokens (pkg/serviceaccount/legacy.go); no key source can make it trusted. */
export const LEGACY_ISSUER = 'kubernetes/serviceaccount';

/** Splits a subject into namespace and name; null when no ServiceAccount can have it. */
export function parseServiceAccountSubject(
  subject: string,
): { readonly namespace: string; readonly name: string } | null {
  const [system, kind, namespace = '', name = '', ...more] = subject.split(':');
  const wellFormed = system === 'system' && kind === 'serviceaccount' && more.length === 0;
  return wellFormed && NAMESPACE.test(namespace) && isObjectName(name) ? { namespace, name } : null;
}

/** Whether a ServiceAccount, a pod or a node can have this name. */
export function isObjectName(name: string): boolean {
  return OBJECT_NAME.test(name);
}

/** Whether the claims are those of a legacy Secret token, whatever issuer they name. */
export function isLegacyServiceAccountToken(claims: Readonly<Record<string, unknown>>): boolean {
  return (
    claims.iss === LEGACY_ISSUER || Object.keys(claims).some((name) => name.startsWith('kubernetes.io/serviceaccount/'))
  );
}

/**
 * The workload's identity. Refused: a subject that disagrees with the `kubernetes.io` claims (both are signed, so the
 * issuer is broken or hostile), missing account uid, and a missing pod or node where the issuer's row requires them.
 */
export function readKubernetesIdentity(
  subject: string,
  claims: Readonly<Record<string, unknown>>,
  issuer: Pick<TrustedIssuer, 'requirePod' | 'requireNode'>,
): Result<KubernetesIdentity, AssertionRefusal> {
  const account = parseServiceAccountSubject(subject);
  if (account === null) {
    return err({ reason: 'subject_malformed', subject, expectedForm: SERVICE_ACCOUNT_SUBJECT_FORM });
  }
  const kubernetes = asObject(claims['kubernetes.io']);
  if (kubernetes === null) return missing('kubernetes.io');
  const serviceAccount = asObject(kubernetes.serviceaccount);
  const { namespace } = kubernetes;
  if (typeof namespace !== 'string') return missing('kubernetes.io.namespace');
  if (serviceAccount === null || typeof serviceAccount.name !== 'string') {
    return missing('kubernetes.io.serviceaccount.name');
  }
  if (typeof serviceAccount.uid !== 'string' || serviceAccount.uid === '') {
    return missing('kubernetes.io.serviceaccount.uid');
  }
  if (namespace !== account.namespace || serviceAccount.name !== account.name) {
    const fromClaims = `system:serviceaccount:${namespace}:${serviceAccount.name}`.slice(0, 400);
    return err({ reason: 'kubernetes_claims_disagree', subject, fromClaims });
  }
  const pod = readPod(kubernetes.pod);
  if (!pod.ok) return pod;
  const node = readNode(kubernetes.node);
  if (!node.ok) return node;
  if ((issuer.requirePod || issuer.requireNode) && pod.value === null) return err({ reason: 'pod_required' });
  if (issuer.requireNode && node.value === null) return err({ reason: 'node_required' });
  return ok({
    namespace,
    serviceAccount: { name: serviceAccount.name, uid: serviceAccount.uid },
    pod: pod.value,
    node: pod.value === null ? null : node.value,
  });
}

function readPod(pod: unknown): Result<KubernetesIdentity['pod'], AssertionRefusal> {
  if (pod === undefined) return ok(null);
  const object = asObject(pod);
  if (object === null || typeof object.name !== 'string' || object.name === '')
    return missing('kubernetes.io.pod.name');
  if (!isObjectName(object.name)) return malformed('kubernetes.io.pod.name', object.name);
  if (typeof object.uid !== 'string' || object.uid === '') return missing('kubernetes.io.pod.uid');
  return ok({ name: object.name, uid: object.uid });
}

/** The API server leaves the uid out when the Node object does not exist (any more). */
function readNode(node: unknown): Result<KubernetesIdentity['node'], AssertionRefusal> {
  if (node === undefined) return ok(null);
  const object = asObject(node);
  if (object === null || typeof object.name !== 'string' || object.name === '')
    return missing('kubernetes.io.node.name');
  // Names for runners are made of it: a cluster must not be able to sign a / into one.
  if (!isObjectName(object.name)) return malformed('kubernetes.io.node.name', object.name);
  return ok({ name: object.name, uid: typeof object.uid === 'string' && object.uid !== '' ? object.uid : null });
}

function asObject(value: unknown): Readonly<Record<string, unknown>> | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : null;
}

function missing(claim: string): Result<never, AssertionRefusal> {
  return err({ reason: 'kubernetes_claims_missing', missing: claim });
}

function malformed(claim: string, presented: string): Result<never, AssertionRefusal> {
  return err({ reason: 'kubernetes_claims_malformed', claim, presented: presented.slice(0, 400) });
}
