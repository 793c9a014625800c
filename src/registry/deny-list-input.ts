/**
 * A deny list entry as an admin writes it down: snake_case fields, their defaults and bounds. The one place where an
 * entry crosses between snake_case and camelCase. Knows no store and no clock.
 */
import { z } from 'zod';
import { DENIED_MEMBERS, type DeniedMember, type DenyListEntry } from '../assertion/deny-list.ts';
import type { IssuerType, TrustedIssuer } from '../assertion/trusted-issuer.ts';
import { isObjectName } from '../kubernetes/service-account.ts';
import { err, ok, type Result } from '../result.ts';
import { optionalText, requiredText, wholeNumber } from './input-fields.ts';
import { type InputProblem, problem, readFields, withoutNulls } from './input-problem.ts';
import { MAX_SUBJECT_LENGTH, subjectProblem, subjectWarnings } from './subject-input.ts';

/** A sentence or two, and room for a link to the incident. */
export const MAX_DENIAL_REASON_LENGTH = 500;
/** 9999-12-31T23:59:59Z, the last instant that dates are written for. */
const LAST_INSTANT = 253_402_300_799;

/** As the API server makes them (uuid.NewUUID), and as it writes them into tokens: small letters. */
const KUBERNETES_UID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const expiry = wholeNumber(0, LAST_INSTANT)
  .transform((instant) => (instant === 0 ? null : instant))
  .default(null);
const denialReason = requiredText(MAX_DENIAL_REASON_LENGTH);

/** The fields, each by itself. */
export const denyListEntryFields = z.strictObject({
  trusted_issuer_id: requiredText(255),
  subject: optionalText(MAX_SUBJECT_LENGTH),
  node_name: optionalText(255),
  pod_uid: optionalText(255),
  service_account_uid: optionalText(255),
  reason: denialReason,
  expires_at: expiry,
});
const updateSchema = z.strictObject({ reason: denialReason, expires_at: expiry });

/** An entry as written, before its issuer is looked up. */
export type DenyListEntryInput = Pick<DenyListEntry, 'trustedIssuerId' | 'member' | 'value' | 'reason' | 'expiresAt'>;

/**
 * Reads a new entry. What depends on the issuer is checked later, by `denyListIssuerProblems`; whether `expires_at` is
 * still ahead, by `expiryProblems`.
 */
export function parseDenyListEntryInput(input: unknown): Result<DenyListEntryInput, readonly InputProblem[]> {
  const { complete, readable, problems } = readFields(denyListEntryFields, input);
  const named = DENIED_MEMBERS.flatMap((member) => {
    const value = readable[member] ?? null;
    return value === null ? [] : [{ member, value }];
  });
  const isUnreadable = problems.some(({ path: [field] }) => DENIED_MEMBERS.some((member) => member === field));
  const [only, ...others] = named;
  const all = [
    ...problems,
    ...named.flatMap(({ member, value }) => shapeProblems(member, value)),
    ...(isUnreadable || named.length === 1 ? [] : [problem(`name exactly one of ${DENIED_MEMBERS.join(', ')}`)]),
  ];
  if (complete === null || only === undefined || others.length > 0 || all.length > 0) return err(all);
  return ok({
    trustedIssuerId: complete.trusted_issuer_id,
    ...only,
    reason: complete.reason,
    expiresAt: complete.expires_at,
  });
}

/** Reads changes to `current`: fields that are not given, or null, stay as they are. What it names can't change. */
export function parseDenyListEntryUpdate(
  changes: Readonly<Record<string, unknown>>,
  current: Pick<DenyListEntry, 'reason' | 'expiresAt'>,
): Result<Pick<DenyListEntry, 'reason' | 'expiresAt'>, readonly InputProblem[]> {
  const fixed = ['trusted_issuer_id', ...DENIED_MEMBERS].filter((name) => (changes[name] ?? null) !== null);
  if (fixed.length > 0) return err(fixed.map((name) => problem('can not be changed: add another entry', name)));
  const unchanged = { reason: current.reason, expires_at: current.expiresAt };
  const { complete, problems } = readFields(updateSchema, { ...unchanged, ...withoutNulls(changes) });
  return complete === null ? err(problems) : ok({ reason: complete.reason, expiresAt: complete.expires_at });
}

/** Why no workload of the issuer's type can be what the entry names. */
export function denyListIssuerProblems(
  { member, value }: Pick<DenyListEntry, 'member' | 'value'>,
  issuerType: IssuerType,
): readonly InputProblem[] {
  if (member === 'subject') {
    const wrong = subjectProblem(value, issuerType);
    return wrong === null ? [] : [problem(wrong, member)];
  }
  return issuerType === 'kubernetes_sa'
    ? []
    : [
        problem(
          `workloads of issuer_type ${issuerType} have none, only those of kubernetes_sa: name a subject`,
          member,
        ),
      ];
}

/** Why an entry that is written at `now` could never cut anything. */
export function expiryProblems(expiresAt: number | null, now: number): readonly InputProblem[] {
  if (expiresAt === null || expiresAt > now) return [];
  return [problem(`must be in the future (now is ${now}); leave it out for an entry without an end`, 'expires_at')];
}

/** What an admin should know about an entry that is allowed. */
export function denyListWarnings(
  { member, value }: Pick<DenyListEntry, 'member' | 'value'>,
  issuer: Pick<TrustedIssuer, 'issuerType' | 'requirePod' | 'requireNode'>,
): readonly string[] {
  switch (member) {
    case 'subject':
      return issuer.issuerType === 'kubernetes_sa' ? [] : subjectWarnings(value, issuer.issuerType);
    case 'service_account_uid':
      return [];
    case 'node_name':
      return issuer.requireNode
        ? []
        : [
            'tokens that name no node are not cut: those without a pod, and those of clusters before Kubernetes 1.30; set require_node on the trusted issuer to refuse them',
          ];
    case 'pod_uid':
      return issuer.requirePod || issuer.requireNode
        ? []
        : ['tokens that name no pod are not cut; set require_pod on the trusted issuer to refuse them'];
  }
}

/** The entry's fields under their outside names. */
export function denyListEntryFieldsOf(entry: DenyListEntryInput) {
  const named = (member: DeniedMember) => (entry.member === member ? entry.value : null);
  return {
    trusted_issuer_id: entry.trustedIssuerId,
    subject: named('subject'),
    node_name: named('node_name'),
    pod_uid: named('pod_uid'),
    service_account_uid: named('service_account_uid'),
    reason: entry.reason,
    expires_at: entry.expiresAt,
  };
}

/** A value that no token can have would cut nothing, and nobody would notice. */
function shapeProblems(member: DeniedMember, value: string): readonly InputProblem[] {
  switch (member) {
    case 'subject':
      return [];
    case 'node_name':
      return isObjectName(value)
        ? []
        : [problem(`no node can have the name ${JSON.stringify(value)}: names match exactly, no wildcards`, member)];
    case 'pod_uid':
    case 'service_account_uid':
      return KUBERNETES_UID.test(value)
        ? []
        : [problem('must be a uid as Kubernetes writes it: metadata.uid, a UUID in small letters', member)];
  }
}
