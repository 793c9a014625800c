import { describe, expect, it } from 'vitest';
import {
  JWKS_MAX_AGE_SECONDS,
  MAX_ACCESS_TOKEN_TTL_SECONDS,
  planRotation,
  publishedKeys,
  type SigningKey,
  signingKeyAt,
  signingKeyState,
} from '../../src/issuance/signing-key.ts';
import { NOW } from '../fixtures/settable-clock.ts';

const key = (kid: string, changes: Partial<SigningKey> = {}): SigningKey => ({
  kid,
  alg: 'ES256',
  publicJwk: {},
  privateKeyDer: new Uint8Array(),
  createdAt: NOW,
  activeFrom: NOW,
  activeUntil: null,
  removeAt: null,
  ...changes,
});

describe('a planned rotation', () => {
  const plan = planRotation(NOW, false);
  const old = key('old', {
    activeFrom: NOW - 86_400,
    activeUntil: plan.currentActiveUntil,
    removeAt: plan.currentRemoveAt,
  });
  const next = key('new', { activeFrom: plan.activeFrom });

  it.each([
    ['right after it', 0, 'old', ['old', 'new'], 'next'],
    ['after one cache life', JWKS_MAX_AGE_SECONDS, 'old', ['old', 'new'], 'next'],
    ['when the new key takes over', plan.activeFrom - NOW, 'new', ['old', 'new'], 'active'],
    [
      'while tokens of the old key live',
      plan.activeFrom - NOW + MAX_ACCESS_TOKEN_TTL_SECONDS,
      'new',
      ['old', 'new'],
      'active',
    ],
    ['when the last of them has expired', plan.currentRemoveAt - NOW, 'new', ['new'], 'active'],
  ] as const)('%s', (_name, seconds, signs, published, state) => {
    const now = NOW + seconds;
    expect(signingKeyAt([old, next], 'ES256', now)?.kid).toBe(signs);
    expect(publishedKeys([old, next], now).map(({ kid }) => kid)).toEqual(published);
    expect(signingKeyState(next, now)).toBe(state);
  });

  it('publishes the new key for longer than a cache may live before it signs', () => {
    expect(plan.activeFrom - NOW).toBeGreaterThan(JWKS_MAX_AGE_SECONDS);
  });
});

it('after a compromise the new key signs at once and the old one is gone at once', () => {
  const plan = planRotation(NOW, true);
  const old = key('old', {
    activeFrom: NOW - 86_400,
    activeUntil: plan.currentActiveUntil,
    removeAt: plan.currentRemoveAt,
  });
  const next = key('new', { activeFrom: plan.activeFrom });
  expect(signingKeyAt([old, next], 'ES256', NOW)?.kid).toBe('new');
  expect(publishedKeys([old, next], NOW).map(({ kid }) => kid)).toEqual(['new']);
});

it('an algorithm has its own keys', () => {
  expect(signingKeyAt([key('es')], 'RS256', NOW)).toBeUndefined();
});
