/**
 * Figures for Prometheus (OpenMetrics text). Labels are bounded: reasons are our own words, issuers and clients are
 * registered rows; what a stranger sends never becomes a label.
 */
import cluster from 'node:cluster';
import {
  Counter,
  collectDefaultMetrics,
  Gauge,
  Histogram,
  type OpenMetricsContentType,
  openMetricsContentType,
  Registry,
} from 'prom-client';
import { exposeKeySets, type KeySetSource } from './key-set-metrics.ts';
import { exposeReviews, type ReviewSource } from './review-metrics.ts';
import { askPrimary, type Figures } from './worker-metrics.ts';

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
  /** By trusted issuer id; `outcome` is from a fixed list. */
  keyFetched(issuerId: string, outcome: string, seconds: number): void;
  staleKeysUsed(): void;
  /** How the keys of all issuers stand, to be asked at each scrape; once at most, by a process that has them. */
  exposeKeySets(source: KeySetSource): void;
  /** By trusted issuer id; `outcome` is from a fixed list. */
  reviewed(issuerId: string, outcome: string, seconds: number): void;
  /** Adds the state of each cluster that is asked about tokens; called once. */
  exposeReviews(source: ReviewSource): void;
  replayPurged(rows: number): void;
  /** The declarative file was read at `now`, in seconds since the epoch. */
  declarationRead(outcome: 'applied' | 'refused', now: number): void;
  /** A request ended in a fault of ours. */
  faulted(): void;
  /** This process's figures, for a primary that exposes them with those of its workers. */
  collect(): Promise<Figures>;
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
    labelNames: ['issuer', 'outcome'],
    registers,
  });
  const fetchDuration = new Histogram({
    name: 'countersign_key_fetch_duration_seconds',
    help: "Duration of fetches of trusted issuers' keys",
    buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 3, 5],
    registers,
  });
  const reviews = new Counter({
    name: 'countersign_token_reviews',
    help: "Questions to trusted issuers' clusters about tokens",
    labelNames: ['issuer', 'outcome'],
    registers,
  });
  const reviewDuration = new Histogram({
    name: 'countersign_token_review_duration_seconds',
    help: 'Duration of questions to clusters about tokens, the wait for a turn included',
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 3],
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
  const declarationApplied = new Gauge({
    name: 'countersign_declaration_applied_timestamp_seconds',
    help: 'When the declarative file was last put in force; 0 in a process that keeps none',
    registers,
  });
  const declarationRefused = new Gauge({
    name: 'countersign_declaration_refused',
    help: '1 while the declarative file as it stands is refused, and an earlier one in force',
    registers,
  });
  const faults = new Counter({ name: 'countersign_faults', help: 'Requests that ended in a fault of ours', registers });
  const exposition = cluster.isWorker ? askPrimary(() => registry.getMetricsAsJSON()) : () => registry.metrics();
  const issuers = new BoundedLabels();
  const clients = new BoundedLabels();
  const fetched = new BoundedLabels();
  const reviewedIssuers = new BoundedLabels();
  return {
    decided({ action, outcome, reason, issuer, client }, seconds) {
      const labels = { issuer: issuers.of(issuer), client: clients.of(client) };
      decisions.inc({ action, outcome, reason: reason ?? 'none', ...labels });
      duration.observe({ action, outcome }, seconds);
    },
    keyFetched(issuerId, outcome, seconds) {
      fetches.inc({ issuer: fetched.of(issuerId), outcome });
      fetchDuration.observe(seconds);
    },
    staleKeysUsed: () => stale.inc(),
    exposeKeySets: (source) => exposeKeySets(registry, source),
    reviewed(issuerId, outcome, seconds) {
      reviews.inc({ issuer: reviewedIssuers.of(issuerId), outcome });
      reviewDuration.observe(seconds);
    },
    exposeReviews: (source) => exposeReviews(registry, source),
    replayPurged: (rows) => purged.inc(rows),
    declarationRead(outcome, now) {
      declarationRefused.set(outcome === 'refused' ? 1 : 0);
      if (outcome === 'applied') declarationApplied.set(now);
    },
    faulted: () => faults.inc(),
    collect: () => registry.getMetricsAsJSON(),
    async expose() {
      return { text: await exposition(), contentType: registry.contentType };
    },
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
