/** Who may have a token of the runner's account, and which: the kubelets, for a pod, for the server, for a short time. */
import type { AdmissionPolicy } from './admission-policy.ts';
import { celString } from './cel-literal.ts';
import type { RunnerParameters } from './runner-parameters.ts';

/**
 * TokenRequest is a subresource of the account. By the time of this policy the API server has filled in the account's
 * name and the audiences (pkg/registry/core/serviceaccount/storage/token.go).
 */
export function tokenPolicy(parameters: RunnerParameters): AdmissionPolicy {
  const { namespace, serviceAccount, audience, expirationSeconds } = parameters;
  return {
    name: `${namespace}-tokens`,
    comment: `
      A token of the account is the runner's identity. The node in it is true only if a kubelet has asked for it: whoever else
      may create serviceaccounts/token can name any pod and any node.
    `,
    resourceRules: [
      { apiGroups: [''], operations: ['CREATE'], resources: ['serviceaccounts/token'], scope: 'Namespaced' },
    ],
    matchCondition: { name: 'account', expression: `request.?name.orValue('') == ${celString(serviceAccount)}` },
    validations: [
      {
        // Both: the group alone can be given to anyone by a certificate or a mapping of groups.
        expression: `
          request.userInfo.username.startsWith('system:node:') &&
          request.userInfo.?groups.orValue([]).exists(group, group == 'system:nodes')
        `,
        message: `only kubelets may request tokens of ServiceAccount ${serviceAccount}`,
      },
      {
        expression: `
          object.spec.?boundObjectRef.?apiVersion.orValue('') == 'v1' &&
          object.spec.?boundObjectRef.?kind.orValue('') == 'Pod' &&
          object.spec.?boundObjectRef.?name.orValue('') != '' &&
          object.spec.?boundObjectRef.?uid.orValue('') != ''
        `,
        message: `a token of ServiceAccount ${serviceAccount} must be bound to a Pod, by name and uid`,
      },
      {
        expression: `object.spec.?audiences.orValue([]) == [${celString(audience)}]`,
        message: `a token of ServiceAccount ${serviceAccount} must have ${audience} as its only audience`,
      },
      {
        // 3600 is what the API server takes for an absent value.
        expression: `object.spec.?expirationSeconds.orValue(3600) <= ${expirationSeconds}`,
        message: `a token of ServiceAccount ${serviceAccount} may live ${expirationSeconds} seconds at most`,
      },
    ],
  };
}
