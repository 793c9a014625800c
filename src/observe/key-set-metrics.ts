/**
 * How the keys of trusted issuers stand, as gauges that are read at each scrape: totals for all issuers, and one by one
 * for some. Every process holds all sets itself, so where several are merged the worst of them counts, not their sum.
 */
import { Gauge, type OpenMetricsContentType, type Registry } from 'prom-client';

/**
 * Issuers with series of their own; the source gives those with trouble first. The totals count all: five series for
 * each of 10,000 issuers would be a scrape of megabytes.
 */
const MAX_ISSUERS = 200;

export type IssuerKeySeries = {
  readonly id: string;
  readonly name: string;
  readonly ageSeconds: number | null;
  readonly keys: number;
  readonly failures: number;
  /** From a fixed list. */
  readonly lastError: string | null;
  readonly nextTrySeconds: number | null;
  readonly isShared: boolean;
};

export type KeySetTotals = {
  readonly usable: number;
  readonly unavailable: number;
  readonly stale: number;
  readonly failing: number;
  readonly sharing: number;
  readonly sharedKeys: number;
  readonly oldestAgeSeconds: number;
  readonly queued: number;
};

export type KeySetSource = (maxIssuers: number) => KeySetTotals & { readonly issuers: readonly IssuerKeySeries[] };

/** Adds the gauges to `registry`. */
export function exposeKeySets(registry: Registry<OpenMetricsContentType>, source: KeySetSource): void {
  const registers = [registry];
  const total = (name: string, help: string, aggregator: 'max' | 'min' | 'sum' = 'max', collect?: () => void) =>
    new Gauge({ name, help, aggregator, registers, ...(collect && { collect }) });
  const series = (name: string, help: string, labelNames: readonly string[] = [], aggregator: 'max' | 'min' = 'max') =>
    new Gauge({ name, help, labelNames: ['issuer', 'name', ...labelNames], aggregator, registers });

  // Registered first and so asked first: it sets all the others for this scrape.
  const usable = total('countersign_key_sets_usable', 'Active trusted issuers with a usable key set', 'min', collect);
  const totals = {
    unavailable: total('countersign_key_sets_unavailable', 'Active trusted issuers without a usable key set'),
    stale: total('countersign_key_sets_stale', 'Active trusted issuers whose newer keys were due and can not be had'),
    failing: total('countersign_key_sets_failing', 'Active trusted issuers whose last key fetch failed'),
    sharing: total('countersign_key_sets_sharing', 'Active trusted issuers refused because another has their key'),
    sharedKeys: total('countersign_shared_signing_keys', 'Keys that more than one active trusted issuer publishes'),
    oldestAgeSeconds: total('countersign_key_set_oldest_age_seconds', 'Age of the oldest fetched key set in use'),
    queued: total('countersign_key_refresh_queue', 'Trusted issuers that wait for a background fetch', 'sum'),
  };
  const age = series('countersign_key_set_age_seconds', "Time since an issuer's keys were loaded");
  const keys = series('countersign_key_set_keys', "Keys in an issuer's set", [], 'min');
  const failures = series(
    'countersign_key_set_failures',
    "Failed fetches of an issuer's keys since the last good one, and why the last of them failed",
    ['error'],
  );
  const nextTry = series(
    'countersign_key_set_next_try_seconds',
    'Time until an issuer may be asked for its keys',
    [],
    'min',
  );
  const shared = series('countersign_key_set_shared', '1 while another issuer publishes a key of this one');

  function collect(): void {
    const figures = source(MAX_ISSUERS);
    usable.set(figures.usable);
    for (const [name, gauge] of Object.entries(totals)) gauge.set(figures[name as keyof typeof totals]);
    for (const gauge of [age, keys, failures, nextTry, shared]) gauge.reset();
    for (const issuer of figures.issuers) {
      const labels = { issuer: issuer.id, name: issuer.name };
      if (issuer.ageSeconds !== null) age.set(labels, issuer.ageSeconds);
      keys.set(labels, issuer.keys);
      failures.set({ ...labels, error: issuer.lastError ?? 'none' }, issuer.failures);
      if (issuer.nextTrySeconds !== null) nextTry.set(labels, issuer.nextTrySeconds);
      shared.set(labels, issuer.isShared ? 1 : 0);
    }
  }
}
