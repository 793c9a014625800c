/** How a review can end, as a fixed list for metrics and logs, and what each end says about the cluster. */
import type { ReviewVerdict } from '../assertion/ports.ts';

/** Whose fault it is when the cluster could not be asked. */
const TROUBLES = [
  // The cluster's, or of the way to it.
  'unreachable',
  'tls_failed',
  'timeout',
  'credential_unknown',
  'forbidden',
  'throttled',
  'server_error',
  'unexpected_answer',
  // The operator's: it was not asked at all.
  'misconfigured',
] as const;

export const REVIEW_OUTCOMES = [
  'authenticated',
  'denied',
  ...TROUBLES,
  // Refused because of what was asked; the cluster is well.
  'request_refused',
  // Not asked, for the cluster's sake or for ours.
  'breaker_open',
  'overloaded',
  'stopping',
] as const;
export type ReviewOutcome = (typeof REVIEW_OUTCOMES)[number];

export type ReviewTrouble = (typeof TROUBLES)[number];

/** What the circuit breaker learns from an end. */
export type BreakerNews = 'answered' | 'failed' | 'nothing';

export type EndedReview = {
  readonly outcome: ReviewOutcome;
  readonly verdict: ReviewVerdict;
};

/** The trouble that an end shows; null for an answer and for what says nothing about the cluster. */
export function troubleOf(outcome: ReviewOutcome): ReviewTrouble | null {
  return TROUBLES.find((trouble) => trouble === outcome) ?? null;
}

export function breakerNewsOf(outcome: ReviewOutcome): BreakerNews {
  switch (outcome) {
    case 'authenticated':
    case 'denied':
    case 'request_refused':
      return 'answered';
    case 'misconfigured':
    case 'breaker_open':
    case 'overloaded':
    case 'stopping':
      return 'nothing';
    default:
      return 'failed';
  }
}
