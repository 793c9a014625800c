/** What every endpoint that decides on a proof is given by `app.ts`. */
import type { Clock, Stopwatch } from '../clock.ts';
import type { AuditLog } from '../observe/audit-log.ts';
import type { Log } from '../observe/log.ts';
import type { DecisionMetrics } from '../observe/metrics.ts';

export type EndpointDeps = {
  readonly clock: Clock;
  readonly stopwatch: Stopwatch;
  readonly auditLog: AuditLog;
  readonly metrics: DecisionMetrics;
  readonly log: Log;
};
