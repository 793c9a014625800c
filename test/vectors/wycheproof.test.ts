/**
 * Project Wycheproof's JWS and JWK vectors against our parser, key sets and signature check. Where we refuse what a
 * vector calls valid, the reason stands here.
 */
import type { JsonWebKey } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { decodeCompactJws } from '../../src/assertion/compact-jws.ts';
import { isSignatureValid } from '../../src/assertion/jws-algorithm.ts';
import { selectKeys } from '../../src/assertion/key-selection.ts';
import { readJwkSet } from '../../src/assertion/key-set.ts';
import { sharedJson } from '../fixtures/shared-material.ts';

type Vector = {
  readonly tcId: number;
  readonly comment: string;
  readonly jws: string;
  readonly result: 'valid' | 'invalid';
};
type Group = { readonly public?: JsonWebKey; readonly private?: JsonWebKey; readonly tests: readonly Vector[] };
type File = { readonly testGroups: readonly Group[] };

/** Valid vectors that we refuse, with the reason. HMAC groups are handled by their key type. */
const REFUSED_JWS: Readonly<Record<number, string>> = {
  259: 'an empty payload: an assertion has claims',
  264: 'an empty payload: an assertion has claims',
  268: 'an empty payload: an assertion has claims',
  272: 'an empty payload: an assertion has claims',
  320: 'an empty payload: an assertion has claims',
  325: 'an empty payload: an assertion has claims',

  346: 'the JWK says ES521, which is no algorithm',
  347: 'the JWK says ES521, which is no algorithm',
  350: 'the JWK is for another algorithm than the header',
  351: 'the JWK is for another algorithm than the header',
  372: 'characters outside base64url',
  373: 'characters outside base64url',
};
const REFUSED_JWK: Readonly<Record<number, string>> = {};

const PUBLIC_MEMBERS = ['kty', 'crv', 'n', 'e', 'x', 'y', 'kid', 'alg', 'use', 'key_ops'];

async function verifies(jws: string, keys: readonly JsonWebKey[]): Promise<boolean> {
  const published = keys.map((key) =>
    Object.fromEntries(Object.entries(key).filter(([name]) => PUBLIC_MEMBERS.includes(name))),
  );
  const parsed = decodeCompactJws(jws);
  const set = await readJwkSet({ keys: published });
  if (!parsed.ok || !set.ok) return false;
  const keySet = { ...set.value, loadedAt: 0, origin: 'static', stale: false } as const;
  const selected = selectKeys(parsed.value, keySet, { requireKid: false });
  const { alg, signingInput, signature } = parsed.value;
  return selected.ok && selected.value.some(({ key }) => isSignatureValid(alg, key, signingInput, signature));
}

/** Symmetric algorithms are never accepted, whatever the key. */
function isHmac(jws: string): boolean {
  return /"alg"\s*:\s*"HS/.test(Buffer.from(jws.split('.')[0] ?? '', 'base64').toString());
}

function keysOf(group: Group): readonly JsonWebKey[] {
  const key = group.public ?? group.private ?? {};
  return 'keys' in key && Array.isArray(key.keys) ? (key.keys as JsonWebKey[]) : [key];
}

describe.each([
  ['json_web_signature_test.json', REFUSED_JWS],
  ['json_web_key_test.json', REFUSED_JWK],
])('Wycheproof %s', (name, refused) => {
  const file = sharedJson(`vectors/${name}`) as File | null;
  it.runIf(file === null)('is not beside this checkout: not run', () => {
    expect(file).toBeNull();
  });
  const cases = (file?.testGroups ?? []).flatMap((group) =>
    group.tests.map((vector) => ({ ...vector, keys: keysOf(group) })),
  );
  it.runIf(file !== null).each(cases)('$tcId $comment ($result)', async ({ tcId, jws, result, keys }) => {
    const isSymmetric = isHmac(jws);
    const expected = result === 'valid' && refused[tcId] === undefined && !isSymmetric;
    expect(await verifies(jws, keys)).toBe(expected);
  });
});
