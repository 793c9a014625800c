/**
 * The three shapes of a token request are one decision: they accept and refuse exactly the same assertions, for the same
 * reason. Whatever is valid is made anew for each shape, since using it up in one would be seen in the others.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { AUDIENCE, CLUSTER_CLAIMS, CLUSTER_ISSUER, type Claims, KID, SUBJECT } from '../fixtures/assertions.ts';
import { P256, publicJwk, RSA_A, RSA_B } from '../fixtures/keys.ts';
import {
  type Answer,
  ASSERTION_TYPE,
  freshAssertion,
  type RunningServer,
  startServer,
} from '../fixtures/running-server.ts';
import { NOW } from '../fixtures/settable-clock.ts';

type Fields = Readonly<Record<string, string>>;

const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
const SHAPES: readonly { readonly error: string; readonly fields: (assertion: string) => Fields }[] = [
  {
    error: 'invalid_client',
    fields: (client_assertion) => ({
      grant_type: 'client_credentials',
      client_assertion_type: ASSERTION_TYPE,
      client_assertion,
    }),
  },
  {
    error: 'invalid_grant',
    fields: (assertion) => ({ grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion }),
  },
  ...['jwt', 'access_token'].map((type) => ({
    error: 'invalid_request',
    fields: (subject_token: string) => ({
      grant_type: TOKEN_EXCHANGE,
      subject_token,
      subject_token_type: `urn:ietf:params:oauth:token-type:${type}`,
    }),
  })),
];

let server: RunningServer;

beforeAll(async () => {
  server = await startServer({ logLevel: 'warn' });
  const { client } = await server.trustCluster({ client: { allowed_resources: ['https://api.example.com'] } });
  await server.addIssuer({ name: 'off', issuer_url: 'https://off.example', is_active: false });
  const ci = await server.addIssuer({
    name: 'ci',
    issuer_url: 'https://ci.example',
    issuer_type: 'oidc',
    jwks: JSON.stringify({ keys: [publicJwk(RSA_B, { kid: KID, alg: 'RS256', use: 'sig' })] }),
    assertion_use: 'until_expiry',
  });
  await server.addBinding({ trusted_issuer_id: ci.id, client_id: client.id, subject: 'job', claims: { ref: 'main' } });
});
afterAll(() => server.close());

/** What one shape makes of an assertion, without what is the shape's own. */
async function verdict({ fields, error }: (typeof SHAPES)[number], assertion: string, ask: Fields) {
  const answer = await server.post('/oauth/token', { ...fields(assertion), ...ask });
  const { outcome, reason, subject, client_id } = await server.auditOf(answer);
  const isRefusal = outcome === 'refused' && answer.json.error === error;
  return { outcome, reason, subject, client_id, answer: isRefusal ? 'refused' : visible(answer) };
}

function visible({ status, json }: Answer): unknown {
  const { scope, expires_in, token_type, error } = json;
  return { status, scope, expires_in, token_type, error };
}

/** The verdict of all shapes, which must be one. `assertion` is asked for each of them. */
async function oneVerdict(assertion: () => string, ask: Fields = {}) {
  const verdicts = [];
  for (const shape of SHAPES) verdicts.push(await verdict(shape, assertion(), ask));
  const [first, ...others] = verdicts;
  for (const other of others) expect(other).toEqual(first);
  return first;
}

