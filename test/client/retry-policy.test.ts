import { describe, expect, it } from 'vitest';
import { cooldownSeconds, parseRetryAfter, retryDelayMilliseconds } from '../../src/client/retry-policy.ts';
import { NOW } from '../fixtures/settable-clock.ts';

describe('Retry-After', () => {
  it.each([
    ['absent', null, null],
    ['seconds', '7', 7],
    ['zero', '0', 0],
    ['more than we are willing to be silent', '86400', 900],
    ['more digits than a number has', '9'.repeat(400), 900],
    ['an HTTP-date ahead', 'Mon, 30 Nov 2026 12:00:05 GMT', 5],
    ['an HTTP-date that has passed', 'Mon, 30 Nov 2026 11:59:00 GMT', 0],
    ['an HTTP-date far ahead', 'Tue, 30 Nov 2027 12:00:00 GMT', 900],
    ['a date that no calendar has', 'Mon, 99 Nov 2026 12:00:05 GMT', null],
    ['a negative number', '-5', null],
    ['a fraction', '1.5', null],
    ['an ISO date', '2026-11-30T12:00:05Z', null],
    ['words', 'soon', null],
    ['empty', '', null],
  ])('that is %s is read as it should be', (_what, value, expected) => {
    expect(parseRetryAfter(value, NOW)).toBe(expected);
  });
});

describe('the wait before another attempt', () => {
  it.each([
    [1, null, 0, 125],
    [1, null, 0.5, 188],
    [2, null, 0, 250],
    [3, null, 0, 500],
    [40, null, 0, 2500],
    [1, 3, 0, 3125],
  ])('after %i failures, Retry-After %s and random %f is %i ms', (failures, retryAfter, random, expected) => {
    expect(retryDelayMilliseconds(failures, retryAfter, random)).toBe(expected);
  });

  it('is never shorter than Retry-After', () => {
    for (const random of [0, 0.25, 0.999]) expect(retryDelayMilliseconds(1, 2, random)).toBeGreaterThan(2000);
  });
});

describe('the pause after a failed series', () => {
  it.each([
    [1, null, 0, 1],
    [2, null, 0, 2],
    [3, null, 0.999, 8],
    [2000, null, 0, 30],
    [1, 120, 0, 121],
  ])('of %i series, Retry-After %s and random %f is %i s', (series, retryAfter, random, expected) => {
    expect(cooldownSeconds(series, retryAfter, random)).toBe(expected);
  });
});
