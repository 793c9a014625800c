import { expect, it } from 'vitest';
import { type KeySourceReport, probeKeySource } from '../../src/registry/key-source-probe.ts';
import { CLUSTER } from '../fixtures/rows.ts';

const FIELDS = {
  ...CLUSTER,
  keySourceType: 'oidc_discovery',
  jwks: null,
  issuerUrl: 'https://idp.example.com/',
} as const;
const probe = (report: Partial<KeySourceReport>, fields = FIELDS, before = null as typeof CLUSTER | null) => {
  let asked = 0;
  const ask = async () => {
    asked += 1;
    return { discoveredIssuer: null, problem: null, sharedWith: [], ...report };
  };
  return probeKeySource(ask, fields, before).then((probed) => ({ ...probed, asked }));
};

it('an issuer that answers as expected is fine', async () => {
  expect(await probe({ discoveredIssuer: FIELDS.issuerUrl })).toEqual({ problems: [], warnings: [], asked: 1 });
});

it('ISS-01: a final slash that the issuer does not have is refused, naming both strings', async () => {
  const { problems } = await probe({ discoveredIssuer: 'https://idp.example.com', problem: 'mismatch' });
  expect(problems).toEqual([
    {
      path: ['issuer_url'],
      message:
        'the issuer calls itself "https://idp.example.com", not "https://idp.example.com/": the final slash counts',
    },
  ]);
});

it('anything else that is wrong right now is a warning', async () => {
  const other = await probe({ discoveredIssuer: 'https://other.example', problem: 'it calls itself something else' });
  expect(other).toMatchObject({ problems: [], warnings: [expect.stringContaining('it calls itself something else')] });
  expect(await probe({ problem: 'connect ECONNREFUSED' })).toMatchObject({
    problems: [],
    warnings: [expect.any(String)],
  });
});

it('a key that other issuers publish is a warning that names them', async () => {
  const { warnings } = await probe({ sharedWith: ['"a" (1)', '"b" (2)'] });
  expect(warnings).toEqual(['a signing key of this issuer is also that of "a" (1), "b" (2): all of them are refused']);
});

it('nobody is asked about pasted keys, a switched-off issuer, or a key source that did not change', async () => {
  const pasted = { ...FIELDS, keySourceType: 'static_jwks' } as unknown as typeof FIELDS;
  expect((await probe({ problem: 'x' }, pasted)).asked).toBe(0);
  expect((await probe({ problem: 'x' }, { ...FIELDS, isActive: false })).asked).toBe(0);
  expect((await probe({ problem: 'x' }, FIELDS, { ...FIELDS, name: 'old name' })).asked).toBe(0);
});
