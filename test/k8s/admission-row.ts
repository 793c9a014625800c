/** One row of the tables of cases, and the people and places that occur in several of them. */
import type { RunnerParameters } from '../../src/manifests/runner-parameters.ts';
import type { Admission } from './admission-evaluator.ts';
import { systemAccount } from './admission-requests.ts';

/** The denials are the last word of the policy's name and its message; none means allowed. */
export type Row = readonly [what: string, admission: Admission, ...denied: readonly string[]];

export const GARBAGE_COLLECTOR = systemAccount('system:serviceaccount:kube-system:generic-garbage-collector');
export const NAMESPACE_CONTROLLER = systemAccount('system:serviceaccount:kube-system:namespace-controller');
export const ELSEWHERE = 'elsewhere';

export function deployerOf({ deployerGroups }: RunnerParameters) {
  return { username: 'dana@example.com', groups: [...deployerGroups, 'system:authenticated'] };
}
