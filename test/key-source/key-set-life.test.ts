import { describe, expect, it } from 'vitest';
import {
  backgroundBackoffSeconds,
  backoffSeconds,
  MAX_BACKOFF_WITHOUT_KEYS_SECONDS,
  refreshDelaySeconds,
} from '../../src/key-source/key-set-life.ts';

describe('the time until a set is refreshed', () => {
  it.each([
    [null, 3600],
    [0, 60],
    [59, 60],
    [61, 61],
    [3599, 3599],
    [604_800, 3600],
  ])('for max-age %j is %i seconds', (maxAge, seconds) => {
    expect(refreshDelaySeconds(maxAge, 0)).toBe(seconds);
  });

  it.each([
    ['the hour', null, 3600, 3240],
    ['max-age', 600, 600, 540],
    ['never the least of a minute', 60, 60, 60],
    ['of little more than that', 63, 63, 60],
  ])('is shortened by chance by a tenth at most, and never lengthened: %s', (_what, maxAge, longest, shortest) => {
    const delays = Array.from({ length: 100 }, (_, step) => refreshDelaySeconds(maxAge, step / 100));
    expect(Math.max(...delays)).toBe(longest);
    expect(Math.min(...delays)).toBeGreaterThanOrEqual(shortest);
    expect(refreshDelaySeconds(maxAge, 1)).toBe(shortest);
  });

  it('spreads 10,000 sets that were loaded together over six minutes', () => {
    const perSecond = new Map<number, number>();
    for (let index = 0; index < 10_000; index += 1) {
      // As even as chance is: the golden ratio.
      const delay = refreshDelaySeconds(3600, (index * 0.618_033_988_75) % 1);
      perSecond.set(delay, (perSecond.get(delay) ?? 0) + 1);
    }
    expect(perSecond.size).toBe(361);
    expect(Math.max(...perSecond.values())).toBeLessThan(40);
  });
});

describe('the pause after failures', () => {
  it.each([
    [1, 2],
    [2, 4],
    [3, 8],
    [4, 16],
    [5, 32],
    [6, 60],
    [1000, 60],
  ])('after %i in a row is %i seconds, of which jitter takes at most half', (failures, seconds) => {
    expect(backoffSeconds(failures, 0, 60)).toBe(seconds);
    expect(backoffSeconds(failures, 0.5, 60)).toBe(Math.round(seconds * 0.75));
    expect(backoffSeconds(failures, 1, 60)).toBe(seconds / 2);
  });

  it('ROT-11: is at most five seconds while there is no set at all', () => {
    expect([1, 2, 3, 9].map((failures) => backoffSeconds(failures, 0, MAX_BACKOFF_WITHOUT_KEYS_SECONDS))).toEqual([
      2, 4, 5, 5,
    ]);
  });
});

describe('the pause of the background after failures', () => {
  it.each([
    [1, 60],
    [2, 120],
    [3, 240],
    [4, 300],
    [1000, 300],
  ])('after %i in a row is %i seconds, of which jitter takes at most half', (failures, seconds) => {
    expect(backgroundBackoffSeconds(failures, 0)).toBe(seconds);
    expect(backgroundBackoffSeconds(failures, 1)).toBe(seconds / 2);
  });
});
