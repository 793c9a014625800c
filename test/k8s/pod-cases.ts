/** Tokens for pods, pods, and ways into them: what must be allowed and refused. */
import type { RunnerParameters } from '../../src/manifests/runner-parameters.ts';
import type { Admission } from './admission-evaluator.ts';
import {
  ADMIN,
  changed,
  connection,
  DAEMON_SET_CONTROLLER,
  podCreation,
  podUpdate,
  tokenRequest,
} from './admission-requests.ts';
import { ELSEWHERE, GARBAGE_COLLECTOR, type Row } from './admission-row.ts';

export function tokenRows(p: RunnerParameters): readonly Row[] {
  const account = `ServiceAccount ${p.serviceAccount}`;
  const onlyKubelets = `tokens: only kubelets may request tokens of ${account}`;
  const onlyBound = `tokens: a token of ${account} must be bound to a Pod, by name and uid`;
  const onlyAudience = `tokens: a token of ${account} must have ${p.audience} as its only audience`;
  const onlyShort = `tokens: a token of ${account} may live ${p.expirationSeconds} seconds at most`;
  const spec = (name: string) => ['object', 'spec', name];
  const bound = (name: string) => [...spec('boundObjectRef'), name];
  const asked = tokenRequest(p);
  return [
    ['a kubelet asks for the token of a pod', asked],
    ['an administrator asks', tokenRequest(p, ADMIN), onlyKubelets],
    [
      'a node by name, without the group',
      changed(asked, ['request', 'userInfo', 'groups'], ['system:authenticated']),
      onlyKubelets,
    ],
    ['a node by name, without any group', changed(asked, ['request', 'userInfo', 'groups'], undefined), onlyKubelets],
    ['one of the group, without the name', changed(asked, ['request', 'userInfo', 'username'], 'node-1'), onlyKubelets],
    [
      'another of the system’s users in the group',
      changed(asked, ['request', 'userInfo', 'username'], 'system:kube-proxy'),
      onlyKubelets,
    ],
    ['the token is bound to nothing', changed(asked, spec('boundObjectRef'), undefined), onlyBound],
    ['the token is bound to a Node', changed(asked, bound('kind'), 'Node'), onlyBound],
    ['the token is bound to a Secret', changed(asked, bound('kind'), 'Secret'), onlyBound],
    ['the pod is of another API', changed(asked, bound('apiVersion'), 'example.com/v1'), onlyBound],
    ['the pod has no name', changed(asked, bound('name'), undefined), onlyBound],
    ['the pod has no uid', changed(asked, bound('uid'), undefined), onlyBound],
    ['another audience', changed(asked, spec('audiences'), ['https://kubernetes.default.svc']), onlyAudience],
    [
      'a second audience',
      changed(asked, spec('audiences'), [p.audience, 'https://kubernetes.default.svc']),
      onlyAudience,
    ],
    ['no audience', changed(asked, spec('audiences'), undefined), onlyAudience],
    ['one second longer', changed(asked, spec('expirationSeconds'), p.expirationSeconds + 1), onlyShort],
    ['no lifetime, which means 3600', changed(asked, spec('expirationSeconds'), undefined), onlyShort],
    ['an administrator asks for another account’s', changed(tokenRequest(p, ADMIN), ['request', 'name'], 'other')],
    [
      'an administrator asks in another namespace',
      changed(tokenRequest(p, ADMIN), ['request', 'namespace'], ELSEWHERE),
    ],
  ];
}

