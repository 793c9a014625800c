/**
 * Figures for Prometheus (OpenMetrics text). Labels are bounded: reasons are our own words, issuers and clients are
 * registered rows; what a stranger sends never becomes a label.
 */
import {
  Counter,
  collectDefaultMetrics,
  Gauge,
  Histogram,
  type OpenMetricsContentType,
  openMetricsContentType,
  Registry,
} from 'prom-client';

/** Rows named in labels at most; those beyond share the label `other`, so that 10,000 issuers cost no memory. */
const MAX_LABEL_VALUES = 200;

export type DecisionLabels = {
  readonly action: string;
  readonly outcome: string;
  readonly reason: string | null;
  /** A registered issuer's name, null when none was recognised. */
  readonly issuer: string | null;
  /** A registered client's client_id, null when none was recognised. */
  readonly client: string | null;
};

export type DecisionMetrics = {
  decided(labels: DecisionLabels, seconds: number): void;
};

export type Metrics = DecisionMetrics & {
  /** `outcome` is from a fixed list. */
  keyFetched(outcome: string, seconds: number): void;
  staleKeysUsed(): void;
  replayPurged(rows: number): void;
  /** Registers a figure that is read when it is asked for. */
  gauge(name: string, help: string, read: () => number): void;
  /** The exposition text and its media type. */
  expose(): Promise<{ readonly text: string; readonly contentType: string }>;
};

/** A new registry with our figures and the process's own. */
export function createMetrics(): Metrics {
  const registry = new Registry<OpenMetricsContentType>();
  registry.setContentType(openMetricsContentType);
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  const decisions = new Counter({
    name: 'countersign_decisions',
    help: 'Decisions of the OAuth endpoints',
    labelNames: ['action', 'outcome', 'reason', 'issuer', 'client'],
    registers,
  });
  const duration = new Histogram({
    name: 'countersign_decision_duration_seconds',
    help: 'Time from the request to its answer',
    labelNames: ['action', 'outcome'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 3, 10],
    registers,
  });
  const fetches = new Counter({
    name: 'countersign_key_fetches',
    help: "Fetches of trusted issuers' keys",
    labelNames: ['outcome'],
    registers,
  });
  const fetchDuration = new Histogram({
    name: 'countersign_key_fetch_duration_seconds',
    help: "Duration of fetches of trusted issuers' keys",
    buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 3, 5],
    registers,
  });
  const stale = new Counter({
    name: 'countersign_stale_keys_used',
    help: 'Verifications with a key set that could not be refreshed',
    registers,
  });
  const purged = new Counter({
    name: 'countersign_replay_claims_purged',
    help: 'Replay claims deleted after their assertion expired',
    registers,
  });
  const issuers = new BoundedLabels();
  const clients = new BoundedLabels();
  return {
    decided({ action, outcome, reason, issuer, client }, seconds) {
      const labels = { issuer: issuers.of(issuer), client: clients.of(client) };
      decisions.inc({ action, outcome, reason: reason ?? 'none', ...labels });
      duration.observe({ action, outcome }, seconds);
    },
    keyFetched(outcome, seconds) {
      fetches.inc({ outcome });
      fetchDuration.observe(seconds);
    },
    staleKeysUsed: () => stale.inc(),
    replayPurged: (rows) => purged.inc(rows),
    gauge(name, help, read) {
      new Gauge({ name, help, registers, collect: gaugeReader(read) });
    },
    async expose() {
      return { text: await registry.metrics(), contentType: registry.contentType };
    },
  };
}

function gaugeReader(read: () => number) {
  return function collect(this: { set(value: number): void }): void {
    this.set(read());
  };
}

class BoundedLabels {
  readonly #known = new Set<string>();

  of(value: string | null): string {
    if (value === null) return 'none';
    if (this.#known.has(value)) return value;
    if (this.#known.size >= MAX_LABEL_VALUES) return 'other';
    this.#known.add(value);
    return value;
  }
}
