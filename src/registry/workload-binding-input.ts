/**
 * A workload binding as an admin writes it down: snake_case fields, their defaults and bounds. The one place where a
 * binding crosses between snake_case and camelCase. Knows no store: whether the issuer and the client exist is checked
 * in `workload-binding-operations.ts`.
 */
import { z } from 'zod';
import { parseTokenClaimTemplate } from '../assertion/token-claim-template.ts';
import type { IssuerType } from '../assertion/trusted-issuer.ts';
import type { ClaimValue, WorkloadBinding } from '../assertion/workload-binding.ts';
import { err, ok, type Result } from '../result.ts';
import { flag, isReservedClaim, jsonObject, requiredText } from './input-fields.ts';
import { type InputProblem, problem, readFields, withoutNulls } from './input-problem.ts';
import { subjectProblem } from './subject-input.ts';

/** Conditions, and further claims, of one binding. */
const MAX_MEMBERS = 20;
const MAX_CLAIM_PATH_LENGTH = 255;
const MAX_CLAIM_VALUE_LENGTH = 1024;

/** Claim names that need no escaping anywhere; a URL as a collision-resistant name (RFC 7519 §4.2) fits too. */
const CLAIM_NAME = /^[\x21\x23-\x5B\x5D-\x7E]{1,255}$/;

const claimValue = z.custom<ClaimValue>(
  (value) =>
    typeof value === 'boolean' ||
    (typeof value === 'number' && Number.isFinite(value)) ||
    (typeof value === 'string' && value.length <= MAX_CLAIM_VALUE_LENGTH),
  `must be a string of at most ${MAX_CLAIM_VALUE_LENGTH} characters, a number, true or false`,
);

/** The fields, each by itself. */
export const workloadBindingFields = z.strictObject({
  trusted_issuer_id: requiredText(255),
  client_id: requiredText(255),
  subject: z.string({ error: (issue) => (issue.input === undefined ? 'is required' : 'must be text') }),
  claims: jsonObject(claimValue, MAX_MEMBERS).default({}),
  token_claims: jsonObject(z.string('must be a template: text'), MAX_MEMBERS).default({}),
  is_active: flag(true),
});

/** A binding as written, before its rows are looked up. */
export type WorkloadBindingInput = Pick<WorkloadBinding, 'subject' | 'claims' | 'tokenClaims' | 'isActive'> & {
  readonly trustedIssuerId: string;
  /** A client's `id` or `client_id`. */
  readonly client: string;
};

/** Reads a new binding. The subject is checked later, by `bindingSubjectProblems`: its form depends on the issuer. */
export function parseWorkloadBindingInput(input: unknown): Result<WorkloadBindingInput, readonly InputProblem[]> {
  const { complete, readable, problems } = readFields(workloadBindingFields, input);
  const all = [
    ...problems,
    ...conditionProblems(readable.claims ?? {}),
    ...templateProblems(readable.token_claims ?? {}),
  ];
  if (complete === null || all.length > 0) return err(all);
  return ok({
    trustedIssuerId: complete.trusted_issuer_id,
    client: complete.client_id,
    subject: complete.subject,
    claims: complete.claims,
    tokenClaims: complete.token_claims,
    isActive: complete.is_active,
  });
}

/** Reads changes to `current`: fields that are not given, or null, stay as they are. */
export function parseWorkloadBindingUpdate(
  changes: Readonly<Record<string, unknown>>,
  current: WorkloadBinding,
): Result<WorkloadBindingInput, readonly InputProblem[]> {
  const given = withoutNulls(changes);
  if (given.trusted_issuer_id !== undefined && given.trusted_issuer_id !== current.trustedIssuerId) {
    return err([problem('can not be changed: add a binding to the other issuer', 'trusted_issuer_id')]);
  }
  return parseWorkloadBindingInput({ ...workloadBindingFieldsOf(current), ...given });
}

/** Why no workload of the issuer's type can have the binding's subject. */
export function bindingSubjectProblems(subject: string, issuerType: IssuerType): readonly InputProblem[] {
  const wrong = subjectProblem(subject, issuerType);
  return wrong === null ? [] : [problem(wrong, 'subject')];
}

/** The binding's fields under their outside names; `client_id` is the row's id. */
export function workloadBindingFieldsOf(
  binding: Omit<WorkloadBinding, 'id' | 'managedBy' | 'createdAt' | 'updatedAt'>,
) {
  return {
    trusted_issuer_id: binding.trustedIssuerId,
    client_id: binding.clientRowId,
    subject: binding.subject,
    claims: binding.claims,
    token_claims: binding.tokenClaims,
    is_active: binding.isActive,
  };
}

function conditionProblems(claims: Readonly<Record<string, ClaimValue>>): readonly InputProblem[] {
  return Object.keys(claims).flatMap((path) => {
    const isPath = path.length <= MAX_CLAIM_PATH_LENGTH && path.split('.').every((name) => name !== '');
    return isPath ? [] : [problem('must be a claim path: names joined by single dots', 'claims', path.slice(0, 100))];
  });
}

/** A claim of ours that a binding could set would let it speak for us: another subject, another audience. */
function templateProblems(tokenClaims: Readonly<Record<string, string>>): readonly InputProblem[] {
  return Object.entries(tokenClaims).flatMap(([name, template]) => {
    const at = (message: string) => [problem(message, 'token_claims', name.slice(0, 100))];
    if (isReservedClaim(name)) return at('is a claim with a meaning of its own: choose another name');
    if (!CLAIM_NAME.test(name)) return at('must be named in printable ASCII without spaces, quotes and backslashes');
    const parsed = parseTokenClaimTemplate(template);
    return parsed.ok ? [] : at(parsed.error);
  });
}
