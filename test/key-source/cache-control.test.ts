import { describe, expect, it } from 'vitest';
import { cacheControlMaxAge } from '../../src/key-source/cache-control.ts';

describe('max-age of a Cache-Control header', () => {
  it.each([
    ['max-age=3600', 3600],
    ['public, max-age=604800, immutable', 604_800],
    ['Public,MAX-AGE="60"', 60],
    ['max-age=0', 0],
    ['s-maxage=5, max-age=7', 7],
    [undefined, null],
    ['', null],
    ['no-store', null],
    ['s-maxage=5', null],
    ['max-age=-1', null],
    ['max-age=1.5', null],
    ['max-age=99999999999999999999', null],
    ['x-max-age=5', null],
  ])('of %j is %j', (header, seconds) => {
    expect(cacheControlMaxAge(header)).toBe(seconds);
  });
});
