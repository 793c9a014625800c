/** When a cluster is asked, and when it is left alone. */
import { beforeEach, describe, expect, it } from 'vitest';
import { type CircuitBreaker, createCircuitBreaker, FAILURES_TO_OPEN } from '../../src/kubernetes/circuit-breaker.ts';
import { type SettableClock, settableClock } from '../fixtures/settable-clock.ts';

let stopwatch: SettableClock;
let breaker: CircuitBreaker;
let moves: string[];
let jitter = 0;
beforeEach(() => {
  stopwatch = settableClock(0);
  moves = [];
  jitter = 0;
  breaker = createCircuitBreaker(
    stopwatch,
    () => jitter,
    (state) => moves.push(state),
  );
});

function enter() {
  const passage = breaker.enter();
  if (passage === null) throw new Error('the breaker lets nothing through');
  return passage;
}
function fail(times: number, retryAfterSeconds: number | null = null) {
  for (let count = 0; count < times; count += 1) enter().failed(retryAfterSeconds);
}

describe('closed', () => {
  it('lets everything through, as many as come', () => {
    enter();
    enter();
    expect(breaker.waitSeconds()).toBe(0);
    expect(moves).toEqual([]);
  });

  it('opens after failures in a row', () => {
    fail(FAILURES_TO_OPEN - 1);
    expect(breaker.state).toBe('closed');
    fail(1);
    expect(moves).toEqual(['open']);
    expect(breaker.enter()).toBeNull();
  });

  it('does not open when an answer is among the failures', () => {
    fail(FAILURES_TO_OPEN - 1);
    enter().answered();
    fail(FAILURES_TO_OPEN - 1);
    expect(moves).toEqual([]);
  });

  it('is not moved by what was not asked', () => {
    for (let count = 0; count < 20; count += 1) enter().abandoned();
    fail(FAILURES_TO_OPEN - 1);
    enter().abandoned();
    expect(breaker.failures).toBe(FAILURES_TO_OPEN - 1);
    fail(1);
    expect(moves).toEqual(['open']);
  });

  it('waits as long as the cluster asks, and then lets all through again', () => {
    const other = enter();
    fail(1, 7);
    expect(breaker.enter()).toBeNull();
    other.answered();
    expect(breaker.waitSeconds()).toBe(7);
    stopwatch.advance(7);
    enter();
    enter();
    expect(moves).toEqual([]);
  });

  it('waits no longer than 30 seconds, whatever it is asked', () => {
    fail(1, 86_400);
    expect(breaker.waitSeconds()).toBe(30);
  });

  it('counts each passage once', () => {
    const passage = enter();
    passage.failed(null);
    passage.failed(null);
    passage.answered();
    passage.abandoned();
    expect(breaker.failures).toBe(1);
  });
});

describe('open', () => {
  it('lets one request at a time try after the pause', () => {
    fail(FAILURES_TO_OPEN);
    expect(breaker.waitSeconds()).toBe(1);
    stopwatch.advance(1);
    enter();
    expect(breaker.state).toBe('half_open');
    expect(breaker.enter()).toBeNull();
    expect(breaker.waitSeconds()).toBe(1);
  });

  it('closes when the cluster answers', () => {
    fail(FAILURES_TO_OPEN);
    stopwatch.advance(1);
    enter().answered();
    expect(moves).toEqual(['open', 'half_open', 'closed']);
    expect(breaker.failures).toBe(0);
    enter();
    enter();
  });

  it('pauses twice as long after each try that fails, up to 30 seconds', () => {
    fail(FAILURES_TO_OPEN);
    const pauses: number[] = [];
    for (let count = 0; count < 7; count += 1) {
      pauses.push(breaker.waitSeconds());
      stopwatch.advance(breaker.waitSeconds());
      fail(1);
    }
    expect(pauses).toEqual([1, 2, 4, 8, 16, 30, 30]);
    expect(breaker.failures).toBe(FAILURES_TO_OPEN + 7);
  });

  it('begins with the shortest pause again after an answer', () => {
    fail(FAILURES_TO_OPEN);
    stopwatch.advance(1);
    fail(1);
    stopwatch.advance(2);
    enter().answered();
    fail(FAILURES_TO_OPEN);
    expect(breaker.waitSeconds()).toBe(1);
  });

  it('is paused by chance for a shorter time, down to a half', () => {
    jitter = 1;
    fail(FAILURES_TO_OPEN);
    expect(breaker.waitSeconds()).toBe(0.5);
  });

  it('pauses at least as long as the cluster asks', () => {
    fail(FAILURES_TO_OPEN - 1);
    fail(1, 12);
    expect(breaker.waitSeconds()).toBe(12);
  });

  it('lets the next one try when the try was not made', () => {
    fail(FAILURES_TO_OPEN);
    stopwatch.advance(1);
    enter().abandoned();
    expect(breaker.state).toBe('open');
    enter().answered();
    expect(breaker.state).toBe('closed');
  });

  it('takes late failures of before as the same failure', () => {
    const late = Array.from({ length: 16 }, enter);
    for (const passage of late.slice(0, FAILURES_TO_OPEN)) passage.failed(null);
    for (const passage of late.slice(FAILURES_TO_OPEN)) passage.failed(20);
    expect(breaker.failures).toBe(FAILURES_TO_OPEN);
    expect(breaker.waitSeconds()).toBe(1);
  });

  it('takes a late answer of before as an answer', () => {
    const late = enter();
    fail(FAILURES_TO_OPEN);
    late.answered();
    expect(moves).toEqual(['open', 'closed']);
  });
});
