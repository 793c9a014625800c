/** What names the account, in every kind of workload: what must be allowed and refused. */
import type { RunnerParameters } from '../../src/manifests/runner-parameters.ts';
import {
  ADMIN,
  changed,
  DAEMON_SET_CONTROLLER,
  systemAccount,
  WORKLOADS,
  workloadWrite,
  write,
} from './admission-requests.ts';
import { deployerOf, ELSEWHERE, GARBAGE_COLLECTOR, NAMESPACE_CONTROLLER, type Row } from './admission-row.ts';

const CONTROLLER = systemAccount(DAEMON_SET_CONTROLLER);

export function workloadRows(p: RunnerParameters): readonly Row[] {
  const onlyHere = `workloads: ServiceAccount ${p.serviceAccount} may be named by DaemonSet ${p.daemonSet} only`;
  const onlyDeployers = `workloads: only deployers may create, change or delete DaemonSet ${p.daemonSet} and what names ServiceAccount ${p.serviceAccount}`;
  const onlyRevisions = `workloads: only the DaemonSet controller may write revisions that name ServiceAccount ${p.serviceAccount}`;
  const deployer = deployerOf(p);
  const other = { serviceAccountName: 'other', serviceAccount: 'other' };
  const image = ['object', 'spec', 'template', 'spec', 'containers', 0, 'image'];
  const changes = (user: typeof ADMIN) =>
    changed(workloadWrite(p, 'UPDATE', 'daemonsets', user), image, 'example.com/b:1');
  const annotates = (user: typeof ADMIN) =>
    changed(workloadWrite(p, 'UPDATE', 'daemonsets', user), ['object', 'metadata', 'annotations'], { note: 'seen' });
  const disowns = (user: typeof ADMIN) =>
    changed(
      workloadWrite(p, 'UPDATE', 'daemonsets', user),
      ['object', 'metadata', 'ownerReferences'],
      [{ uid: 'gone' }],
    );
  const deletes = (user: typeof ADMIN) => workloadWrite(p, 'DELETE', 'daemonsets', user);
  const withoutAccount = (operation: 'CREATE' | 'UPDATE' | 'DELETE', user: typeof ADMIN) =>
    workloadWrite(p, operation, 'daemonsets', user, other);
  const flip = (side: 'object' | 'oldObject', user: typeof ADMIN, resource = 'daemonsets') => {
    const same = workloadWrite(p, 'UPDATE', resource, user);
    const template = (name: string) => [side, 'spec', 'template', 'spec', name];
    return changed(changed(same, template('serviceAccountName'), 'other'), template('serviceAccount'), 'other');
  };
  const namespace = write(p, 'DELETE', { resource: 'namespaces', kind: 'Namespace' }, deployer, {
    metadata: { name: p.namespace },
  });
  const otherKinds = Object.keys(WORKLOADS).filter((kind) => kind !== 'daemonsets' && kind !== 'controllerrevisions');
  return [
    ['a deployer creates the DaemonSet', workloadWrite(p, 'CREATE', 'daemonsets', deployer)],
    ...p.deployerGroups.map(
      (group): Row => [
        `one of ${group} creates the DaemonSet`,
        workloadWrite(p, 'CREATE', 'daemonsets', { username: 'kim@example.com', groups: [group] }),
      ],
    ),
    ['an administrator creates it', workloadWrite(p, 'CREATE', 'daemonsets', ADMIN), onlyDeployers],
    [
      'somebody in no group creates it',
      workloadWrite(p, 'CREATE', 'daemonsets', { username: 'kim@example.com' }),
      onlyDeployers,
    ],
    [
      'the namespace controller creates it',
      workloadWrite(p, 'CREATE', 'daemonsets', NAMESPACE_CONTROLLER),
      onlyDeployers,
    ],
    ['a deployer changes it', changes(deployer)],
    ...p.deployerUsers.map((username): Row => [`${username} changes it`, changes({ username })]),
    ['an administrator changes it', changes(ADMIN), onlyDeployers],
    ['the DaemonSet controller changes it', changes(CONTROLLER), onlyDeployers],
    ['the garbage collector changes it', changes(GARBAGE_COLLECTOR), onlyDeployers],
    ['an administrator annotates it', annotates(ADMIN)],
    ['the DaemonSet controller annotates it', annotates(CONTROLLER)],
    ['an administrator gives it an owner that is gone', disowns(ADMIN), onlyDeployers],
    ['a deployer gives it an owner', disowns(deployer)],
    ['the garbage collector changes its owners', disowns(GARBAGE_COLLECTOR)],
    ['a deployer deletes it', deletes(deployer)],
    ['an administrator deletes it', deletes(ADMIN), onlyDeployers],
    [
      'an administrator deletes all, so that the request has no name',
      changed(deletes(ADMIN), ['request', 'name'], undefined),
      onlyDeployers,
    ],
    ...p.controllers.map((user): Row => [`${user} deletes it`, deletes(systemAccount(user))]),
    ['the namespace controller deletes it', deletes(NAMESPACE_CONTROLLER)],
    ['the garbage collector deletes it', deletes(GARBAGE_COLLECTOR)],
    ['an administrator creates one of its name with another account', withoutAccount('CREATE', ADMIN), onlyDeployers],
    ['a deployer creates one of its name with another account', withoutAccount('CREATE', deployer)],
    ['an administrator deletes one of its name with another account', withoutAccount('DELETE', ADMIN), onlyDeployers],
    ['a deployer gives it another account', flip('object', deployer)],
    ['an administrator gives it another account', flip('object', ADMIN), onlyDeployers],
    ['a deployer gives it the account', flip('oldObject', deployer)],
    ['an administrator gives it the account', flip('oldObject', ADMIN), onlyDeployers],
    [
      'an administrator creates it in another namespace',
      changed(workloadWrite(p, 'CREATE', 'daemonsets', ADMIN), ['request', 'namespace'], ELSEWHERE),
    ],
    ['its controller writes its status', changed(changes(CONTROLLER), ['request', 'subResource'], 'status')],

    [
      'a deployer creates another DaemonSet with the account',
      workloadWrite(p, 'CREATE', 'daemonsets', deployer, undefined, 'other'),
      onlyHere,
    ],
    [
      'an administrator creates another DaemonSet without it',
      workloadWrite(p, 'CREATE', 'daemonsets', ADMIN, other, 'other'),
    ],
    ...otherKinds.flatMap((kind): readonly Row[] => [
      [
        `a deployer creates in ${kind} a template with the account`,
        workloadWrite(p, 'CREATE', kind, deployer),
        onlyHere,
      ],
      [
        `the deprecated field alone, in ${kind}`,
        workloadWrite(p, 'CREATE', kind, deployer, { serviceAccount: p.serviceAccount }),
        onlyHere,
      ],
      [
        `the other field alone, in ${kind}`,
        workloadWrite(p, 'CREATE', kind, deployer, { serviceAccountName: p.serviceAccount }),
        onlyHere,
      ],
      [`an administrator does, in ${kind}`, workloadWrite(p, 'CREATE', kind, ADMIN), onlyHere, onlyDeployers],
      [`an administrator names another account in ${kind}`, workloadWrite(p, 'CREATE', kind, ADMIN, other)],
      [`an administrator names no account in ${kind}`, workloadWrite(p, 'CREATE', kind, ADMIN, {})],
      [
        `an administrator gives an owner in ${kind} to what was there before`,
        changed(workloadWrite(p, 'UPDATE', kind, ADMIN), ['object', 'metadata', 'ownerReferences'], [{ uid: 'gone' }]),
        onlyDeployers,
      ],
      [
        `an administrator deletes from ${kind} what was there before`,
        workloadWrite(p, 'DELETE', kind, ADMIN),
        onlyDeployers,
      ],
      [`a deployer deletes from ${kind} what was there before`, workloadWrite(p, 'DELETE', kind, deployer)],
      [
        `the garbage collector deletes from ${kind} what was there before`,
        workloadWrite(p, 'DELETE', kind, GARBAGE_COLLECTOR),
      ],
    ]),
    [
      'a deployer scales one that had the account in the deprecated field alone',
      changed(
        workloadWrite(p, 'UPDATE', 'deployments', deployer, { serviceAccount: p.serviceAccount }),
        ['object', 'spec', 'replicas'],
        0,
      ),
    ],
    ['a deployer takes the account from a Deployment', flip('object', deployer, 'deployments')],
    ['an administrator takes it', flip('object', ADMIN, 'deployments'), onlyDeployers],
    ['a deployer gives a Deployment the account', flip('oldObject', deployer, 'deployments'), onlyHere],
    [
      'a deployer scales a Deployment that had the account',
      changed(workloadWrite(p, 'UPDATE', 'deployments', deployer), ['object', 'spec', 'replicas'], 0),
    ],
    [
      'an administrator scales it',
      changed(workloadWrite(p, 'UPDATE', 'deployments', ADMIN), ['object', 'spec', 'replicas'], 9),
      onlyDeployers,
    ],
    [
      'an administrator changes a PodTemplate that had the account',
      changed(workloadWrite(p, 'UPDATE', 'podtemplates', ADMIN), ['object', 'template', 'spec', 'hostPID'], true),
      onlyDeployers,
    ],

    ...p.controllers.map(
      (user): Row => [
        `${user} writes a revision`,
        workloadWrite(p, 'CREATE', 'controllerrevisions', systemAccount(user)),
      ],
    ),
    ['a deployer writes a revision', workloadWrite(p, 'CREATE', 'controllerrevisions', deployer), onlyRevisions],
    [
      'an administrator renumbers a revision',
      changed(workloadWrite(p, 'UPDATE', 'controllerrevisions', ADMIN), ['object', 'revision'], 9),
      onlyRevisions,
    ],
    [
      'the garbage collector takes a revision’s owner away',
      changed(
        workloadWrite(p, 'UPDATE', 'controllerrevisions', GARBAGE_COLLECTOR),
        ['object', 'metadata', 'ownerReferences'],
        undefined,
      ),
    ],
    [
      'the namespace controller deletes a revision',
      workloadWrite(p, 'DELETE', 'controllerrevisions', NAMESPACE_CONTROLLER),
    ],
    [
      'the namespace controller writes a revision',
      workloadWrite(p, 'CREATE', 'controllerrevisions', NAMESPACE_CONTROLLER),
      onlyRevisions,
    ],
    [
      'an administrator writes a revision of something else',
      workloadWrite(p, 'CREATE', 'controllerrevisions', ADMIN, other),
    ],

    ['a deployer deletes the namespace', namespace],
    [
      'an administrator deletes the namespace',
      changed(namespace, ['request', 'userInfo'], { username: ADMIN.username, groups: ['system:masters'] }),
      onlyDeployers,
    ],
    [
      'an administrator deletes another namespace',
      changed(
        changed(namespace, ['request', 'userInfo'], { username: ADMIN.username }),
        ['request', 'namespace'],
        ELSEWHERE,
      ),
    ],
  ];
}
