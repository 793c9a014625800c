/** Users and groups in expressions: who deploys, and who cleans up after a deletion. */
import type { NamedExpression } from './admission-policy.ts';
import { celStrings } from './cel-literal.ts';
import type { RunnerParameters } from './runner-parameters.ts';

/** It takes finalizers off what is deleted, and owners that are gone; then it deletes what nobody owns any more. */
export const GARBAGE_COLLECTOR = 'system:serviceaccount:kube-system:generic-garbage-collector';
/** It deletes everything in a namespace that is being deleted. */
const NAMESPACE_CONTROLLER = 'system:serviceaccount:kube-system:namespace-controller';

/** The variable `isDeployer`. */
export function isDeployer({ deployerGroups, deployerUsers }: RunnerParameters): NamedExpression {
  const alternatives = [
    ...(deployerGroups.length === 0
      ? []
      : [`request.userInfo.?groups.orValue([]).exists(group, group in ${celStrings(deployerGroups)})`]),
    ...(deployerUsers.length === 0 ? [] : [`request.userInfo.username in ${celStrings(deployerUsers)}`]),
  ];
  return { name: 'isDeployer', expression: alternatives.join(' ||\n') };
}

/**
 * The variable `isCleaner`. The controllers are among them: where one user is all of the controller manager, it is also
 * the garbage collector.
 */
export function isCleaner({ controllers }: RunnerParameters): NamedExpression {
  const users = [NAMESPACE_CONTROLLER, GARBAGE_COLLECTOR, ...controllers];
  return { name: 'isCleaner', expression: `request.userInfo.username in ${celStrings(users)}` };
}
