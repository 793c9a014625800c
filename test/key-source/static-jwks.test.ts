import { describe, expect, it } from 'vitest';
import { readStaticJwks } from '../../src/key-source/static-jwks.ts';
import { ecJwk, rsaJwk } from './public-jwk.ts';

describe('a pasted key set', () => {
  it('may hold several keys, for an overlap when the issuer rotates', async () => {
    const read = await readStaticJwks(JSON.stringify({ keys: [ecJwk('k1'), rsaJwk('k2')] }));
    expect(read.ok && read.value.keys.map((key) => key.kid)).toEqual(['k1', 'k2']);
  });

  it.each([
    ['nothing', null, 'no key set is stored (jwks)'],
    ['no JSON', '{"keys":[', 'the stored key set is not JSON'],
    ['a single key', JSON.stringify(ecJwk('k1')), 'not a JWK set: no array "keys"'],
    ['no key', '{"keys":[]}', 'the JWK set is empty'],
  ])('is refused when it is %s', async (_what, text, error) => {
    expect(await readStaticJwks(text)).toEqual({ ok: false, error });
  });
});
