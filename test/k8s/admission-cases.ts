/** What the policies must allow and refuse, for any names. A refused request differs from an allowed one in one thing. */
import type { RunnerParameters } from '../../src/manifests/runner-parameters.ts';
import { accountRows } from './account-cases.ts';
import type { Admission } from './admission-evaluator.ts';
import { connectionRows, podRows, tokenRows } from './pod-cases.ts';
import { workloadRows } from './workload-cases.ts';

export type AdmissionCase = {
  readonly what: string;
  readonly admission: Admission;
  readonly denied: readonly string[];
};

/** Every case for these parameters. */
export function admissionCases(parameters: RunnerParameters): readonly AdmissionCase[] {
  const rows = [tokenRows, podRows, connectionRows, workloadRows, accountRows].flatMap((of) => of(parameters));
  return rows.map(([what, admission, ...denied]) => ({
    what,
    admission,
    denied: denied.map((text) => `${parameters.namespace}-${text}`),
  }));
}
