/** The contract of our signing keys at rest. */
import { describe, expect, it } from 'vitest';
import type { SigningKey } from '../../src/issuance/signing-key.ts';
import { NOW } from '../fixtures/settable-clock.ts';
import type { CurrentStores } from './conformance.ts';

const KEY: SigningKey = {
  kid: 'kid-1',
  alg: 'ES256',
  publicJwk: { kty: 'EC', crv: 'P-256', x: 'xxxx', y: 'yyyy' },
  privateKeyDer: new Uint8Array([1, 2, 3, 250, 0, 7]),
  createdAt: NOW,
  activeFrom: NOW,
  activeUntil: null,
  removeAt: null,
};
const RSA_KEY: SigningKey = { ...KEY, kid: 'kid-rsa', alg: 'RS256', publicJwk: { kty: 'RSA', n: 'n', e: 'AQAB' } };
const NEXT: SigningKey = { ...KEY, kid: 'kid-2', createdAt: NOW + 100, activeFrom: NOW + 700 };
const END = { activeUntil: NOW + 700, removeAt: NOW + 4360 };
const ENDED = { ...KEY, ...END };

export function signingKeyContract(stores: CurrentStores): void {
  const storeKeys = async (...keys: SigningKey[]) => {
    for (const key of keys) await stores().signingKeys.insertFirst(key);
    return stores().signingKeys;
  };

  describe('keep signing keys and', () => {
    it('give a key back exactly, private part included', async () => {
      const signingKeys = await storeKeys(KEY, RSA_KEY);
      expect(await signingKeys.list(NOW)).toEqual([KEY, RSA_KEY]);
    });

    it('store the first key of an algorithm only, also when two replicas start at once', async () => {
      const { signingKeys } = stores();
      const stored = await Promise.all([signingKeys.insertFirst(KEY), signingKeys.insertFirst(NEXT)]);
      expect(stored).toEqual([true, false]);
      expect(await signingKeys.insertFirst(RSA_KEY)).toBe(true);
      expect(await signingKeys.list(NOW)).toEqual([KEY, RSA_KEY]);
    });

    it('end the current key of the algorithm when another is to follow, and no other', async () => {
      const signingKeys = await storeKeys(KEY, RSA_KEY);
      await signingKeys.rotate(NEXT, END, false);
      expect(await signingKeys.list(NOW + 100)).toEqual([ENDED, RSA_KEY, NEXT]);
    });

    it('leave alone in a later rotation what has its end already', async () => {
      const signingKeys = await storeKeys(KEY);
      await signingKeys.rotate(NEXT, END, false);
      const third = { ...KEY, kid: 'kid-3', createdAt: NOW + 200, activeFrom: NOW + 800 };
      const thirdEnd = { activeUntil: NOW + 800, removeAt: NOW + 4460 };
      await signingKeys.rotate(third, thirdEnd, false);
      expect(await signingKeys.list(NOW + 200)).toEqual([ENDED, { ...NEXT, ...thirdEnd }, third]);
    });

    it('end every published key of the algorithm after a compromise, and never later than before', async () => {
      const signingKeys = await storeKeys(KEY, RSA_KEY);
      await signingKeys.rotate(NEXT, END, false);
      const fresh = { ...KEY, kid: 'kid-3', createdAt: NOW + 1000, activeFrom: NOW + 1000 };
      await signingKeys.rotate(fresh, { activeUntil: NOW + 1000, removeAt: NOW + 1000 }, true);
      expect(await signingKeys.list(NOW + 999)).toEqual([
        { ...ENDED, removeAt: NOW + 1000 },
        RSA_KEY,
        { ...NEXT, activeUntil: NOW + 1000, removeAt: NOW + 1000 },
        fresh,
      ]);
      expect(await signingKeys.list(NOW + 1000)).toEqual([RSA_KEY, fresh]);
    });

    it('list a key until it is removed', async () => {
      const signingKeys = await storeKeys(KEY);
      await signingKeys.rotate(NEXT, END, false);
      expect(await signingKeys.list(END.removeAt - 1)).toEqual([ENDED, NEXT]);
      expect(await signingKeys.list(END.removeAt)).toEqual([NEXT]);
    });

    it('change nothing when the next key cannot be stored', async () => {
      const signingKeys = await storeKeys(KEY);
      await expect(signingKeys.rotate({ ...NEXT, kid: KEY.kid }, END, false)).rejects.toThrow();
      expect(await signingKeys.list(NOW)).toEqual([KEY]);
    });
  });
}
