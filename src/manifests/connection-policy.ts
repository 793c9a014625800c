/** No way into a running pod through the API server. */
import type { AdmissionPolicy } from './admission-policy.ts';
import type { RunnerParameters } from './runner-parameters.ts';

/** A CONNECT request brings no pod with it, so it is closed for the namespace, and the runner needs one of its own. */
export function connectionPolicy({ namespace }: RunnerParameters): AdmissionPolicy {
  return {
    name: `${namespace}-connections`,
    comment: `
      A shell in the pod can read the token file. There is no exception: to look into a runner, read its log.
    `,
    resourceRules: [
      {
        apiGroups: [''],
        operations: ['CONNECT'],
        resources: ['pods/exec', 'pods/attach', 'pods/portforward', 'pods/proxy', 'services/proxy'],
        scope: 'Namespaced',
      },
    ],
    validations: [
      {
        expression: 'false',
        message: `exec, attach, port-forward and proxy are closed in namespace ${namespace}`,
      },
    ],
  };
}
