/** The contract of replay claims. */
import { describe, expect, it } from 'vitest';
import type { ReplayClaim } from '../../src/assertion/ports.ts';
import { NOW } from '../fixtures/settable-clock.ts';
import type { CurrentStores } from './conformance.ts';

const CLAIM: ReplayClaim = {
  key: new Uint8Array(32).fill(7),
  expiresAt: NOW + 3660,
  claimedAt: NOW,
  requestId: 'request-1',
};
const keyOf = (number: number) => new Uint8Array(32).fill(number);

export function replayContract(stores: CurrentStores): void {
  describe('keep replay claims and', () => {
    it('RPL-07: answer null to the first claim of a key and the first claim to every other', async () => {
      const { replayStore } = stores();
      expect(await replayStore.claim(CLAIM)).toBeNull();
      const later = { ...CLAIM, claimedAt: NOW + 5, expiresAt: NOW + 9000, requestId: 'request-2' };
      expect(await replayStore.claim(later)).toEqual(CLAIM);
      expect(await replayStore.claim(later)).toEqual(CLAIM);
      expect(await replayStore.find(CLAIM.key)).toEqual(CLAIM);
    });

    it('keep keys apart that differ in one bit, and take no note of a look', async () => {
      const { replayStore } = stores();
      const near = Uint8Array.from(CLAIM.key);
      near[31] = 6;
      expect(await replayStore.find(near)).toBeNull();
      await replayStore.claim(CLAIM);
      expect(await replayStore.find(near)).toBeNull();
      expect(await replayStore.claim({ ...CLAIM, key: near })).toBeNull();
    });

    it('read a key that is a view into a larger buffer by its own bytes', async () => {
      const { replayStore } = stores();
      const view = new Uint8Array(96).fill(9).subarray(32, 64);
      expect(await replayStore.claim({ ...CLAIM, key: view })).toBeNull();
      expect(await replayStore.find(keyOf(9))).not.toBeNull();
    });

    it.each([0, 31, 33, 1000])('RPL-09: refuse a key of %i bytes: every row has one size', async (length) => {
      const { replayStore } = stores();
      await expect(replayStore.claim({ ...CLAIM, key: new Uint8Array(length) })).rejects.toThrow();
      expect(await replayStore.claim(CLAIM)).toBeNull();
    });

    it('RPL-03: let exactly one of twenty claims at once be the first', async () => {
      const claims = Array.from({ length: 20 }, (_, index) => ({ ...CLAIM, requestId: `request-${index}` }));
      const answers = await Promise.all(claims.map((claim) => stores().replayStore.claim(claim)));
      expect(answers.filter((answer) => answer === null)).toHaveLength(1);
      const winner = claims[answers.indexOf(null)];
      expect(answers.filter((answer) => answer !== null)).toEqual(Array(19).fill(winner));
    });

    it('give each of a thousand distinct claims at once its own answer', async () => {
      const claims = Array.from({ length: 1000 }, (_, index) => {
        const key = new Uint8Array(32);
        new DataView(key.buffer).setUint32(0, index % 500);
        return { ...CLAIM, key, requestId: String(index) };
      });
      const answers = await Promise.all(claims.map((claim) => stores().replayStore.claim(claim)));
      expect(answers.slice(0, 500)).toEqual(Array(500).fill(null));
      expect(answers.slice(500)).toEqual(claims.slice(0, 500));
    });

    it('count a claim that has expired for as long as it is there', async () => {
      const { replayStore } = stores();
      await replayStore.claim({ ...CLAIM, expiresAt: NOW - 1 });
      expect(await replayStore.claim(CLAIM)).toEqual({ ...CLAIM, expiresAt: NOW - 1 });
    });

    it('RPL-10: purge no more than asked for, the oldest first, and nothing before it has expired', async () => {
      const { replayStore } = stores();
      for (let age = 0; age < 5; age += 1) {
        await replayStore.claim({ ...CLAIM, key: keyOf(age), expiresAt: NOW - age });
      }
      expect(await replayStore.purge(NOW, 3)).toBe(3);
      expect(await replayStore.find(keyOf(4))).toBeNull();
      expect(await replayStore.find(keyOf(1))).not.toBeNull();
      expect(await replayStore.purge(NOW, 3)).toBe(1);
      expect(await replayStore.purge(NOW, 3)).toBe(0);
      expect(await replayStore.find(keyOf(0))).not.toBeNull();
      expect(await replayStore.purge(NOW + 1, 3)).toBe(1);
    });
  });
}
