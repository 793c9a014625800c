/**
 * ValidatingAdmissionPolicies as the API server applies them, with the CEL of `@marcbachmann/cel-js`: bindings, match
 * constraints, match conditions, variables, validations, fail-closed. Every denial is answered, in the order of the file;
 * the API server tells its caller the first.
 */
import { Environment } from '@marcbachmann/cel-js';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';

export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };
export type JsonObject = { readonly [name: string]: Json };
/** An AdmissionRequest without its objects, which are variables of their own. What is optional is absent, never empty. */
export type AdmissionRequest = {
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';
  readonly resource: { readonly group: string; readonly version: string; readonly resource: string };
  readonly subResource?: string;
  readonly name?: string;
  readonly namespace?: string;
  readonly userInfo: { readonly username: string; readonly groups?: readonly string[] };
} & { readonly [member: string]: unknown };
export type Admission = {
  readonly request: AdmissionRequest;
  readonly object: JsonObject | null;
  readonly oldObject: JsonObject | null;
};

const ruleShape = z.strictObject({
  apiGroups: z.array(z.string()),
  apiVersions: z.array(z.string()),
  operations: z.array(z.enum(['CREATE', 'UPDATE', 'DELETE', 'CONNECT'])),
  resources: z.array(z.string()),
  scope: z.enum(['Namespaced', 'Cluster']),
});
const named = z.strictObject({ name: z.string(), expression: z.string() });
/** Strict: a member that this evaluator does not know would be a rule that it does not apply. */
const policyShape = z.strictObject({
  apiVersion: z.literal('admissionregistration.k8s.io/v1'),
  kind: z.literal('ValidatingAdmissionPolicy'),
  metadata: z.strictObject({ name: z.string() }),
  spec: z.strictObject({
    failurePolicy: z.literal('Fail'),
    matchConstraints: z.strictObject({
      matchPolicy: z.literal('Equivalent'),
      namespaceSelector: z.strictObject({ matchLabels: z.record(z.string(), z.string()) }),
      resourceRules: z.array(ruleShape),
    }),
    matchConditions: z.array(named).default([]),
    variables: z.array(named).default([]),
    validations: z.array(
      z.strictObject({ expression: z.string(), message: z.string(), reason: z.literal('Forbidden') }),
    ),
  }),
});
const bindingShape = z.strictObject({
  apiVersion: z.literal('admissionregistration.k8s.io/v1'),
  kind: z.literal('ValidatingAdmissionPolicyBinding'),
  metadata: z.strictObject({ name: z.string() }),
  spec: z.strictObject({ policyName: z.string(), validationActions: z.array(z.string()) }),
});
export type Policy = z.infer<typeof policyShape>;
export type Binding = z.infer<typeof bindingShape>;

const environment = new Environment({ unlistedVariablesAreDyn: true, enableOptionalTypes: true });

/** The policies and bindings among the documents of a YAML text. */
export function readPolicies(yaml: string): {
  readonly policies: readonly Policy[];
  readonly bindings: readonly Binding[];
} {
  const documents = parseAllDocuments(yaml, { strict: true, uniqueKeys: true }).map(
    (document) => document.toJS() as { kind: string },
  );
  return {
    policies: documents.filter(({ kind }) => kind === 'ValidatingAdmissionPolicy').map((it) => policyShape.parse(it)),
    bindings: documents
      .filter(({ kind }) => kind === 'ValidatingAdmissionPolicyBinding')
      .map((it) => bindingShape.parse(it)),
  };
}

/** The messages of every denial, as `policy: message`; none if the request is allowed. */
export function denials(yaml: string, admission: Admission): readonly string[] {
  const { policies, bindings } = readPolicies(yaml);
  const inForce = policies.filter(({ metadata }) =>
    bindings.some(({ spec }) => spec.policyName === metadata.name && spec.validationActions.includes('Deny')),
  );
  return inForce.flatMap(({ metadata, spec }) => {
    try {
      return isMatched(spec, admission) ? failures(spec, admission).map((text) => `${metadata.name}: ${text}`) : [];
    } catch (error) {
      return [`${metadata.name}: expression resulted in error: ${String(error)}`];
    }
  });
}

function isMatched({ matchConstraints, matchConditions }: Policy['spec'], admission: Admission): boolean {
  const { request } = admission;
  // A namespace's own label, which the API server keeps equal to its name.
  const labels: Readonly<Record<string, string | undefined>> = { 'kubernetes.io/metadata.name': request.namespace };
  const selected = Object.entries(matchConstraints.namespaceSelector.matchLabels);
  return (
    selected.every(([label, value]) => labels[label] === value) &&
    matchConstraints.resourceRules.some((rule) => isInRule(rule, request)) &&
    matchConditions.every(({ expression }) => evaluate(expression, admission) === true)
  );
}

function isInRule(rule: z.infer<typeof ruleShape>, { resource, subResource, operation }: AdmissionRequest): boolean {
  const path = subResource === undefined ? resource.resource : `${resource.resource}/${subResource}`;
  return (
    rule.apiGroups.includes(resource.group) &&
    rule.apiVersions.includes(resource.version) &&
    rule.operations.includes(operation) &&
    rule.resources.includes(path) &&
    // Everything that is tested here is in a namespace, or is one.
    (rule.scope === 'Cluster') === (resource.resource === 'namespaces')
  );
}

function failures(spec: Policy['spec'], admission: Admission): readonly string[] {
  const variables: Record<string, unknown> = {};
  for (const { name, expression } of spec.variables) variables[name] = evaluate(expression, admission, variables);
  return spec.validations
    .filter(({ expression }) => evaluate(expression, admission, variables) !== true)
    .map(({ message }) => message);
}

function evaluate(expression: string, admission: Admission, variables: object = {}): unknown {
  return environment.parse(expression)({ ...admission, variables });
}
