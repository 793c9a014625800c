/**
 * The port through which the verification asks clusters about their tokens. Each cluster has its own breaker and its
 * own places: one that is dead, or hangs, costs the others nothing.
 */
import type { OnlineReviews, ReviewVerdict } from '../assertion/ports.ts';
import type { Clock, Stopwatch } from '../clock.ts';
import type { ApiServerCredentials } from './api-server-credential.ts';
import { askCluster, type PostJson, type ReviewedIssuer } from './ask-cluster.ts';
import type { BreakerState } from './circuit-breaker.ts';
import type { EndedReview, ReviewOutcome } from './review-outcome.ts';
import { configurationOf, createReviewedCluster, type ReviewedCluster, type ReviewState } from './reviewed-cluster.ts';

export type ReviewLimits = {
  /** From the call of `review` to its verdict, the wait for a turn included. */
  readonly deadlineMs: number;
  /** Calls of one cluster at a time. */
  readonly inFlight: number;
  /** And those that wait for one of these places. */
  readonly waiting: number;
  readonly maxWaitMs: number;
};

/** A healthy API server answers in some 20 ms, so 16 places are hundreds of reviews a second. */
export const REVIEW_LIMITS: ReviewLimits = { deadlineMs: 3000, inFlight: 16, waiting: 64, maxWaitMs: 1000 };

/** A cluster that was not asked about for so long is forgotten: its row may be gone. */
export const IDLE_SECONDS = 3600;

export type ReviewEnd = {
  readonly issuer: { readonly id: string; readonly name: string };
  /** From a fixed list. */
  readonly outcome: ReviewOutcome;
  /** Null for an answer. Holds nothing of a token or a credential. */
  readonly detail: string | null;
  readonly seconds: number;
  /** A trouble that is not the one of the last time, or the end of it: worth a line in the log. */
  readonly isNews: boolean;
};

export type ReviewObserver = {
  reviewed(end: ReviewEnd): void;
  /** The breaker of an issuer's cluster is in another state than before. */
  breakerMoved(issuer: ReviewEnd['issuer'], state: BreakerState): void;
};

export type ReviewFigures = {
  /** Asked within the last hour. */
  readonly clusters: readonly (ReviewState & { readonly id: string; readonly name: string })[];
};

export type ReviewDependencies = {
  readonly postJson: PostJson;
  readonly credentials: ApiServerCredentials;
  readonly clock: Clock;
  readonly stopwatch: Stopwatch;
  /** 0 up to 1. */
  readonly jitter?: () => number;
  readonly observer: ReviewObserver;
  /** How long a yes is remembered; 0, the default, asks each time. At most 10. */
  readonly cacheSeconds?: number;
  readonly limits?: Partial<ReviewLimits>;
};

export type ClusterReviews = OnlineReviews & {
  /** Like the port, with as much of a row as it reads. */
  review(issuer: ReviewedIssuer, assertion: string): Promise<ReviewVerdict>;
  /** How an issuer's cluster stands; null when this process has not asked it lately. */
  state(issuerId: string): ReviewState | null;
  /** All clusters, those with trouble first. */
  figures(maxClusters?: number): ReviewFigures;
  /** Ends all calls; further ones are unavailable. */
  close(): void;
};

type Entry = { readonly cluster: ReviewedCluster; usedAt: number };

/** No cluster is known yet; nothing runs in the background. */
export function createOnlineReviews(dependencies: ReviewDependencies): ClusterReviews {
  const { clock, stopwatch, observer, cacheSeconds = 0, jitter = Math.random } = dependencies;
  const limits = { ...REVIEW_LIMITS, ...dependencies.limits };
  const entries = new Map<string, Entry>();
  const stop = new AbortController();

  function clusterOf(issuer: ReviewedIssuer): ReviewedCluster {
    const known = entries.get(issuer.id);
    if (known?.cluster.configuration === configurationOf(issuer)) {
      known.usedAt = stopwatch();
      known.cluster.name = issuer.name;
      return known.cluster;
    }
    forgetIdle();
    const { id, name } = issuer;
    const onMove = (state: BreakerState) => observer.breakerMoved({ id, name }, state);
    const cluster = createReviewedCluster(issuer, { limits, cacheSeconds, clock, stopwatch, jitter, onMove });
    entries.set(id, { cluster, usedAt: stopwatch() });
    return cluster;
  }

  function forgetIdle(): void {
    for (const [id, { usedAt }] of entries) {
      if (stopwatch() - usedAt >= IDLE_SECONDS) entries.delete(id);
    }
  }

  async function run(
    cluster: ReviewedCluster,
    issuer: ReviewedIssuer,
    assertion: string,
    startedAt: number,
  ): Promise<EndedReview & { readonly isNews: boolean }> {
    if (stop.signal.aborted) return { outcome: 'stopping', verdict: STOPPING, isNews: false };
    const kept = cluster.cache.find(assertion);
    if (kept !== null) return { outcome: 'authenticated', verdict: kept, isNews: false };
    const ended = await cluster.review(() => {
      const deadlineMs = Math.max(1, limits.deadlineMs - 1000 * (stopwatch() - startedAt));
      return askCluster(dependencies, issuer, assertion, { deadlineMs, signal: stop.signal });
    });
    if (ended.verdict.kind === 'authenticated') cluster.cache.keep(assertion, ended.verdict);
    return ended;
  }

  return {
    async review(issuer, assertion) {
      const startedAt = stopwatch();
      const { outcome, verdict, isNews } = await run(clusterOf(issuer), issuer, assertion, startedAt);
      observer.reviewed({
        issuer: { id: issuer.id, name: issuer.name },
        outcome,
        detail: verdict.kind === 'unavailable' ? verdict.detail : null,
        seconds: stopwatch() - startedAt,
        isNews,
      });
      return verdict;
    },
    state: (issuerId) => entries.get(issuerId)?.cluster.state() ?? null,
    figures(maxClusters = Number.POSITIVE_INFINITY) {
      forgetIdle();
      const clusters = [...entries].map(([id, { cluster }]) => ({ id, name: cluster.name, ...cluster.state() }));
      const isWell = (state: ReviewState) => Number(state.breaker === 'closed') + Number(state.lastErrorCode === null);
      return { clusters: clusters.sort((a, b) => isWell(a) - isWell(b)).slice(0, maxClusters) };
    },
    close() {
      stop.abort();
      for (const { cluster } of entries.values()) cluster.sendAway();
    },
  };
}

const STOPPING: ReviewVerdict = { kind: 'unavailable', detail: 'the server stops', retryAfterSeconds: 1 };
