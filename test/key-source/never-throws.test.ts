/** Whatever JSON an issuer serves, its readers answer; they never throw. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readJwkSet } from '../../src/assertion/key-set.ts';
import { describeDiscoveryFailure, readDiscoveryDocument } from '../../src/key-source/discovery-document.ts';

const json = fc.jsonValue({ maxDepth: 3 });
const hostile = fc.oneof(
  json,
  fc.constant({ toString: 1, valueOf: 1 }),
  fc.constant('__proto__'),
  fc.constant('constructor'),
);
const member = <T>(known: readonly T[]) => fc.oneof(fc.constantFrom(...known), hostile);
const jwk = fc.record(
  {
    kty: member(['RSA', 'EC', 'OKP', 'oct', 'AKP']),
    crv: member(['P-256', 'P-384', 'Ed25519', 'X25519']),
    kid: member(['a', '']),
    use: member(['sig', 'enc']),
    alg: member(['RS256', 'ES256', 'EdDSA', 'none']),
    key_ops: member([['verify'], ['sign']]),
    n: member(['AQAB', 'x'.repeat(342)]),
    e: member(['AQAB', 'AQ', '']),
    x: member(['A'.repeat(43)]),
    y: member(['A'.repeat(43)]),
  },
  { requiredKeys: [] },
);

describe('the reader of key sets', () => {
  it('answers any document', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(json, fc.record({ keys: fc.oneof(json, fc.array(fc.oneof(jwk, hostile))) })),
        async (set) => {
          const read = await readJwkSet(set);
          expect(read.ok ? read.value.keys.length : read.error.length).toBeGreaterThan(0);
        },
      ),
      { numRuns: 400 },
    );
  });
});

describe('the reader of discovery documents', () => {
  it('answers any document', () => {
    const document = fc.record(
      {
        issuer: member(['https://issuer.test']),
        jwks_uri: member(['https://issuer.test/keys', 'http://issuer.test/keys', '/keys']),
        kind: member(['Status']),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.oneof(json, document), (value) => {
        const read = readDiscoveryDocument(
          value,
          { issuerUrl: 'https://issuer.test', additionalIssuerUrls: [] },
          'https://issuer.test/doc',
        );
        expect(read.ok ? read.value.issuer : describeDiscoveryFailure(read.error)).toMatch(/^[^\n]+$/);
      }),
      { numRuns: 400 },
    );
  });
});
