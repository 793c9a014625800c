/** The account itself, and the other way to a token of it: a Secret. */
import type { AdmissionPolicy } from './admission-policy.ts';
import { celString } from './cel-literal.ts';
import { isCleaner, isDeployer } from './permitted-users.ts';
import type { RunnerParameters } from './runner-parameters.ts';

/** An account that is made again has another uid; its annotations are what cloud platforms read roles from. */
export function accountPolicy(parameters: RunnerParameters): AdmissionPolicy {
  const { namespace, serviceAccount } = parameters;
  return {
    name: `${namespace}-account`,
    comment: `
      Metadata is closed as well: on the managed clouds an annotation of the account gives its pods a role, or another
      token that the policy above refuses, so that they would not start.
    `,
    resourceRules: [
      {
        apiGroups: [''],
        operations: ['CREATE', 'UPDATE', 'DELETE'],
        resources: ['serviceaccounts'],
        scope: 'Namespaced',
      },
    ],
    matchCondition: {
      name: 'account',
      expression: `
        [dyn(object), dyn(oldObject)].exists(account, account != null &&
          account.metadata.?name.orValue('') == ${celString(serviceAccount)})
      `,
    },
    variables: [isDeployer(parameters), isCleaner(parameters)],
    validations: [
      {
        // The garbage collector takes the finalizers off, which is an update.
        expression: `variables.isDeployer || (request.operation != 'CREATE' && variables.isCleaner)`,
        message: `only deployers may create, change or delete ServiceAccount ${serviceAccount}`,
      },
    ],
  };
}

/** A Secret of this type gets a token without audience and expiry, written by the controller manager. */
export function secretPolicy({ namespace, serviceAccount }: RunnerParameters): AdmissionPolicy {
  return {
    name: `${namespace}-secrets`,
    comment: `
      The server refuses such tokens by their issuer; they would still be good at the API server, for ever.
    `,
    resourceRules: [{ apiGroups: [''], operations: ['CREATE', 'UPDATE'], resources: ['secrets'], scope: 'Namespaced' }],
    // One that was there before may be labelled and cleaned up.
    matchCondition: {
      name: 'new-token-secret',
      expression: `
        ${isTokenSecret('object', serviceAccount)} &&
        !(oldObject != null && ${isTokenSecret('oldObject', serviceAccount)})
      `,
    },
    validations: [
      {
        expression: 'false',
        message: `no Secret may hold a token of ServiceAccount ${serviceAccount}`,
      },
    ],
  };
}

function isTokenSecret(secret: string, serviceAccount: string): string {
  const annotation = "'kubernetes.io/service-account.name'";
  return (
    `${secret}.?type.orValue('') == 'kubernetes.io/service-account-token' && ` +
    `${secret}.metadata.?annotations[?${annotation}].orValue('') == ${celString(serviceAccount)}`
  );
}
