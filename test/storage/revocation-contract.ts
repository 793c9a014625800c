/** The contract of the deny list of access tokens. */
import { describe, expect, it } from 'vitest';
import { NOW } from '../fixtures/settable-clock.ts';
import type { CurrentStores } from './conformance.ts';

const TOKEN = { jti: 'token-1', expiresAt: NOW + 900, revokedAt: NOW };

export function revocationContract(stores: CurrentStores): void {
  describe('keep revoked tokens and', () => {
    it('know what was revoked, and nothing else', async () => {
      const { revokedTokens } = stores();
      expect(await revokedTokens.isRevoked(TOKEN.jti)).toBe(false);
      await revokedTokens.revoke(TOKEN);
      expect(await revokedTokens.isRevoked(TOKEN.jti)).toBe(true);
      expect(await revokedTokens.isRevoked('token-2')).toBe(false);
      expect(await revokedTokens.isRevoked('Token-1')).toBe(false);
    });

    it('take a second revocation, also at the same time, as done', async () => {
      const { revokedTokens } = stores();
      await Promise.all([revokedTokens.revoke(TOKEN), revokedTokens.revoke(TOKEN)]);
      await revokedTokens.revoke({ ...TOKEN, revokedAt: NOW + 5 });
      expect(await revokedTokens.isRevoked(TOKEN.jti)).toBe(true);
    });

    it('purge no more than asked for, and nothing whose token may still live', async () => {
      const { revokedTokens } = stores();
      for (const jti of ['a', 'b', 'c']) await revokedTokens.revoke({ ...TOKEN, jti, expiresAt: NOW - 1 });
      await revokedTokens.revoke({ ...TOKEN, expiresAt: NOW });
      expect(await revokedTokens.purge(NOW, 2)).toBe(2);
      expect(await revokedTokens.purge(NOW, 2)).toBe(1);
      expect(await revokedTokens.purge(NOW, 2)).toBe(0);
      expect(await revokedTokens.isRevoked(TOKEN.jti)).toBe(true);
    });
  });
}
