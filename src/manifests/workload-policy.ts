/** Who may say what runs as the runner: the deployers, in one DaemonSet. */
import { type AdmissionPolicy, namesAccount } from './admission-policy.ts';
import { celString, celStrings } from './cel-literal.ts';
import { isCleaner, isDeployer } from './permitted-users.ts';
import type { RunnerParameters } from './runner-parameters.ts';

/**
 * The DaemonSet by its name, whatever account it names, everything else by the account, and the namespace, whose deletion
 * deletes them all. On DELETE only `oldObject` is there, and for a deletion of many not even `request.name`.
 */
export function workloadPolicy(parameters: RunnerParameters): AdmissionPolicy {
  const { namespace, serviceAccount, daemonSet, controllers } = parameters;
  const isDaemonSet = (workload: string) =>
    `(request.resource.resource == 'daemonsets' && ${workload}.metadata.?name.orValue('') == ${celString(daemonSet)})`;
  return {
    name: `${namespace}-workloads`,
    comment: `
      Who can write a template with the account can run anything in the name of every node. The DaemonSet counts even while
      it names another account: containers that somebody has left in it would stay when a deployer applies his own.
    `,
    resourceRules: [
      {
        apiGroups: ['apps'],
        operations: ['CREATE', 'UPDATE', 'DELETE'],
        resources: ['daemonsets', 'deployments', 'statefulsets', 'replicasets', 'controllerrevisions'],
        scope: 'Namespaced',
      },
      {
        apiGroups: ['batch'],
        operations: ['CREATE', 'UPDATE', 'DELETE'],
        resources: ['jobs', 'cronjobs'],
        scope: 'Namespaced',
      },
      {
        apiGroups: [''],
        operations: ['CREATE', 'UPDATE', 'DELETE'],
        resources: ['replicationcontrollers', 'podtemplates'],
        scope: 'Namespaced',
      },
      { apiGroups: [''], operations: ['DELETE'], resources: ['namespaces'], scope: 'Cluster' },
    ],
    matchCondition: {
      name: 'runner',
      expression: `
        request.resource.resource == 'namespaces' ||
        [dyn(object), dyn(oldObject)].exists(workload, workload != null && (
          ${isDaemonSet('workload')} ||
          ${templateNamesAccount('workload', serviceAccount).replaceAll('\n', '\n          ')}))
      `,
    },
    variables: [
      isDeployer(parameters),
      isCleaner(parameters),
      {
        name: 'namedBefore',
        expression: `
          oldObject != null &&
          ${templateNamesAccount('dyn(oldObject)', serviceAccount).replaceAll('\n', '\n          ')}
        `,
      },
      {
        // Not the owners: one that does not exist makes the garbage collector delete the DaemonSet.
        name: 'isMetadataOnly',
        expression: `
          request.operation == 'UPDATE' &&
          dyn(object).?spec.orValue({}) == dyn(oldObject).?spec.orValue({}) &&
          dyn(object).?template.orValue({}) == dyn(oldObject).?template.orValue({}) &&
          (variables.isCleaner ||
           object.metadata.?ownerReferences.orValue([]) == oldObject.metadata.?ownerReferences.orValue([]))
        `,
      },
    ],
    validations: [
      {
        // What named the account before the policy came may be emptied and removed.
        expression: `
          request.operation == 'DELETE' || variables.namedBefore ||
          request.resource.resource == 'controllerrevisions' ||
          ${isDaemonSet('object')}
        `,
        message: `ServiceAccount ${serviceAccount} may be named by DaemonSet ${daemonSet} only`,
      },
      {
        expression: `
          variables.isDeployer ||
          request.resource.resource == 'controllerrevisions' ||
          (request.operation == 'DELETE' && variables.isCleaner) ||
          variables.isMetadataOnly
        `,
        message: `only deployers may create, change or delete DaemonSet ${daemonSet} and what names ServiceAccount ${serviceAccount}`,
      },
      {
        // kubectl rollout undo takes the template of a revision: a false one would be deployed by a deployer.
        expression: `
          request.resource.resource != 'controllerrevisions' ||
          request.userInfo.username in ${celStrings(controllers)} ||
          (request.operation != 'CREATE' && variables.isCleaner)
        `,
        message: `only the DaemonSet controller may write revisions that name ServiceAccount ${serviceAccount}`,
      },
    ],
  };
}

/** Pod templates are at four places: most kinds, CronJob, PodTemplate, and the patch in a ControllerRevision. */
function templateNamesAccount(workload: string, serviceAccount: string): string {
  return [
    `[${workload}.?spec.?template.?spec,`,
    ` ${workload}.?spec.?jobTemplate.?spec.?template.?spec,`,
    ` ${workload}.?template.?spec,`,
    ` ${workload}.?data.?spec.?template.?spec].exists(pod,`,
    `  ${namesAccount('pod', serviceAccount)})`,
  ].join('\n');
}
