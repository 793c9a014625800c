import { describe, expect, it } from 'vitest';
import {
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
    expect(refreshDelaySeconds(maxAge)).toBe(seconds);
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
