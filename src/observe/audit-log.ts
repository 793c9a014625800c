/**
 * The audit log: one record per decision and per admin write, with the exact reason and its evidence, never a token.
 * This file owns the record's shape and the port; `storage/` keeps it.
 */

export const AUDIT_OUTCOMES = ['accepted', 'refused', 'unavailable', 'changed', 'failed'] as const;
/**
 * `accepted`, `refused`: a decision about a caller. `unavailable`: no decision could be made (keys, database).
 * `changed`, `failed`: an admin write.
 */
export type AuditOutcome = (typeof AUDIT_OUTCOMES)[number];

export type AuditEntry = {
  readonly createdAt: number;
  readonly requestId: string;
  /** What was asked for: `token.requested`, `introspection.requested`, `client.created`, `trusted_issuer.updated`, … */
  readonly action: string;
  readonly outcome: AuditOutcome;
  /** A refusal reason, an OAuth error code, or null where the outcome says it all. */
  readonly reason: string | null;
  readonly actorType: 'workload' | 'client' | 'admin' | 'system';
  /** A client_id, `admin`, or null when nobody was recognised. */
  readonly actorId: string | null;
  readonly resourceType: string | null;
  readonly resourceId: string | null;
  readonly trustedIssuerId: string | null;
  readonly subject: string | null;
  /** The OAuth client_id. */
  readonly clientId: string | null;
  readonly ipAddress: string | null;
  readonly userAgent: string | null;
  /** Evidence, written as JSON: `jti`, `kid`, what was expected and presented, what changed. */
  readonly evidence: Readonly<Record<string, unknown>>;
};

/** A stored record. */
export type AuditRecord = AuditEntry & { readonly id: string };

export type AuditFilter = {
  readonly action?: string;
  readonly outcome?: AuditOutcome;
  readonly reason?: string;
  readonly clientId?: string;
  readonly trustedIssuerId?: string;
  readonly subject?: string;
  readonly requestId?: string;
  readonly resourceType?: string;
  readonly resourceId?: string;
  readonly actorId?: string;
  readonly fromTimestamp?: number;
  readonly toTimestamp?: number;
};

export type AuditLog = {
  /** Resolves once the record is durable. */
  append(entry: AuditEntry): Promise<void>;
  /** Newest first. `beforeId`: only records older than that one (a stable cursor while new ones arrive). */
  list(
    filter: AuditFilter,
    page: { readonly limit: number; readonly offset: number; readonly beforeId?: string },
  ): Promise<{ readonly rows: readonly AuditRecord[]; readonly total: number }>;
};
