/** A credential in the wrong field, as hurried people and broken clients put it: it is not kept there either. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { P384, publicJwk } from '../fixtures/keys.ts';
import {
  type Answer,
  CLUSTER_ROW,
  freshAssertion,
  type RunningServer,
  startServer,
} from '../fixtures/running-server.ts';
import { collectTraces, findSecrets } from './traces.ts';

let folder: string;
let server: RunningServer;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'countersign-misplaced-'));
  server = await startServer({ databaseUrl: `sqlite:${join(folder, 'countersign.db')}`, logLevel: 'trace' });
  await server.trustCluster();
});
afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true });
});

const newSecret = () => randomBytes(32).toString('base64url');
const newAssertion = () => freshAssertion().build();

/** What is looked for: the end of a token, since its beginning is that of every other one. */
const tellingPart = (credential: string) => credential.slice(-86);

const token = (fields: Readonly<Record<string, string>>, headers = {}) =>
  server.post('/oauth/token', { grant_type: 'client_credentials', ...fields }, headers);
const privateJwk = (d: string) => ({ keys: [{ ...publicJwk(P384), d }] });
const addIssuer = (fields: Readonly<Record<string, unknown>>) =>
  server.graphql('mutation ($params: AddTrustedIssuerRequest!) { _add_trusted_issuer(params: $params) { id } }', {
    params: { ...CLUSTER_ROW, ...fields },
  });

type Misplaced = [string, () => string, (credential: string) => Promise<Answer>];

async function expectNotKept(...[name, make, send]: Misplaced): Promise<void> {
  const credential = make();
  const traces = await collectTraces(server, folder, [await send(credential)]);
  expect(findSecrets(traces, new Map([[name, tellingPart(credential)]]))).toEqual([]);
}

it.each<Misplaced>([
  ['an assertion as client_id', newAssertion, (jwt) => token({ client_id: jwt, client_secret: 'x' })],
  ['an assertion as client_secret', newAssertion, (jwt) => token({ client_id: 'edge-worker', client_secret: jwt })],
  ['an assertion as token_type_hint', newAssertion, (jwt) => token({ token_type_hint: jwt })],
  ['an assertion as user agent', newAssertion, (jwt) => token({}, { 'user-agent': `curl ${jwt}` })],
  ['a private key as JSON text', newSecret, (d) => addIssuer({ jwks: JSON.stringify(privateJwk(d)) })],
  ['a secret as client_id', newSecret, (text) => token({ client_id: text, client_secret: 'edge-worker' })],
  ['an assertion as scope', newAssertion, (jwt) => server.token(newAssertion(), { scope: jwt })],
  ['an assertion as resource', newAssertion, (jwt) => server.token(newAssertion(), { resource: `urn:x:${jwt}` })],
  [
    'a private key beside a misspelt field',
    newSecret,
    (d) => addIssuer({ jwks: JSON.stringify(privateJwk(d)), misspelt: 1 }),
  ],
  ['a private key as JSON instead of text', newSecret, (d) => addIssuer({ jwks: privateJwk(d) })],
])('%s is not kept', expectNotKept);
