/**
 * The audit records of registry writes: who wrote what, which fields changed, and what was refused and why. Secrets
 * are in no record; a key set appears as the names of its keys, a certificate as its fingerprint.
 */
import { X509Certificate } from 'node:crypto';
import type { Clock } from '../clock.ts';
import type { AuditEntry, AuditLog } from '../observe/audit-log.ts';
import { kidsOf } from './pasted-jwks.ts';
import type { RegistryError, ResourceType } from './registry-error.ts';

/** Who writes, and from where. */
export type WriteOrigin = {
  readonly requestId: string;
  readonly ipAddress: string | null;
  readonly userAgent: string | null;
};

export type WriteVerb = 'created' | 'updated' | 'deleted' | 'secret_rotated';

/** A row's fields under their outside names. */
export type RowFields = Readonly<Record<string, unknown>>;

/** What a record says about the row besides its type and id. */
export type WriteSubject = Partial<Pick<AuditEntry, 'resourceId' | 'trustedIssuerId' | 'subject' | 'clientId'>>;

export type WriteAudit = {
  /** After the commit. */
  changed(
    resourceType: ResourceType,
    verb: WriteVerb,
    origin: WriteOrigin,
    row: WriteSubject,
    evidence: RowFields,
  ): Promise<void>;
  refused(
    resourceType: ResourceType,
    verb: WriteVerb,
    origin: WriteOrigin,
    row: WriteSubject,
    error: RegistryError,
  ): Promise<void>;
};

/** Longest piece of an input that is repeated in a record. */
const MAX_TEXT_LENGTH = 1024;
/** Most problems of one refused input that are kept; the answer to the admin has them all. */
const MAX_PROBLEMS = 20;

export function createWriteAudit(auditLog: AuditLog, clock: Clock): WriteAudit {
  const append = (
    resourceType: ResourceType,
    verb: WriteVerb,
    origin: WriteOrigin,
    row: WriteSubject,
    outcome: Pick<AuditEntry, 'outcome' | 'reason' | 'evidence'>,
  ) =>
    auditLog.append({
      createdAt: clock(),
      requestId: origin.requestId,
      action: `${resourceType}.${verb}`,
      ...outcome,
      actorType: 'admin',
      actorId: 'admin',
      resourceType,
      resourceId: bounded(row.resourceId),
      trustedIssuerId: bounded(row.trustedIssuerId),
      subject: bounded(row.subject),
      clientId: bounded(row.clientId),
      ipAddress: origin.ipAddress,
      userAgent: bounded(origin.userAgent),
    });
  return {
    changed: (resourceType, verb, origin, row, evidence) =>
      append(resourceType, verb, origin, row, { outcome: 'changed', reason: null, evidence }),
    refused: (resourceType, verb, origin, row, error) =>
      append(resourceType, verb, origin, row, {
        outcome: 'failed',
        reason: error.code,
        evidence: 'problems' in error ? { problems: error.problems.slice(0, MAX_PROBLEMS) } : {},
      }),
  };
}

/** The fields that differ, each with both values as a record may show them. */
export function changedFields(
  before: RowFields,
  after: RowFields,
): Readonly<Record<string, { readonly from: unknown; readonly to: unknown }>> {
  return Object.fromEntries(
    Object.keys({ ...before, ...after })
      .filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]))
      .map((name) => [name, { from: shown(name, before[name]), to: shown(name, after[name]) }]),
  );
}

/** A row's fields as a record may show them. */
export function shownFields(fields: RowFields): RowFields {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, shown(name, value)]));
}

function shown(name: string, value: unknown): unknown {
  if (typeof value !== 'string') return value;
  if (name === 'jwks') return { kids: kidsOf(value) };
  return name === 'ca_pem' || name === 'kubernetes_api_server_ca_pem'
    ? { sha256_fingerprint: new X509Certificate(value).fingerprint256 }
    : value;
}

function bounded(text: string | null | undefined): string | null {
  return text?.slice(0, MAX_TEXT_LENGTH) ?? null;
}
