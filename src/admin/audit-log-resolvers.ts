/** The audit log in GraphQL: filters and pages in, records out. Read only. */
import { AUDIT_OUTCOMES, type AuditFilter, type AuditOutcome, type AuditRecord } from '../observe/audit-log.ts';
import { problem } from '../registry/input-problem.ts';
import { invalidArgument } from './admin-error.ts';
import type { AdminDependencies } from './dependencies.ts';
import { type PaginationRequest, pageOf } from './pagination.ts';

type AuditLogQuery = {
  readonly pagination?: PaginationRequest | null;
  readonly action?: string | null;
  readonly outcome?: string | null;
  readonly reason?: string | null;
  readonly client_id?: string | null;
  readonly trusted_issuer_id?: string | null;
  readonly subject?: string | null;
  readonly request_id?: string | null;
  readonly resource_type?: string | null;
  readonly resource_id?: string | null;
  readonly actor_id?: string | null;
  readonly from_timestamp?: number | null;
  readonly to_timestamp?: number | null;
  readonly before?: string | null;
};

export function auditLogResolvers({ auditLog }: Pick<AdminDependencies, 'auditLog'>) {
  return {
    Query: {
      async _audit_logs(_parent: unknown, { params }: { readonly params?: AuditLogQuery | null }) {
        const page = pageOf(params?.pagination);
        const { limit, offset } = page;
        const beforeId = params?.before;
        const { rows, total } = await auditLog.list(filterOf(params ?? {}), {
          limit,
          offset,
          ...(beforeId && { beforeId }),
        });
        return { pagination: { ...page, total }, audit_logs: rows.map(auditLogType) };
      },
    },
  };
}

/** Empty texts filter nothing, as in Authorizer. */
function filterOf(query: AuditLogQuery): AuditFilter {
  const { outcome } = query;
  if (outcome && !isOutcome(outcome)) {
    throw invalidArgument(problem(`must be one of ${AUDIT_OUTCOMES.join(', ')}`, 'outcome'));
  }
  return {
    ...(query.action && { action: query.action }),
    ...(outcome && isOutcome(outcome) && { outcome }),
    ...(query.reason && { reason: query.reason }),
    ...(query.client_id && { clientId: query.client_id }),
    ...(query.trusted_issuer_id && { trustedIssuerId: query.trusted_issuer_id }),
    ...(query.subject && { subject: query.subject }),
    ...(query.request_id && { requestId: query.request_id }),
    ...(query.resource_type && { resourceType: query.resource_type }),
    ...(query.resource_id && { resourceId: query.resource_id }),
    ...(query.actor_id && { actorId: query.actor_id }),
    ...(typeof query.from_timestamp === 'number' && { fromTimestamp: query.from_timestamp }),
    ...(typeof query.to_timestamp === 'number' && { toTimestamp: query.to_timestamp }),
  };
}

function isOutcome(text: string): text is AuditOutcome {
  return (AUDIT_OUTCOMES as readonly string[]).includes(text);
}

function auditLogType(record: AuditRecord) {
  return {
    id: record.id,
    actor_id: record.actorId,
    actor_type: record.actorType,
    actor_email: null,
    action: record.action,
    resource_type: record.resourceType,
    resource_id: record.resourceId,
    ip_address: record.ipAddress,
    user_agent: record.userAgent,
    metadata: JSON.stringify(record.evidence),
    outcome: record.outcome,
    reason: record.reason,
    trusted_issuer_id: record.trustedIssuerId,
    subject: record.subject,
    client_id: record.clientId,
    request_id: record.requestId,
    created_at: record.createdAt,
  };
}
