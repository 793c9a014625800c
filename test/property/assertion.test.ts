import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parseCompactJws } from '../../src/assertion/compact-jws.ts';
import { readJsonObject } from '../../src/assertion/json-object.ts';
import { readJwkSet } from '../../src/assertion/key-set.ts';
import { replayKey } from '../../src/assertion/replay-key.ts';
import { parseTokenClaimTemplate, renderTokenClaim } from '../../src/assertion/token-claim-template.ts';
import { VerificationTrace } from '../../src/assertion/verification-trace.ts';
import { verifyAssertion } from '../../src/assertion/verify-assertion.ts';
import { parseForm } from '../../src/oauth/form-body.ts';
import { ok } from '../../src/result.ts';
import { aClusterAssertion } from '../fixtures/assertions.ts';
import { memoryPorts } from '../fixtures/memory-ports.ts';
import { NOW } from '../fixtures/settable-clock.ts';

const VALID = aClusterAssertion().build();

async function verify(assertion: string): Promise<string> {
  const presented = { assertion, clientId: null, requestId: 'r', now: NOW, purpose: 'authenticate' } as const;
  const outcome = await verifyAssertion(memoryPorts(), presented, new VerificationTrace(), () => ok(undefined));
  return outcome.kind;
}

it('no change of one character of a valid assertion is accepted', async () => {
  expect(await verify(VALID)).toBe('accepted');
  const change = fc.tuple(fc.nat(VALID.length - 1), fc.constantFrom(...'AbZ09-_.=+/ \n{"é'));
  await fc.assert(
    fc.asyncProperty(change, async ([at, character]) => {
      fc.pre(VALID[at] !== character);
      expect(await verify(VALID.slice(0, at) + character + VALID.slice(at + 1))).toBe('refused');
    }),
    { numRuns: 400 },
  );
});

it('no flipped bit of a valid assertion is accepted', async () => {
  const bit = fc.tuple(fc.nat(VALID.length - 1), fc.nat(6));
  await fc.assert(
    fc.asyncProperty(bit, async ([at, shift]) => {
      const flipped = String.fromCharCode(VALID.charCodeAt(at) ^ (1 << shift));
      expect(await verify(VALID.slice(0, at) + flipped + VALID.slice(at + 1))).toBe('refused');
    }),
    { numRuns: 400 },
  );
});

it('the assertion parser refuses arbitrary text and never throws', () => {
  const segment = fc.oneof(
    fc.base64String(),
    fc.string(),
    fc.json().map((text) => Buffer.from(text).toString('base64url')),
  );
  fc.assert(
    fc.property(fc.array(segment, { maxLength: 6 }), (segments) => {
      expect(typeof parseCompactJws(segments.join('.')).ok).toBe('boolean');
    }),
  );
});

it('a JSON object is read as JSON.parse reads it, or refused', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
      const text = JSON.stringify(value);
      const read = readJsonObject(Buffer.from(text));
      if (read.ok) expect(JSON.stringify(read.value)).toBe(text);
      else expect(text.startsWith('{') && !read.error.includes('case')).toBe(false);
    }),
  );
});

it('a repeated member is refused wherever it is', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue(), { minKeys: 1 }), fc.nat(3), (object, depth) => {
      const [name = ''] = Object.keys(object);
      const repeated = `{${JSON.stringify(name)}:1,${JSON.stringify(object).slice(1)}`;
      const text = '{"in":'.repeat(depth) + repeated + '}'.repeat(depth);
      expect(readJsonObject(Buffer.from(text)).ok).toBe(false);
    }),
  );
});

it('reading a key set never throws', async () => {
  const jwk = fc.record(
    {
      kty: fc.constantFrom('RSA', 'EC', 'OKP', 'oct', 'AKP'),
      kid: fc.anything(),
      n: fc.anything(),
      e: fc.base64String(),
      crv: fc.string(),
      x: fc.base64String(),
      y: fc.base64String(),
      use: fc.anything(),
      key_ops: fc.anything(),
      alg: fc.anything(),
    },
    { requiredKeys: [] },
  );
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(fc.anything(), fc.record({ keys: fc.array(fc.oneof(jwk, fc.anything())) })),
      async (document) => {
        expect(typeof (await readJwkSet(document)).ok).toBe('boolean');
      },
    ),
  );
});

it('replay keys are equal only for equal assertions', () => {
  const fields = fc.tuple(fc.string(), fc.option(fc.string({ minLength: 1 })), fc.string(), fc.nat(), fc.nat());
  const keyOf = ([issuer, jti, subject, iat, exp]: [string, string | null, string, number, number]) =>
    replayKey(issuer, jti, subject, { iat, exp }, Buffer.from(subject)).toString('hex');
  const identity = ([issuer, jti, ...rest]: [string, string | null, string, number, number]) =>
    JSON.stringify(jti === null ? [issuer, null, ...rest] : [issuer, jti]);
  fc.assert(
    fc.property(fields, fields, (a, b) => {
      expect(keyOf(a) === keyOf(b)).toBe(identity(a) === identity(b));
    }),
  );
  expect(keyOf(['ab', 'c', '', 0, 0])).not.toBe(keyOf(['a', 'bc', '', 0, 0]));
});

it('a template that parses renders its own literals, and never throws', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 60 }), (text) => {
      const parsed = parseTokenClaimTemplate(text);
      if (!parsed.ok) return;
      const rendered = renderTokenClaim(parsed.value, () => 'v');
      expect(rendered === null || typeof rendered === 'string').toBe(true);
      if (!text.includes('{')) expect(rendered).toBe(text);
    }),
  );
});

it('the form parser gives back what was encoded, and never throws', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string({ minLength: 1 }), fc.string({ minLength: 1 }), { maxKeys: 20 }), (fields) => {
      const parsed = parseForm(new URLSearchParams(fields).toString());
      expect(parsed.ok && Object.fromEntries([...parsed.value].map(([name, [value]]) => [name, value]))).toEqual({
        ...fields,
      });
    }),
  );
  fc.assert(fc.property(fc.string(), (body) => typeof parseForm(body).ok === 'boolean'));
});
