/**
 * Puts a declaration in force: the rows of the file become what it declares, in one transaction, and the audit log gets
 * the difference. A refused one changes nothing, and is recorded as well.
 */
import { randomUUID } from 'node:crypto';
import type { AuditEntry, AuditLog } from '../observe/audit-log.ts';
import type { Result } from '../result.ts';
import type { Declaration, DeclarationProblem } from './declaration.ts';
import { type RowDifference, rowDifferences } from './declaration-difference.ts';
import { planDeclaration } from './declaration-plan.ts';
import type { RegistryContext } from './registry-context.ts';

/** Which file, and under which id its reading is found in log and audit. */
export type DeclarationOrigin = { readonly requestId: string; readonly file: string };

export type DeclarationOperations = {
  /** Answers what has changed; nothing is written, and nothing recorded, when nothing has. */
  applyDeclaration(
    declaration: Declaration,
    origin: DeclarationOrigin,
  ): Promise<Result<readonly RowDifference[], readonly DeclarationProblem[]>>;
  /** Records that a declaration was refused; `problems` as they were shown. */
  recordRefusedDeclaration(problems: readonly string[], origin: DeclarationOrigin): Promise<void>;
  /** Whether there are rows that a declarative file keeps. */
  hasDeclaredRows(): Promise<boolean>;
};

/** Differences in one audit record: each has all fields of a row, and a fleet has thousands of rows. */
const DIFFERENCES_PER_RECORD = 100;
/** Most problems in one record; the log has them all. */
const MAX_PROBLEMS = 20;

export function createDeclarationOperations(context: RegistryContext, auditLog: AuditLog): DeclarationOperations {
  const { store, clock } = context;
  const plan = (declaration: Declaration) => (rows: Parameters<typeof planDeclaration>[1]) =>
    planDeclaration(declaration, rows, { now: clock(), newId: randomUUID });

  const append = (
    action: string,
    { requestId, file }: DeclarationOrigin,
    entry: Pick<AuditEntry, 'outcome' | 'reason' | 'evidence'>,
  ) =>
    auditLog.append({
      createdAt: clock(),
      requestId,
      action,
      ...entry,
      actorType: 'system',
      actorId: 'declarative_file',
      resourceType: 'declarative_file',
      resourceId: file,
      trustedIssuerId: null,
      subject: null,
      clientId: null,
      ipAddress: null,
      userAgent: null,
    });

  return {
    async applyDeclaration(declaration, origin) {
      // In turn with the writes of the API: what they have checked must still hold when they write.
      const planned = await context.inTurn(() => store.rewrite(plan(declaration)));
      if (!planned.ok) return planned;
      const differences = rowDifferences(planned.value);
      const parts = Math.ceil(differences.length / DIFFERENCES_PER_RECORD);
      await Promise.all(
        Array.from({ length: parts }, (_, part) => {
          const from = part * DIFFERENCES_PER_RECORD;
          const changes = differences.slice(from, from + DIFFERENCES_PER_RECORD);
          const evidence = { part: part + 1, parts, changes };
          return append('declarative_file.applied', origin, { outcome: 'changed', reason: null, evidence });
        }),
      );
      return { ok: true, value: differences };
    },

    recordRefusedDeclaration: (problems, origin) =>
      append('declarative_file.refused', origin, {
        outcome: 'failed',
        reason: 'invalid_input',
        evidence: { problems: problems.slice(0, MAX_PROBLEMS), problem_count: problems.length },
      }),

    hasDeclaredRows: () => store.hasDeclaredRows(),
  };
}
