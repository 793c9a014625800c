import { describe, expect, it } from 'vitest';
import type { ClientSecret } from '../../src/issuance/client.ts';
import {
  isClientSecretValid,
  newClientSecret,
  rotatedSecrets,
  SECRET_OVERLAP_SECONDS,
} from '../../src/issuance/client-secret.ts';

const NOW = 1_796_040_000;
const CLIENT = '11111111-1111-4111-8111-111111111111';

describe('a client secret', () => {
  it('is 32 random bytes in base64url, and only a salted hash of it is stored', () => {
    const { secret, stored } = newClientSecret(CLIENT, NOW);
    expect(secret).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(stored).toMatchObject({ clientRowId: CLIENT, createdAt: NOW, expiresAt: null });
    expect(stored.salt).toHaveLength(16);
    expect(stored.hash).toHaveLength(32);
    expect(JSON.stringify(stored)).not.toContain(secret);
  });

  it('hashes differently for every client, so equal hashes never show equal secrets', () => {
    const first = newClientSecret(CLIENT, NOW);
    const second = newClientSecret(CLIENT, NOW);
    expect(first.secret).not.toBe(second.secret);
    expect(first.stored.salt).not.toEqual(second.stored.salt);
  });

  const { secret, stored } = newClientSecret(CLIENT, NOW);
  const other = newClientSecret(CLIENT, NOW + 1);
  const ending = { ...stored, expiresAt: NOW + 10 };

  it.each<[string, string, readonly ClientSecret[], number, boolean]>([
    ['accepts the current secret', secret, [stored], NOW, true],
    ['accepts the replaced secret during the overlap', secret, [ending, other.stored], NOW + 9, true],
    ['accepts the replacing secret during the overlap', other.secret, [ending, other.stored], NOW + 9, true],
    ['refuses the replaced secret once the overlap is over', secret, [ending, other.stored], NOW + 10, false],
    ['refuses another secret', other.secret, [stored], NOW, false],
    ['refuses the secret with its last character gone', secret.slice(0, -1), [stored], NOW, false],
    ['refuses an empty secret', '', [stored], NOW, false],
    ['refuses everything for a client without secrets', secret, [], NOW, false],
    ['refuses a stored hash of the wrong length', secret, [{ ...stored, hash: new Uint8Array(8) }], NOW, false],
  ])('%s', (_title, presented, secrets, now, expected) => {
    expect(isClientSecretValid(presented, secrets, now)).toBe(expected);
  });
});

describe('rotating a client secret', () => {
  const first = newClientSecret(CLIENT, NOW).stored;
  const second = newClientSecret(CLIENT, NOW + 100).stored;
  const third = newClientSecret(CLIENT, NOW + 200).stored;

  it('adds the first one', () => {
    expect(rotatedSecrets([], first, NOW)).toEqual([first]);
  });

  it('keeps the old one for the overlap', () => {
    expect(rotatedSecrets([first], second, NOW + 100)).toEqual([
      { ...first, expiresAt: NOW + 100 + SECRET_OVERLAP_SECONDS },
      second,
    ]);
  });

  it('drops the oldest at once when rotated twice, so that a leaked secret can be ended', () => {
    const twice = rotatedSecrets(rotatedSecrets([first], second, NOW + 100), third, NOW + 200);
    expect(twice).toEqual([{ ...second, expiresAt: NOW + 200 + SECRET_OVERLAP_SECONDS }, third]);
  });

  it('does not revive an expired one', () => {
    expect(rotatedSecrets([{ ...first, expiresAt: NOW + 50 }], second, NOW + 100)).toEqual([second]);
  });

  it('never lengthens the life of one that is already ending', () => {
    expect(rotatedSecrets([{ ...first, expiresAt: NOW + 150 }], second, NOW + 100)).toEqual([
      { ...first, expiresAt: NOW + 150 },
      second,
    ]);
  });
});
