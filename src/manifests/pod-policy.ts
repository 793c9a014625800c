/** What a pod with the runner's account is: one of the DaemonSet's, made by its controller, and nothing else afterwards. */
import { type AdmissionPolicy, namesAccount } from './admission-policy.ts';
import { celString, celStrings } from './cel-literal.ts';
import { GARBAGE_COLLECTOR } from './permitted-users.ts';
import type { RunnerParameters } from './runner-parameters.ts';

/** Creation and update of pods. They may be deleted by whoever has the right: a drain, the kubelet, an eviction. */
export function podPolicy(parameters: RunnerParameters): AdmissionPolicy {
  const { namespace, serviceAccount, daemonSet, controllers } = parameters;
  const ownersMayChange = celStrings([...controllers, GARBAGE_COLLECTOR]);
  return {
    name: `${namespace}-pods`,
    comment: `
      Whoever makes a pod with the account, or changes what runs in one, speaks in the node's name. The spec of a pod is
      closed to changes as a whole: image, resources, tolerations and whatever Kubernetes makes mutable next.
    `,
    resourceRules: [
      {
        apiGroups: [''],
        operations: ['CREATE', 'UPDATE'],
        resources: ['pods', 'pods/ephemeralcontainers', 'pods/resize'],
        scope: 'Namespaced',
      },
    ],
    matchCondition: {
      name: 'account',
      expression: `
        [dyn(object), dyn(oldObject)].exists(pod, pod != null &&
          ${namesAccount('pod.spec', serviceAccount)})
      `,
    },
    validations: [
      {
        expression: `
          request.operation != 'CREATE' ||
          request.userInfo.username in ${celStrings(controllers)}
        `,
        message: `only the DaemonSet controller may create pods of ServiceAccount ${serviceAccount}`,
      },
      {
        expression: `
          request.operation != 'CREATE' ||
          object.metadata.?ownerReferences.orValue([]).exists(owner,
            owner.?controller.orValue(false) && owner.apiVersion == 'apps/v1' && owner.kind == 'DaemonSet' &&
            owner.name == ${celString(daemonSet)})
        `,
        message: `a pod of ServiceAccount ${serviceAccount} must be controlled by DaemonSet ${daemonSet}`,
      },
      {
        // The controller ties a pod to its node by affinity; a name set here goes past the scheduler and its taints.
        expression: `request.operation != 'CREATE' || object.spec.?nodeName.orValue('') == ''`,
        message: `spec.nodeName of a pod of ServiceAccount ${serviceAccount} must be left to the scheduler`,
      },
      {
        expression: `request.?subResource.orValue('') != 'ephemeralcontainers'`,
        message: `no container may be added to a pod of ServiceAccount ${serviceAccount}`,
      },
      {
        expression: `request.operation != 'UPDATE' || object.spec == oldObject.spec`,
        message: `the spec of a pod of ServiceAccount ${serviceAccount} may not be changed in place`,
      },
      {
        // A pod that the DaemonSet does not select any more would go on with an old image beside its successor.
        expression: `
          request.operation != 'UPDATE' ||
          request.userInfo.username in ${ownersMayChange} ||
          (object.metadata.?labels.orValue({}) == oldObject.metadata.?labels.orValue({}) &&
           object.metadata.?ownerReferences.orValue([]) == oldObject.metadata.?ownerReferences.orValue([]))
        `,
        message: `labels and owner of a pod of ServiceAccount ${serviceAccount} belong to the DaemonSet controller`,
      },
    ],
  };
}