const json = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom(AUDIENCE, CLUSTER_ISSUER, SUBJECT, [AUDIENCE], [AUDIENCE, 'x'], NOW, NOW - 61, NOW + 61, NOW + 7200),
);
/** Seconds around every bound that there is. */
const seconds = fc.oneof(
  fc.integer({ min: NOW - 200, max: NOW + 4000 }),
  fc.constantFrom(NOW - 60.5, NOW - 60, NOW - 59, NOW, NOW + 0.5, NOW + 59, NOW + 60, NOW + 61, NOW + 3600, NOW + 3660),
);
const claims: fc.Arbitrary<Claims> = fc.oneof(
  { weight: 2, arbitrary: fc.constant({}) },
  fc.record({ exp: seconds, iat: seconds, nbf: seconds }, { requiredKeys: [] }),
  fc.dictionary(fc.constantFrom('iss', 'sub', 'aud', 'exp', 'iat', 'nbf', 'jti', 'kubernetes.io', 'x'), json, {
    maxKeys: 2,
  }),
  fc.record(
    {
      iss: fc.constantFrom('https://ci.example', 'https://off.example', 'https://evil.example', 'edge-worker'),
      sub: fc.constantFrom('job', 'other', SUBJECT),
      ref: fc.constantFrom('main', 'dev'),
      exp: seconds,
    },
    { requiredKeys: ['iss'] },
  ),
);
const header: fc.Arbitrary<Readonly<Record<string, unknown>>> = fc.oneof(
  { weight: 3, arbitrary: fc.constant({}) },
  fc.constantFrom<Readonly<Record<string, unknown>>>(
    { kid: undefined },
    { kid: 'other' },
    { alg: 'RS512' },
    { typ: 'JWT' },
    { typ: 'at+jwt' },
    { jku: 'https://evil.example' },
    { crit: ['exp'] },
  ),
);
/** Null: the issuer's own. */
const key = fc.oneof({ weight: 8, arbitrary: fc.constant(null) }, fc.constantFrom(RSA_A, RSA_B, P256));
const ask = fc.oneof(
  { weight: 3, arbitrary: fc.constant({}) },
  fc.constantFrom<Fields>(
    { scope: 'read' },
    { scope: 'admin' },
    { resource: 'https://api.example.com' },
    { resource: 'https://evil.example' },
    { client_id: 'edge-worker' },
    { client_id: 'other' },
  ),
);
const removed: fc.Arbitrary<readonly string[]> = fc.oneof(
  { weight: 5, arbitrary: fc.constant([]) },
  fc.subarray(Object.keys(CLUSTER_CLAIMS), { maxLength: 2 }),
);

it('accept and refuse the same assertions, for the same reason', async () => {
  const seen = new Map<string, number>();
  await fc.assert(
    fc.asyncProperty(claims, header, key, removed, ask, async (changed, members, signer, without, asked) => {
      // What looks like an access token of ours is one, or nothing: the one case in which a token's type decides.
      fc.pre(changed.iss !== AUDIENCE || members.typ !== 'at+jwt');
      const changedJti = changed.jti;
      const signingKey = signer ?? (changed.iss === 'https://ci.example' ? RSA_B : RSA_A);
      const one = () => {
        const assertion = freshAssertion().with(changed).withHeader(members).signedBy(signingKey);
        // A `jti` is spent with its first use, and so is, without one, the text: each shape gets its own.
        const unused = typeof changedJti === 'string' && changedJti !== '' ? { jti: crypto.randomUUID() } : {};
        const text = without.includes('jti') ? { x: crypto.randomUUID() } : {};
        return assertion
          .with({ ...unused, ...text })
          .without(...without)
          .build();
      };
      const verdict = await oneVerdict(one, asked);
      const name = verdict?.reason ?? String(verdict?.outcome);
      seen.set(name, (seen.get(name) ?? 0) + 1);
    }),
    { numRuns: 250 },
  );
  // The property says little where nothing is accepted, or everything is refused for one reason.
  expect(seen.get('accepted')).toBeGreaterThan(20);
  expect(seen.size).toBeGreaterThan(10);
}, 60_000);

it('refuse any other text alike', async () => {
  const valid = freshAssertion().build();
  const text = fc.oneof(
    fc
      .tuple(fc.nat(valid.length - 1), fc.constantFrom(...'AbZ09-_.=+/ \n{'))
      .filter(([at, character]) => valid[at] !== character)
      .map(([at, character]) => valid.slice(0, at) + character + valid.slice(at + 1)),
    fc.string({ minLength: 1, maxLength: 200 }),
    fc
      .array(fc.base64String({ minLength: 1, maxLength: 40 }), { minLength: 2, maxLength: 6 })
      .map((parts) => parts.join('.')),
  );
  await fc.assert(
    fc.asyncProperty(text, async (assertion) => {
      expect(await oneVerdict(() => assertion)).toMatchObject({ outcome: 'refused', answer: 'refused' });
    }),
    { numRuns: 150 },
  );
}, 60_000);

it('none of it was a fault of ours', () => {
  expect(server.logLines.filter((line) => line.includes('"fault"'))).toEqual([]);
});
