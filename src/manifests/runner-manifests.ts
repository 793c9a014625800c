/** The runner's manifests as files of a kustomize base, and as one stream of documents for kubectl. */
import type { RunnerParameters } from './runner-parameters.ts';
import { runnerPoliciesYaml } from './runner-policies.ts';
import { daemonSetYaml, namespaceYaml, serviceAccountYaml } from './runner-workload.ts';

export type ManifestFile = { readonly name: string; readonly text: string };

/** The guard stands before what it guards. */
const RESOURCES: readonly { readonly name: string; readonly yaml: (parameters: RunnerParameters) => string }[] = [
  { name: 'namespace.yaml', yaml: namespaceYaml },
  { name: 'policies.yaml', yaml: runnerPoliciesYaml },
  { name: 'service-account.yaml', yaml: serviceAccountYaml },
  { name: 'daemon-set.yaml', yaml: daemonSetYaml },
];

const KUSTOMIZATION = `# The runner: one on every node, and the policies that make its name worth something.
#
#   kubectl apply -k k8s/runner
#
# Written by \`countersign manifests render --output-dir k8s/runner\`, which takes other names, audiences, controllers and
# deployers; --help has them all. Whoever applies it must be a deployer as soon as the policies are in force.
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
# No \`namespace:\` here: kustomize does not know that policies have none, and writes one into them.
resources:
${RESOURCES.map(({ name }) => `  - ${name}`).join('\n')}
# As listed: the policies before the account and the pods.
sortOptions:
  order: fifo
`;

/** The files of a kustomize base. */
export function runnerFiles(parameters: RunnerParameters): readonly ManifestFile[] {
  return [
    { name: 'kustomization.yaml', text: KUSTOMIZATION },
    ...RESOURCES.map(({ name, yaml }) => ({ name, text: yaml(parameters) })),
  ];
}

/** The same resources in the same order, as one text for `kubectl apply -f -`. */
export function runnerStream(parameters: RunnerParameters): string {
  return RESOURCES.map(({ yaml }) => yaml(parameters)).join('---\n');
}
