/** What is remembered of verdicts, how long, and how many. */
import { describe, expect, it } from 'vitest';
import { createVerdictCache, MAX_CACHE_SECONDS, MAX_VERDICTS } from '../../src/kubernetes/verdict-cache.ts';
import { settableClock } from '../fixtures/settable-clock.ts';

const YES = {
  kind: 'authenticated',
  username: 'system:serviceaccount:ns:app',
  uid: null,
  podUid: null,
  nodeName: null,
  credentialId: null,
} as const;

describe('a verdict', () => {
  it.each([
    [0, 0],
    [-1, 0],
    [4, 4],
    [MAX_CACHE_SECONDS, 10],
    [3600, 10],
  ])('is kept for %i seconds as %i', (seconds, lifetime) => {
    const stopwatch = settableClock(0);
    const cache = createVerdictCache(seconds, stopwatch);
    cache.keep('a.b.c', YES);
    stopwatch.advance(lifetime - 1);
    expect(cache.find('a.b.c')).toBe(lifetime === 0 ? null : YES);
    stopwatch.advance(1);
    expect(cache.find('a.b.c')).toBeNull();
  });

  it('is that of its assertion alone', () => {
    const cache = createVerdictCache(10, settableClock(0));
    cache.keep('a.b.c', YES);
    expect(cache.find('a.b.C')).toBeNull();
  });

  it('goes when too many newer ones have come', () => {
    const cache = createVerdictCache(10, settableClock(0));
    for (let count = 0; count <= MAX_VERDICTS; count += 1) cache.keep(`assertion ${count}`, YES);
    expect(cache.find('assertion 0')).toBeNull();
    expect(cache.find('assertion 1')).toBe(YES);
    expect(cache.find(`assertion ${MAX_VERDICTS}`)).toBe(YES);
  });
});
