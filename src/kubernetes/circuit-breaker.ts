/**
 * The circuit breaker of one cluster: after failures in a row nothing is asked for a while, then one request at a time
 * tries whether the cluster is back. Only what the cluster does moves it. It reads a stopwatch and does nothing else.
 */
import type { Stopwatch } from '../clock.ts';

export const BREAKER_STATES = ['closed', 'open', 'half_open'] as const;
export type BreakerState = (typeof BREAKER_STATES)[number];

/** Failures in a row that open it: one pod of the API server that goes away must not. */
export const FAILURES_TO_OPEN = 5;
const FIRST_PAUSE_SECONDS = 1;
/** Longest pause: an API server that is up again is noticed within it. It bounds `Retry-After` too, which a proxy made up. */
export const MAX_PAUSE_SECONDS = 30;
/** While another request tries: it ends within the deadline. */
const PROBE_RETRY_SECONDS = 1;

/** Leave to ask once. Exactly one of the three must be called; of more, the first one counts. */
export type Passage = {
  /** The cluster answered; a no to the token is an answer. */
  answered(): void;
  /** It did not, or said that it can't. `retryAfterSeconds`: its own word on when to ask again, null for none. */
  failed(retryAfterSeconds: number | null): void;
  /** The cluster was not asked after all: a failure of ours, which says nothing about it. */
  abandoned(): void;
};

export type CircuitBreaker = {
  /** Seconds until the next request may pass; 0 when one may now. */
  waitSeconds(): number;
  /** Null when nothing may be asked now. */
  enter(): Passage | null;
  readonly state: BreakerState;
  /** Failures in a row. */
  readonly failures: number;
};

/** `jitter`: 0 up to 1. `onMove` is told each new state. */
export function createCircuitBreaker(
  stopwatch: Stopwatch,
  jitter: () => number,
  onMove: (state: BreakerState) => void,
): CircuitBreaker {
  let state: BreakerState = 'closed';
  let failures = 0;
  let openings = 0;
  let notBefore = Number.NEGATIVE_INFINITY;

  function move(next: BreakerState): void {
    if (state === next) return;
    state = next;
    onMove(next);
  }

  function waitSeconds(): number {
    if (state === 'half_open') return PROBE_RETRY_SECONDS;
    return Math.max(0, notBefore - stopwatch());
  }

  function answered(): void {
    failures = 0;
    if (state === 'closed') return;
    openings = 0;
    notBefore = Number.NEGATIVE_INFINITY;
    move('closed');
  }

  function failed(isProbe: boolean, retryAfterSeconds: number | null): void {
    const isTrying = isProbe && state === 'half_open';
    // Requests that were under way when it opened end late: they are the same failure, not a further one.
    if (state !== 'closed' && !isTrying) return;
    failures += 1;
    const asked = Math.min(retryAfterSeconds ?? 0, MAX_PAUSE_SECONDS);
    if (isTrying || failures >= FAILURES_TO_OPEN) {
      openings += 1;
      notBefore = stopwatch() + Math.max(asked, pauseSeconds(openings, jitter()));
      move('open');
    } else if (asked > 0) {
      notBefore = Math.max(notBefore, stopwatch() + asked);
    }
  }

  function abandoned(isProbe: boolean): void {
    if (isProbe && state === 'half_open') move('open');
  }

  return {
    waitSeconds,
    enter() {
      if (waitSeconds() > 0) return null;
      const isProbe = state === 'open';
      if (isProbe) move('half_open');
      let isOver = false;
      const once = (settle: () => void) => {
        if (isOver) return;
        isOver = true;
        settle();
      };
      return {
        answered: () => once(answered),
        failed: (retryAfterSeconds) => once(() => failed(isProbe, retryAfterSeconds)),
        abandoned: () => once(() => abandoned(isProbe)),
      };
    },
    get state() {
      return state;
    },
    get failures() {
      return failures;
    },
  };
}

/** 1, 2, 4 … 30 seconds, of which `jitter` takes away up to a half: replicas must not try together. */
function pauseSeconds(openings: number, jitter: number): number {
  const full = Math.min(FIRST_PAUSE_SECONDS * 2 ** Math.min(openings - 1, 10), MAX_PAUSE_SECONDS);
  return full * (1 - jitter / 2);
}
