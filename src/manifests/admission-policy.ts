/**
 * One ValidatingAdmissionPolicy with its binding, as YAML. Every policy of ours is fail-closed, applies to one namespace,
 * refuses with 403 and leaves a record in the API server's audit log.
 *
 * CEL of Kubernetes 1.29, since expressions are compiled for the version before the server's. Optional members of
 * `request` (`subResource`, `name`, `userInfo.groups` …) are absent, not empty: `request.?name.orValue('')`, or else the
 * expression fails, and with it everything the policy matches. `dyn(…)` keeps the type checker from looking for the
 * fields of one kind in another.
 */
import { celString } from './cel-literal.ts';
import { dedent, indent, yamlString } from './yaml-text.ts';

export type ResourceRule = {
  readonly apiGroups: readonly string[];
  readonly operations: readonly ('CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT')[];
  /** A subresource is one only by its own name: `pods` is not `pods/exec`. */
  readonly resources: readonly string[];
  readonly scope: 'Namespaced' | 'Cluster';
};
export type NamedExpression = { readonly name: string; readonly expression: string };

export type AdmissionPolicy = {
  readonly name: string;
  /** What it closes, and why: one paragraph. */
  readonly comment: string;
  readonly resourceRules: readonly ResourceRule[];
  /** Which of these requests it is about; all of them if left out. Variables are not known here. */
  readonly matchCondition?: NamedExpression;
  readonly variables?: readonly NamedExpression[];
  readonly validations: readonly { readonly expression: string; readonly message: string }[];
};

/** The documents of policy and binding, for requests in `namespace`. */
export function admissionPolicyYaml(policy: AdmissionPolicy, namespace: string): string {
  const { name, comment, matchCondition, variables = [], validations } = policy;
  const spec = [
    'failurePolicy: Fail',
    'matchConstraints:',
    // Another version of a kind is converted to the one below before the expressions see it.
    '  matchPolicy: Equivalent',
    '  namespaceSelector:',
    '    matchLabels:',
    `      kubernetes.io/metadata.name: ${yamlString(namespace)}`,
    '  resourceRules:',
    ...policy.resourceRules.map((rule) => indent(resourceRuleYaml(rule), 4)),
    ...(matchCondition === undefined ? [] : ['matchConditions:', namedExpressionYaml(matchCondition)]),
    ...(variables.length === 0 ? [] : ['variables:', ...variables.map(namedExpressionYaml)]),
    'validations:',
    ...validations.map(({ expression, message }) =>
      [`  - expression: ${block(expression)}`, `    message: ${yamlString(message)}`, '    reason: Forbidden'].join(
        '\n',
      ),
    ),
  ];
  return [
    dedent(comment).replaceAll(/^/gm, '# '),
    'apiVersion: admissionregistration.k8s.io/v1',
    'kind: ValidatingAdmissionPolicy',
    'metadata:',
    `  name: ${yamlString(name)}`,
    'spec:',
    indent(spec.join('\n'), 2),
    '---',
    'apiVersion: admissionregistration.k8s.io/v1',
    'kind: ValidatingAdmissionPolicyBinding',
    'metadata:',
    `  name: ${yamlString(name)}`,
    'spec:',
    `  policyName: ${yamlString(name)}`,
    '  validationActions: [Deny, Audit]',
    '',
  ].join('\n');
}

/** An expression that is true of a pod spec, an optional one or not, that names the account by either field. */
export function namesAccount(podSpec: string, serviceAccount: string): string {
  const account = celString(serviceAccount);
  // The API server folds the deprecated `serviceAccount` into the other field, but not in every kind of template.
  return `(${podSpec}.?serviceAccountName.orValue('') == ${account} || ${podSpec}.?serviceAccount.orValue('') == ${account})`;
}

function resourceRuleYaml({ apiGroups, operations, resources, scope }: ResourceRule): string {
  return dedent(`
    - apiGroups: [${apiGroups.map((group) => JSON.stringify(group)).join(', ')}]
      apiVersions: [v1]
      operations: [${operations.join(', ')}]
      resources: [${resources.join(', ')}]
      scope: ${scope}
  `);
}

function namedExpressionYaml({ name, expression }: NamedExpression): string {
  return `  - name: ${name}\n    expression: ${block(expression)}`;
}

function block(expression: string): string {
  return `|-\n${indent(dedent(expression), 6)}`;
}
