/** Admission requests as the API server shapes them, for the runner's namespace; and one change to them. */
import type { RunnerParameters } from '../../src/manifests/runner-parameters.ts';
import type { Admission, AdmissionRequest, Json, JsonObject } from './admission-evaluator.ts';

type User = AdmissionRequest['userInfo'];

export const DAEMON_SET_CONTROLLER = 'system:serviceaccount:kube-system:daemon-set-controller';
export const CONTROLLER_MANAGER = 'system:kube-controller-manager';
/** Bypasses RBAC, and no policy: what is refused to it is refused by the policy. */
export const ADMIN: User = { username: 'kubernetes-admin', groups: ['system:masters', 'system:authenticated'] };
export const KUBELET: User = { username: 'system:node:node-1', groups: ['system:nodes', 'system:authenticated'] };

/** A service account of kube-system, with the groups that Kubernetes gives it. */
export function systemAccount(username: string): User {
  return { username, groups: ['system:serviceaccounts', 'system:serviceaccounts:kube-system', 'system:authenticated'] };
}

type Target = {
  readonly group?: string;
  readonly resource: string;
  readonly subResource?: string;
  readonly kind: string;
  readonly name?: string;
};

function requestOf(
  operation: AdmissionRequest['operation'],
  { group = '', resource, subResource, kind, name }: Target,
  namespace: string,
  userInfo: User,
): AdmissionRequest {
  const version = { group, version: 'v1' };
  return {
    uid: '0a3c2f1e-7d4b-4f0a-9a52-6f1f6f1b2c3d',
    kind: { ...version, kind },
    resource: { ...version, resource },
    requestKind: { ...version, kind },
    requestResource: { ...version, resource },
    ...(subResource !== undefined && { subResource, requestSubResource: subResource }),
    ...(name !== undefined && { name }),
    namespace,
    operation,
    userInfo,
  };
}

/** What a kubelet asks for each pod on its node. */
export function tokenRequest(p: RunnerParameters, user: User = KUBELET): Admission {
  const target = { resource: 'serviceaccounts', subResource: 'token', kind: 'TokenRequest', name: p.serviceAccount };
  return {
    request: requestOf('CREATE', target, p.namespace, user),
    object: {
      kind: 'TokenRequest',
      apiVersion: 'authentication.k8s.io/v1',
      metadata: { name: p.serviceAccount, namespace: p.namespace },
      spec: {
        audiences: [p.audience],
        expirationSeconds: p.expirationSeconds,
        boundObjectRef: {
          kind: 'Pod',
          apiVersion: 'v1',
          name: 'runner-x7k2p',
          uid: '6c6f3b0e-0000-4000-8000-000000000001',
        },
      },
      status: { token: '', expirationTimestamp: null },
    },
    oldObject: null,
  };
}

function pod(p: RunnerParameters): JsonObject {
  const owner = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: p.daemonSet, uid: 'd5', controller: true };
  return {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: {
      name: `${p.daemonSet}-x7k2p`,
      generateName: `${p.daemonSet}-`,
      namespace: p.namespace,
      labels: { 'app.kubernetes.io/name': p.daemonSet, 'pod-template-generation': '1' },
      ownerReferences: [{ ...owner, blockOwnerDeletion: true }],
    },
    spec: {
      serviceAccountName: p.serviceAccount,
      serviceAccount: p.serviceAccount,
      containers: [{ name: 'runner', image: p.image, resources: {} }],
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['node-1'] }] }],
          },
        },
      },
    },
    status: {},
  };
}

/** The DaemonSet controller makes a pod of its DaemonSet. */
export function podCreation(p: RunnerParameters, username = DAEMON_SET_CONTROLLER): Admission {
  const target = { resource: 'pods', kind: 'Pod', name: `${p.daemonSet}-x7k2p` };
  return {
    request: requestOf('CREATE', target, p.namespace, systemAccount(username)),
    object: pod(p),
    oldObject: null,
  };
}

/** An administrator annotates a running pod; by a subresource, nothing at all is changed yet. */
export function podUpdate(p: RunnerParameters, user: User = ADMIN, subResource?: string): Admission {
  const name = `${p.daemonSet}-x7k2p`;
  const target = { resource: 'pods', kind: 'Pod', name, ...(subResource !== undefined && { subResource }) };
  const running = changed(pod(p), ['spec', 'nodeName'], 'node-1');
  return {
    request: requestOf('UPDATE', target, p.namespace, user),
    object:
      subResource === undefined
        ? changed(running, ['metadata', 'annotations'], { 'example.com/note': 'seen' })
        : running,
    oldObject: running,
  };
}

