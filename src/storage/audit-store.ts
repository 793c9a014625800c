/** The audit log at rest: `AuditLog` over `audit_logs`. Appends share transactions; nothing is ever changed. */
import type { AuditFilter, AuditLog, AuditRecord } from '../observe/audit-log.ts';
import type { Database } from './database.ts';
import { and, count, desc, eq, gte, lt, lte, type SQL, sql } from './drizzle.ts';
import { auditLogs } from './schema.ts';
import type { WriteQueue } from './write-queue.ts';

/** An answer's `total` stops here: counting all of a log of millions would hold up every token request meanwhile. */
export const AUDIT_TOTAL_CEILING = 100_000;

export function createAuditStore(database: Database, queue: WriteQueue): AuditLog {
  const { orm } = database;
  const insert = orm
    .insert(auditLogs)
    .values({
      createdAt: sql.placeholder('createdAt'),
      requestId: sql.placeholder('requestId'),
      action: sql.placeholder('action'),
      outcome: sql.placeholder('outcome'),
      reason: sql.placeholder('reason'),
      actorType: sql.placeholder('actorType'),
      actorId: sql.placeholder('actorId'),
      resourceType: sql.placeholder('resourceType'),
      resourceId: sql.placeholder('resourceId'),
      trustedIssuerId: sql.placeholder('trustedIssuerId'),
      subject: sql.placeholder('subject'),
      clientId: sql.placeholder('clientId'),
      ipAddress: sql.placeholder('ipAddress'),
      userAgent: sql.placeholder('userAgent'),
      evidence: sql.placeholder('evidence'),
    })
    .prepare();

  return {
    append: (entry) => queue.enqueue(() => void insert.run(entry)),

    async list(filter, page) {
      const matching = and(...conditions(filter));
      const cursor = page.beforeId === undefined ? undefined : lt(auditLogs.seq, sequenceOf(page.beforeId));
      const rows = orm
        .select()
        .from(auditLogs)
        .where(and(matching, cursor))
        .orderBy(desc(auditLogs.seq))
        .limit(page.limit)
        .offset(page.offset)
        .all();
      const counted = orm
        .select({ seq: auditLogs.seq })
        .from(auditLogs)
        .where(matching)
        .limit(AUDIT_TOTAL_CEILING)
        .as('counted');
      const total = orm.select({ total: count() }).from(counted).get()?.total ?? 0;
      return { rows: rows.map(toRecord), total };
    },
  };
}

function toRecord({ seq, ...entry }: typeof auditLogs.$inferSelect): AuditRecord {
  return { id: String(seq), ...entry };
}

/** A cursor that we have not given out is older than every record: nothing follows it. */
function sequenceOf(id: string): number {
  return /^[1-9]\d{0,14}$/.test(id) ? Number(id) : 0;
}

function conditions(filter: AuditFilter): SQL[] {
  const found: SQL[] = [];
  if (filter.action !== undefined) found.push(eq(auditLogs.action, filter.action));
  if (filter.outcome !== undefined) found.push(eq(auditLogs.outcome, filter.outcome));
  if (filter.reason !== undefined) found.push(eq(auditLogs.reason, filter.reason));
  if (filter.clientId !== undefined) found.push(eq(auditLogs.clientId, filter.clientId));
  if (filter.trustedIssuerId !== undefined) found.push(eq(auditLogs.trustedIssuerId, filter.trustedIssuerId));
  if (filter.subject !== undefined) found.push(eq(auditLogs.subject, filter.subject));
  if (filter.requestId !== undefined) found.push(eq(auditLogs.requestId, filter.requestId));
  if (filter.resourceType !== undefined) found.push(eq(auditLogs.resourceType, filter.resourceType));
  if (filter.resourceId !== undefined) found.push(eq(auditLogs.resourceId, filter.resourceId));
  if (filter.actorId !== undefined) found.push(eq(auditLogs.actorId, filter.actorId));
  if (filter.fromTimestamp !== undefined) found.push(gte(auditLogs.createdAt, filter.fromTimestamp));
  if (filter.toTimestamp !== undefined) found.push(lte(auditLogs.createdAt, filter.toTimestamp));
  return found;
}
