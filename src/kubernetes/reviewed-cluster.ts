/**
 * One cluster as this process asks it: its breaker, its places, its last words. One per row and configuration: a row
 * that is pointed at another API server begins anew, and what the old one still answers moves nothing.
 */
import type { ReviewVerdict } from '../assertion/ports.ts';
import type { Clock, Stopwatch } from '../clock.ts';
import { type AskedCluster, type ReviewedIssuer, reviewedAudiences } from './ask-cluster.ts';
import { type BoundedPlaces, createBoundedPlaces, type PlaceLimits } from './bounded-places.ts';
import { type BreakerState, type CircuitBreaker, createCircuitBreaker, MAX_PAUSE_SECONDS } from './circuit-breaker.ts';
import {
  breakerNewsOf,
  type EndedReview,
  type ReviewOutcome,
  type ReviewTrouble,
  troubleOf,
} from './review-outcome.ts';
import { createVerdictCache, type VerdictCache } from './verdict-cache.ts';

/** How a cluster stands, for admins and metrics. Times are seconds since the epoch. */
export type ReviewState = {
  readonly breaker: BreakerState;
  /** In a row. */
  readonly failures: number;
  /** Since the last answer; null after one. */
  readonly lastError: string | null;
  readonly lastErrorCode: ReviewTrouble | null;
  /** When the cluster last answered, whatever it said. */
  readonly lastAnsweredAt: number | null;
  /** When it is asked again at the earliest; null when it is asked now. */
  readonly nextProbeAt: number | null;
  readonly inFlight: number;
  readonly waiting: number;
};

export type ReviewedCluster = {
  readonly configuration: string;
  name: string;
  readonly cache: VerdictCache;
  /** Gives `ask` its turn, or says why it has none. `ask` must not reject for anything that the cluster does. */
  review(ask: () => Promise<AskedCluster>): Promise<EndedReview & { readonly isNews: boolean }>;
  state(): ReviewState;
  sendAway(): void;
};

export type ClusterOptions = {
  readonly limits: PlaceLimits;
  readonly cacheSeconds: number;
  readonly clock: Clock;
  readonly stopwatch: Stopwatch;
  readonly jitter: () => number;
  readonly onMove: (state: BreakerState) => void;
};

/** Everything that a verdict and the breaker depend on, as one text. */
export function configurationOf(issuer: ReviewedIssuer): string {
  return JSON.stringify([
    issuer.keySourceRevision,
    issuer.kubernetesApiServerUrl,
    issuer.kubernetesApiServerCaPem,
    issuer.caPem,
    issuer.kubernetesApiServerCredential,
    issuer.allowPrivateNetwork,
    reviewedAudiences(issuer),
  ]);
}

/** A cluster that was not asked yet. */
export function createReviewedCluster(issuer: ReviewedIssuer, options: ClusterOptions): ReviewedCluster {
  const { limits, cacheSeconds, clock, stopwatch, jitter, onMove } = options;
  const places: BoundedPlaces = createBoundedPlaces(limits);
  const breaker: CircuitBreaker = createCircuitBreaker(stopwatch, jitter, (state) => {
    // Those that wait would be refused one by one, each after its turn: they are told now.
    if (state === 'open') places.sendAway();
    onMove(state);
  });
  let trouble: ReviewTrouble | null = null;
  let lastError: string | null = null;
  let lastAnsweredAt: number | null = null;

  const refusedByBreaker = () =>
    notAsked(
      'breaker_open',
      `the API server is not asked after its last failure: ${lastError ?? 'none is known'}`,
      breaker.waitSeconds(),
    );

  async function review(ask: () => Promise<AskedCluster>): Promise<EndedReview & { readonly isNews: boolean }> {
    if (breaker.waitSeconds() > 0) return refusedByBreaker();
    if (!(await places.take())) {
      return breaker.waitSeconds() > 0
        ? refusedByBreaker()
        : notAsked('overloaded', 'too many reviews of this cluster are under way', 1);
    }
    try {
      const passage = breaker.enter();
      if (passage === null) return refusedByBreaker();
      try {
        const asked = await ask();
        const before = trouble;
        note(asked);
        const news = breakerNewsOf(asked.outcome);
        if (news === 'answered') passage.answered();
        else if (news === 'failed') passage.failed(asked.retryAfterSeconds);
        return { outcome: asked.outcome, verdict: waitingLong(asked), isNews: trouble !== before };
      } finally {
        // For a fault of ours, and for whatever says nothing of the cluster.
        passage.abandoned();
      }
    } finally {
      places.giveBack();
    }
  }

  function note({ outcome, verdict }: AskedCluster): void {
    if (breakerNewsOf(outcome) === 'answered') {
      trouble = null;
      lastError = null;
      lastAnsweredAt = clock();
    } else if (troubleOf(outcome) !== null && verdict.kind === 'unavailable') {
      trouble = troubleOf(outcome);
      lastError = verdict.detail;
    }
  }

  /** A caller that comes back before the breaker lets it through would come in vain. */
  function waitingLong({ verdict, retryAfterSeconds }: AskedCluster): ReviewVerdict {
    if (verdict.kind !== 'unavailable') return verdict;
    const asked = Math.min(retryAfterSeconds ?? 0, MAX_PAUSE_SECONDS);
    const seconds = Math.max(verdict.retryAfterSeconds, asked, breaker.waitSeconds());
    return { ...verdict, retryAfterSeconds: Math.ceil(seconds) };
  }

  return {
    configuration: configurationOf(issuer),
    name: issuer.name,
    cache: createVerdictCache(cacheSeconds, stopwatch),
    review,
    state() {
      const wait = breaker.waitSeconds();
      return {
        breaker: breaker.state,
        failures: breaker.failures,
        lastError,
        lastErrorCode: trouble,
        lastAnsweredAt,
        nextProbeAt: wait > 0 ? clock() + Math.ceil(wait) : null,
        inFlight: places.inFlight,
        waiting: places.waiting,
      };
    },
    sendAway: places.sendAway,
  };
}

function notAsked(outcome: ReviewOutcome, detail: string, retryAfterSeconds: number) {
  const verdict = {
    kind: 'unavailable',
    detail,
    retryAfterSeconds: Math.max(1, Math.ceil(retryAfterSeconds)),
  } as const;
  return { outcome, verdict, isNews: false };
}
