/**
 * The token endpoint from outside, with whatever a stranger may send: it always answers, in the form that RFC 6749 §5.2
 * asks for, and is never the one to break.
 */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { GRANT_TYPES } from '../../src/oauth/token-request.ts';
import { KID, SUBJECT, signWith } from '../fixtures/assertions.ts';
import { RSA_A } from '../fixtures/keys.ts';
import {
  type Answer,
  ASSERTION_TYPE,
  freshAssertion,
  type RunningServer,
  startServer,
} from '../fixtures/running-server.ts';

const FORM = 'application/x-www-form-urlencoded';

let server: RunningServer;

beforeAll(async () => {
  server = await startServer({ logLevel: 'warn' });
  await server.trustCluster();
});
afterAll(() => server.close());

function expectWellBehaved({ status, headers, text, json }: Answer): void {
  expect({ status, text }).toMatchObject({
    status: expect.toSatisfy((code) => code === 200 || (code >= 400 && code < 500)),
  });
  expect(headers).toMatchObject({
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
    'x-request-id': expect.stringMatching(/^[0-9a-f-]{36}$/),
  });
  if (status === 200) expect(json).toMatchObject({ access_token: expect.any(String), token_type: 'Bearer' });
  else expect(json).toMatchObject({ error: expect.stringMatching(/^[a-z_]+$/), error_description: expect.any(String) });
}

/** What HTTP lets a header be. */
const headerText = fc
  .string({ unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)), maxLength: 200 })
  .map((text) => text.trim());

const anyHeaders = fc.record(
  {
    'content-type': fc.oneof(
      { weight: 3, arbitrary: fc.constant(FORM) },
      fc.constantFrom(
        `${FORM}; charset=utf-8`,
        `${FORM};charset="x`,
        'application/json',
        'multipart/form-data',
        ';',
        '',
      ),
      headerText,
    ),
    authorization: fc.oneof(
      fc.constantFrom(
        'Basic',
        'Basic ',
        'Basic Og==',
        'Basic OjpOjo6',
        'Bearer x',
        'basic ZWRnZS13b3JrZXI6eA==',
        'Negotiate',
      ),
      fc.string().map((text) => `Basic ${Buffer.from(text).toString('base64')}`),
      headerText,
    ),
    'content-encoding': fc.constantFrom('identity', 'gzip', 'br', ''),
    accept: headerText,
    'x-request-id': headerText,
    'x-forwarded-host': headerText,
    origin: headerText,
    host: fc.constantFrom('as.example.com', 'evil.example:1', '127.0.0.1'),
  },
  { requiredKeys: [] },
);

const names = fc.constantFrom(
  'grant_type',
  'client_assertion_type',
  'client_assertion',
  'client_id',
  'client_secret',
  'scope',
  'resource',
  'audience',
  'assertion',
  'subject_token',
  'subject_token_type',
  'actor_token',
  'actor_token_type',
  'requested_token_type',
  '__proto__',
  'constructor',
  '',
);
const values = fc.oneof(
  fc.constantFrom(
    'client_credentials',
    ASSERTION_TYPE,
    'urn:ietf:params:oauth:token-type:jwt',
    'urn:ietf:params:oauth:token-type:access_token',
    'edge-worker',
    'read',
    'https://as.example.com',
    '',
    ' ',
    '\0',
    '..',
  ),
  fc.string({ unit: 'binary', maxLength: 100 }),
  fc.base64String({ maxLength: 400 }),
  fc.nat().map(() => freshAssertion().build()),
);

it('any bytes under any headers get an answer', async () => {
  const body = fc.oneof(
    fc.uint8Array({ maxLength: 2000 }).map((bytes) => Buffer.from(bytes)),
    fc.string().map(Buffer.from),
  );
  await fc.assert(
    fc.asyncProperty(anyHeaders, body, async (headers, bytes) => {
      expectWellBehaved(await server.send('POST', '/oauth/token', { headers, body: bytes }));
    }),
    { numRuns: 300 },
  );
});

it('any form gets an answer', async () => {
  const name = fc.oneof({ weight: 9, arbitrary: names }, fc.string());
  const grant = fc.constantFrom([], ...GRANT_TYPES.map((grantType) => [['grant_type', grantType] as const]));
  const fields = fc.tuple(grant, fc.array(fc.tuple(name, values), { maxLength: 6 })).map((parts) => parts.flat());
  await fc.assert(
    fc.asyncProperty(anyHeaders, fields, async (headers, form) => {
      expectWellBehaved(await server.post('/oauth/token', form, { ...headers, 'content-type': FORM }));
    }),
    { numRuns: 400 },
  );
});

it('any change of a good request’s parameters gets an answer', async () => {
  const changes = fc.dictionary(names, fc.option(values), { maxKeys: 3 });
  await fc.assert(
    fc.asyncProperty(changes, async (changed) => {
      const good = {
        grant_type: 'client_credentials',
        client_assertion_type: ASSERTION_TYPE,
        client_assertion: freshAssertion().build(),
      };
      const fields = Object.entries({ ...good, ...changed }).filter(
        (entry): entry is [string, string] => entry[1] !== null,
      );
      expectWellBehaved(await server.post('/oauth/token', fields));
    }),
    { numRuns: 200 },
  );
});

const claimNames = fc.constantFrom(
  'iss',
  'sub',
  'aud',
  'exp',
  'iat',
  'nbf',
  'jti',
  'kubernetes.io',
  'typ',
  '__proto__',
  'x',
);
const headerNames = fc.constantFrom('alg', 'kid', 'typ', 'crit', 'b64', 'jwk', 'x5c', 'zip', 'x');
const jsonValues = fc.oneof(
  fc.jsonValue({ maxDepth: 4 }),
  fc.double({ noNaN: false }),
  fc.constantFrom(SUBJECT, KID, 'RS256'),
);

it('any claims and header under the signature of a trusted issuer get an answer', async () => {
  const claims = fc.dictionary(claimNames, jsonValues, { maxKeys: 3 });
  const header = fc.dictionary(headerNames, jsonValues, { maxKeys: 1 });
  await fc.assert(
    fc.asyncProperty(header, claims, async (headerChanges, claimChanges) => {
      const good = freshAssertion();
      const parts = [
        { ...good.header, ...headerChanges },
        { ...good.claims, ...claimChanges },
      ];
      const input = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
      const assertion = `${input}.${signWith('RS256', RSA_A, input).toString('base64url')}`;
      expectWellBehaved(await server.token(assertion));
    }),
    { numRuns: 300 },
  );
});

it('none of it was a fault of ours', () => {
  expect(server.logLines.filter((line) => line.includes('"fault"'))).toEqual([]);
});
