/** How the clusters that are asked about tokens stand, as gauges that are read at each scrape. */
import { Gauge, type OpenMetricsContentType, type Registry } from 'prom-client';

/** Clusters with series of their own; the source gives those with trouble first. */
const MAX_CLUSTERS = 200;

export type ClusterSeries = {
  readonly id: string;
  readonly name: string;
  readonly breaker: 'closed' | 'open' | 'half_open';
  readonly failures: number;
  readonly inFlight: number;
  readonly waiting: number;
};

export type ReviewSource = (maxClusters: number) => readonly ClusterSeries[];

const BREAKER_VALUES = { closed: 0, half_open: 1, open: 2 } as const;

/** Adds the gauges to `registry`. */
export function exposeReviews(registry: Registry<OpenMetricsContentType>, source: ReviewSource): void {
  const series = (name: string, help: string, aggregator: 'max' | 'sum', collect?: () => void) =>
    new Gauge({
      name,
      help,
      labelNames: ['issuer', 'name'],
      aggregator,
      registers: [registry],
      ...(collect && { collect }),
    });
  // Registered first and so asked first: it sets all the others for this scrape.
  const breaker = series(
    'countersign_review_breaker',
    "A cluster's breaker: 0 closed, 1 half open, 2 open",
    'max',
    collect,
  );
  const failures = series('countersign_review_failures', 'Failed questions to a cluster in a row', 'max');
  const inFlight = series('countersign_reviews_in_flight', 'Questions to a cluster under way', 'sum');
  const waiting = series('countersign_reviews_waiting', 'Questions to a cluster that wait for their turn', 'sum');

  function collect(): void {
    for (const gauge of [breaker, failures, inFlight, waiting]) gauge.reset();
    for (const { id: issuer, name, ...cluster } of source(MAX_CLUSTERS)) {
      breaker.set({ issuer, name }, BREAKER_VALUES[cluster.breaker]);
      failures.set({ issuer, name }, cluster.failures);
      inFlight.set({ issuer, name }, cluster.inFlight);
      waiting.set({ issuer, name }, cluster.waiting);
    }
  }
}