export function podRows(p: RunnerParameters): readonly Row[] {
  const account = `ServiceAccount ${p.serviceAccount}`;
  const onlyController = `pods: only the DaemonSet controller may create pods of ${account}`;
  const onlyOwned = `pods: a pod of ${account} must be controlled by DaemonSet ${p.daemonSet}`;
  const noNode = `pods: spec.nodeName of a pod of ${account} must be left to the scheduler`;
  const noContainer = `pods: no container may be added to a pod of ${account}`;
  const noChange = `pods: the spec of a pod of ${account} may not be changed in place`;
  const noRelease = `pods: labels and owner of a pod of ${account} belong to the DaemonSet controller`;
  const created = podCreation(p, p.controllers[0]);
  const owner = (name: string) => ['object', 'metadata', 'ownerReferences', 0, name];
  const byAdmin = changed(created, ['request', 'userInfo'], { ...ADMIN, groups: [...(ADMIN.groups ?? [])] });
  const updated = podUpdate(p);
  const relabelled = changed(updated, ['object', 'metadata', 'labels'], { app: 'mine' });
  const orphaned = changed(updated, ['object', 'metadata', 'ownerReferences'], undefined);
  const by = (admission: Admission, username: string) =>
    changed(admission, ['request', 'userInfo', 'username'], username);
  const ephemeral = podUpdate(p, ADMIN, 'ephemeralcontainers');
  const resized = podUpdate(p, ADMIN, 'resize');
  const otherAccount = (admission: Admission, side: 'object' | 'oldObject') =>
    changed(
      changed(admission, [side, 'spec', 'serviceAccountName'], 'other'),
      [side, 'spec', 'serviceAccount'],
      'other',
    );
  return [
    ...p.controllers.map((user): Row => [`${user} creates a pod of the DaemonSet`, podCreation(p, user)]),
    ['an administrator creates it', byAdmin, onlyController],
    [
      'the ReplicaSet controller creates it',
      podCreation(p, 'system:serviceaccount:kube-system:replicaset-controller'),
      onlyController,
    ],
    ['another DaemonSet owns it', changed(created, owner('name'), 'other'), onlyOwned],
    ['a Deployment of that name owns it', changed(created, owner('kind'), 'Deployment'), onlyOwned],
    ['a DaemonSet of another API owns it', changed(created, owner('apiVersion'), 'example.com/v1'), onlyOwned],
    ['the owner does not control it', changed(created, owner('controller'), false), onlyOwned],
    ['the owner does not say whether it controls it', changed(created, owner('controller'), undefined), onlyOwned],
    ['nobody owns it', changed(created, ['object', 'metadata', 'ownerReferences'], undefined), onlyOwned],
    ['its node is set', changed(created, ['object', 'spec', 'nodeName'], 'node-2'), noNode],
    [
      'the account stands in the deprecated field alone',
      changed(byAdmin, ['object', 'spec', 'serviceAccountName'], undefined),
      onlyController,
    ],
    [
      'the account stands in the other field alone',
      changed(byAdmin, ['object', 'spec', 'serviceAccount'], undefined),
      onlyController,
    ],
    ['an administrator creates a pod of another account', otherAccount(byAdmin, 'object')],
    [
      'an administrator creates a pod of no account',
      changed(
        changed(byAdmin, ['object', 'spec', 'serviceAccountName'], undefined),
        ['object', 'spec', 'serviceAccount'],
        undefined,
      ),
    ],
    ['an administrator creates it in another namespace', changed(byAdmin, ['request', 'namespace'], ELSEWHERE)],

    ['an administrator annotates a running pod', updated],
    [
      'the image changes',
      changed(updated, ['object', 'spec', 'containers', 0, 'image'], 'example.com/evil:1'),
      noChange,
    ],
    [
      'an init container appears',
      changed(updated, ['object', 'spec', 'initContainers'], [{ name: 'i', image: 'example.com/evil:1' }]),
      noChange,
    ],
    ['a toleration appears', changed(updated, ['object', 'spec', 'tolerations'], [{ operator: 'Exists' }]), noChange],
    [
      'even the controller changes the image',
      changed(by(updated, DAEMON_SET_CONTROLLER), ['object', 'spec', 'containers', 0, 'image'], 'example.com/evil:1'),
      noChange,
    ],
    ['a pod of another account takes this one', otherAccount(updated, 'oldObject'), noChange],
    ['the pod takes another account', otherAccount(updated, 'object'), noChange],
    [
      'a pod of another account changes its image',
      changed(
        otherAccount(otherAccount(updated, 'oldObject'), 'object'),
        ['object', 'spec', 'containers', 0, 'image'],
        'example.com/b:1',
      ),
    ],
    ['the labels change', relabelled, noRelease],
    ['the labels go', changed(updated, ['object', 'metadata', 'labels'], undefined), noRelease],
    ['the owner goes', orphaned, noRelease],
    ...p.controllers.map((user): Row => [`${user} changes the labels`, by(relabelled, user)]),
    ['the garbage collector takes the owner away', by(orphaned, GARBAGE_COLLECTOR.username)],

    [
      'an ephemeral container',
      changed(ephemeral, ['object', 'spec', 'ephemeralContainers'], [{ name: 'debug', image: 'busybox' }]),
      noContainer,
      noChange,
    ],
    ['an empty list of ephemeral containers', ephemeral, noContainer],
    ['a resize that changes nothing', resized],
    [
      'a resize',
      changed(resized, ['object', 'spec', 'containers', 0, 'resources'], { limits: { cpu: '4' } }),
      noChange,
    ],
  ];
}

export function connectionRows(p: RunnerParameters): readonly Row[] {
  const closed = `connections: exec, attach, port-forward and proxy are closed in namespace ${p.namespace}`;
  const into = [
    ['pods', 'exec', 'PodExecOptions'],
    ['pods', 'attach', 'PodAttachOptions'],
    ['pods', 'portforward', 'PodPortForwardOptions'],
    ['pods', 'proxy', 'PodProxyOptions'],
    ['services', 'proxy', 'ServiceProxyOptions'],
  ] as const;
  return into.flatMap(([resource, subResource, kind]): readonly Row[] => {
    const admission = connection(p, resource, subResource, kind);
    return [
      [`${resource}/${subResource}`, admission, closed],
      [
        `${resource}/${subResource} by a deployer`,
        changed(admission, ['request', 'userInfo', 'groups'], p.deployerGroups),
        closed,
      ],
      [`${resource}/${subResource} in another namespace`, changed(admission, ['request', 'namespace'], ELSEWHERE)],
    ];
  });
}
