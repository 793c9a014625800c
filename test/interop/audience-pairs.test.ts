/** A token that was issued for one audience is refused by every other, whichever grant it came from: all pairs. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AccessTokenVerifier, createAccessTokenVerifier } from '../../src/resource/access-token-verifier.ts';
import { ASSERTION_TYPE } from '../fixtures/running-server.ts';
import { type ReachableServer, startReachableServer } from './reachable-server.ts';

const OURS = 'our issuer identifier, the default';
/** Look-alikes among them: what a sloppy comparison would take for one another. */
const APIS = [
  'https://a.example.com',
  'https://a.example.com/',
  'https://a.example.com/v1',
  'https://A.example.com',
  'https://a.example.com:8443',
  'https://b.example.com',
  'urn:example:api',
];

const SHAPES: readonly (readonly [string, (assertion: string) => Readonly<Record<string, string>>])[] = [
  [
    'client_credentials',
    (client_assertion) => ({
      grant_type: 'client_credentials',
      client_assertion_type: ASSERTION_TYPE,
      client_assertion,
    }),
  ],
  ['jwt-bearer', (assertion) => ({ grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion })],
  [
    'token exchange',
    (subject_token) => ({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token,
      subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    }),
  ],
];

let reachable: ReachableServer;
let verifiers: ReadonlyMap<string, AccessTokenVerifier>;

beforeAll(async () => {
  reachable = await startReachableServer();
  await reachable.server.admin('mutation ($params: UpdateClientRequest!) { _update_client(params: $params) { id } }', {
    id: reachable.idOf('edge-worker'),
    allowed_resources: APIS,
  });
  verifiers = new Map(
    [OURS, ...APIS].map((audience) => [
      audience,
      createAccessTokenVerifier({
        issuer: reachable.issuer,
        audience: audience === OURS ? reachable.issuer : audience,
        clock: reachable.server.clock,
      }),
    ]),
  );
});
afterAll(() => reachable.server.close());

async function tokenFor(fields: Readonly<Record<string, string>>, resources: readonly string[]): Promise<string> {
  const answer = await reachable.server.post('/oauth/token', [
    ...Object.entries(fields),
    ...resources.filter((resource) => resource !== OURS).map((resource): [string, string] => ['resource', resource]),
  ]);
  expect(answer.status, answer.text).toBe(200);
  return String(answer.json.access_token);
}

/** Who accepts it, and why the others do not. */
async function acceptedBy(token: string): Promise<readonly string[]> {
  const accepted: string[] = [];
  for (const [audience, verifier] of verifiers) {
    const verdict = await verifier.verify(token);
    if (verdict.ok) accepted.push(audience);
    else expect(verdict.error.reason).toBe('aud_mismatch');
  }
  return accepted;
}

describe.each(SHAPES)('from %s', (_name, fields) => {
  it.each([OURS, ...APIS])('a token for %s is accepted there and nowhere else', async (audience) => {
    const token = await tokenFor(fields(reachable.assertion().build()), [audience]);
    expect(await acceptedBy(token)).toEqual([audience]);
  });

  it.each(APIS.flatMap((first, index) => APIS.slice(index + 1).map((second) => [first, second] as const)))(
    'a token for %s and %s is accepted by both and nobody else',
    async (first, second) => {
      const token = await tokenFor(fields(reachable.assertion().build()), [first, second]);
      expect(await acceptedBy(token)).toEqual([first, second]);
    },
  );
});
