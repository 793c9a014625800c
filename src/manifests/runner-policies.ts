/** The policies that make "the runner on this node" mean something, and what they can not close. */
import { accountPolicy, secretPolicy } from './account-policies.ts';
import { type AdmissionPolicy, admissionPolicyYaml } from './admission-policy.ts';
import { connectionPolicy } from './connection-policy.ts';
import { podPolicy } from './pod-policy.ts';
import type { RunnerParameters } from './runner-parameters.ts';
import { tokenPolicy } from './token-policy.ts';
import { workloadPolicy } from './workload-policy.ts';

/** All of them, in the order of the file. */
export function runnerPolicies(parameters: RunnerParameters): readonly AdmissionPolicy[] {
  return [tokenPolicy, podPolicy, connectionPolicy, workloadPolicy, accountPolicy, secretPolicy].map((policy) =>
    policy(parameters),
  );
}

const HEAD = `# A token of the runner's account says on which node its bearer runs. These policies keep others from getting one, and from
# changing what runs as the runner. They need Kubernetes 1.30 (admissionregistration.k8s.io/v1); every one fails closed.
#
# They are cluster-scoped and name the namespace, the account and the DaemonSet in their expressions. For other names render
# them anew (countersign manifests render --help); a kustomize overlay with \`namespace:\` would leave them behind, and would
# write metadata.namespace into them, which the API server refuses.
#
# What they can not close:
# - root on a node, and with it privileged and hostPath pods there, static pods and the kubelet's API (nodes/proxy): the
#   token file, the runner's memory and the kubelet's credential, all of that node;
# - impersonation of a kubelet, a controller or a deployer; certificates and bootstrap tokens for such names; rights by which
#   these can be got: escalate, bind, approval of certificate requests, create serviceaccounts/token in kube-system;
# - whoever may change or delete the policies and their bindings, or add webhooks and policies that mutate: they run before
#   these and may put anything into the runner's pods;
# - what deployers deploy, and whoever can push the image that they name;
# - the API server, etcd, and the keys that sign tokens;
# - clusters without the Node authorizer and NodeRestriction: there every kubelet may ask in the name of every node;
# - what was there before them: pods, workloads and Secrets with the account, and tokens already given out;
# - Kubernetes before 1.30, which has no such policies.
`;

/** The documents of all policies and bindings. */
export function runnerPoliciesYaml(parameters: RunnerParameters): string {
  const documents = runnerPolicies(parameters).map((policy) => admissionPolicyYaml(policy, parameters.namespace));
  return `${HEAD}\n${documents.join('---\n')}`;
}
