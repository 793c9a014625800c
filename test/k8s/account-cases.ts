/** The account, and Secrets for it: what must be allowed and refused. */
import type { RunnerParameters } from '../../src/manifests/runner-parameters.ts';
import { ADMIN, changed, systemAccount, write } from './admission-requests.ts';
import { deployerOf, ELSEWHERE, GARBAGE_COLLECTOR, NAMESPACE_CONTROLLER, type Row } from './admission-row.ts';

export function accountRows(p: RunnerParameters): readonly Row[] {
  const onlyDeployers = `account: only deployers may create, change or delete ServiceAccount ${p.serviceAccount}`;
  const noSecret = `secrets: no Secret may hold a token of ServiceAccount ${p.serviceAccount}`;
  const deployer = deployerOf(p);
  const account = (operation: 'CREATE' | 'UPDATE' | 'DELETE', user: typeof ADMIN, name = p.serviceAccount) =>
    write(p, operation, { resource: 'serviceaccounts', kind: 'ServiceAccount' }, user, { metadata: { name } });
  const role = { 'eks.amazonaws.com/role-arn': 'arn:aws:iam::111122223333:role/any' };
  const annotated = (user: typeof ADMIN, name?: string) =>
    changed(account('UPDATE', user, name), ['object', 'metadata', 'annotations'], role);
  const secret = (operation: 'CREATE' | 'UPDATE' | 'DELETE') =>
    write(p, operation, { resource: 'secrets', kind: 'Secret' }, deployer, {
      metadata: { name: 'runner-token', annotations: { 'kubernetes.io/service-account.name': p.serviceAccount } },
      type: 'kubernetes.io/service-account-token',
    });
  const annotation = (side: 'object' | 'oldObject') => [
    side,
    'metadata',
    'annotations',
    'kubernetes.io/service-account.name',
  ];
  return [
    ['a deployer creates the account', account('CREATE', deployer)],
    ...p.deployerGroups.map(
      (group): Row => [
        `one of ${group} creates the account`,
        account('CREATE', { username: 'kim@example.com', groups: [group] }),
      ],
    ),
    ['an administrator creates it', account('CREATE', ADMIN), onlyDeployers],
    ['an administrator creates another', account('CREATE', ADMIN, 'other')],
    ['the garbage collector creates it', account('CREATE', GARBAGE_COLLECTOR), onlyDeployers],
    ['a deployer annotates it', annotated(deployer)],
    ['an administrator annotates it', annotated(ADMIN), onlyDeployers],
    ['an administrator annotates another', annotated(ADMIN, 'other')],
    ['the garbage collector takes its finalizers off', account('UPDATE', GARBAGE_COLLECTOR)],
    ['a deployer deletes it', account('DELETE', deployer)],
    ['an administrator deletes it', account('DELETE', ADMIN), onlyDeployers],
    [
      'an administrator deletes all, so that the request has no name',
      changed(account('DELETE', ADMIN), ['request', 'name'], undefined),
      onlyDeployers,
    ],
    ...p.controllers.map((user): Row => [`${user} deletes the account`, account('DELETE', systemAccount(user))]),
    ['the namespace controller deletes it', account('DELETE', NAMESPACE_CONTROLLER)],
    [
      'an administrator creates it in another namespace',
      changed(account('CREATE', ADMIN), ['request', 'namespace'], ELSEWHERE),
    ],
    ...p.deployerUsers.map((username): Row => [`${username} creates it`, account('CREATE', { username })]),

    ['a Secret for the account’s token, even by a deployer', secret('CREATE'), noSecret],
    ['a Secret for another account’s token', changed(secret('CREATE'), annotation('object'), 'other')],
    [
      'a token Secret without the annotation',
      changed(secret('CREATE'), ['object', 'metadata', 'annotations'], undefined),
    ],
    ['a Secret of another type', changed(secret('CREATE'), ['object', 'type'], 'Opaque')],
    [
      'a Secret that comes to be for the account',
      changed(secret('UPDATE'), annotation('oldObject'), 'other'),
      noSecret,
    ],
    [
      'the update of a Secret that was there before',
      changed(secret('UPDATE'), ['object', 'metadata', 'labels'], { seen: 'yes' }),
    ],
    ['the deletion of a Secret that was there before', secret('DELETE')],
    ['a Secret in another namespace', changed(secret('CREATE'), ['request', 'namespace'], ELSEWHERE)],
  ];
}