/** Somebody connects to a pod or service: the object is the options, the pod is not there. */
export function connection(p: RunnerParameters, resource: string, subResource: string, kind: string): Admission {
  const target = { resource, subResource, kind, name: `${p.daemonSet}-x7k2p` };
  return {
    request: requestOf('CONNECT', target, p.namespace, ADMIN),
    object: { kind, apiVersion: 'v1', stdin: true, stdout: true, tty: true, container: 'runner', command: ['sh'] },
    oldObject: null,
  };
}

/** The kinds of workload, and how each of them holds a pod's spec. */
export const WORKLOADS: Readonly<
  Record<
    string,
    { readonly group: string; readonly kind: string; readonly holding: (podSpec: JsonObject) => JsonObject }
  >
> = {
  daemonsets: { group: 'apps', kind: 'DaemonSet', holding: inTemplate },
  deployments: { group: 'apps', kind: 'Deployment', holding: inTemplate },
  statefulsets: { group: 'apps', kind: 'StatefulSet', holding: inTemplate },
  replicasets: { group: 'apps', kind: 'ReplicaSet', holding: inTemplate },
  jobs: { group: 'batch', kind: 'Job', holding: inTemplate },
  cronjobs: {
    group: 'batch',
    kind: 'CronJob',
    holding: (spec) => ({ spec: { schedule: '@daily', jobTemplate: { spec: { template: { spec } } } } }),
  },
  replicationcontrollers: { group: '', kind: 'ReplicationController', holding: inTemplate },
  podtemplates: { group: '', kind: 'PodTemplate', holding: (spec) => ({ template: { spec } }) },
  controllerrevisions: {
    group: 'apps',
    kind: 'ControllerRevision',
    holding: (spec) => ({ data: { spec: { template: { $patch: 'replace', spec } } }, revision: 2 }),
  },
};

function inTemplate(spec: JsonObject): JsonObject {
  return { spec: { template: { metadata: { labels: { app: 'x' } }, spec } } };
}

/** A write of a workload whose template has the given fields; on UPDATE and DELETE it was the same before. */
export function workloadWrite(
  p: RunnerParameters,
  operation: 'CREATE' | 'UPDATE' | 'DELETE',
  resource: string,
  user: User,
  account: JsonObject = { serviceAccountName: p.serviceAccount, serviceAccount: p.serviceAccount },
  name: string = resource === 'daemonsets' ? p.daemonSet : 'other',
): Admission {
  const workload = WORKLOADS[resource];
  if (workload === undefined) throw new Error(`no workload ${resource}`);
  const { group, kind, holding } = workload;
  const object = {
    kind,
    apiVersion: group === '' ? 'v1' : `${group}/v1`,
    metadata: { name, namespace: p.namespace },
    ...holding({ ...account, containers: [{ name: 'main', image: p.image }] }),
  };
  return {
    request: requestOf(operation, { group, resource, kind, name }, p.namespace, user),
    object: operation === 'DELETE' ? null : object,
    oldObject: operation === 'CREATE' ? null : object,
  };
}

/** A write of a ServiceAccount, a Secret or the namespace itself. */
export function write(
  p: RunnerParameters,
  operation: 'CREATE' | 'UPDATE' | 'DELETE',
  { resource, kind }: { readonly resource: string; readonly kind: string },
  user: User,
  object: JsonObject,
): Admission {
  const name = (object.metadata as { readonly name: string }).name;
  const whole = { kind, apiVersion: 'v1', ...object };
  return {
    request: requestOf(operation, { resource, kind, name }, p.namespace, user),
    object: operation === 'DELETE' ? null : whole,
    oldObject: operation === 'CREATE' ? null : whole,
  };
}

/** The same but for one member; `undefined` takes it away. */
export function changed<T extends object>(value: T, path: readonly (string | number)[], to: Json | undefined): T {
  // Not structuredClone: object and oldObject, where they are one, must become two.
  const copy = JSON.parse(JSON.stringify(value)) as T;
  let at = copy as Record<string | number, unknown>;
  for (const step of path.slice(0, -1)) at = at[step] as Record<string | number, unknown>;
  const last = path.at(-1) ?? '';
  if (to === undefined) delete at[last];
  else at[last] = to;
  return copy;
}
