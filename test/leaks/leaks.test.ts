/**
 * No credential is left behind: what is sent with good and bad requests to every endpoint is looked for in the log, in
 * the bytes of the database, in the metrics and in the error answers.
 */
import { createPrivateKey, randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDatabase } from '../../src/storage/database.ts';
import { openStores } from '../../src/storage/open-stores.ts';
import { AssertionBuilder, AUDIENCE, SUBJECT } from '../fixtures/assertions.ts';
import { P256_B, P384, publicJwk, RSA_A, RSA_B } from '../fixtures/keys.ts';
import {
  ADMIN_SECRET,
  type Answer,
  ASSERTION_TYPE,
  CLUSTER_ROW,
  freshAssertion,
  type RunningServer,
  startServer,
} from '../fixtures/running-server.ts';
import { NOW } from '../fixtures/settable-clock.ts';
import { collectTraces, findSecrets, type Trace } from './traces.ts';

const WRONG_SECRET = 'a-wrong-secret-that-may-be-right-elsewhere';
const ADD = 'mutation ($params: AddTrustedIssuerRequest!) { _add_trusted_issuer(params: $params) { id } }';
const CREATE =
  'mutation ($params: CreateClientRequest!) { _create_client(params: $params) { client { id } client_secret } }';
const EXPLAIN =
  'query ($params: ExplainAssertionRequest!) { _explain_assertion(params: $params) { reason checks { detail } } }';

let folder: string;
let server: RunningServer;
const answers: Answer[] = [];
const secrets = new Map<string, string | Buffer>([
  ['the admin secret', ADMIN_SECRET],
  ['a wrong secret', WRONG_SECRET],
]);

/** From now on the parts of a token that only its holder has are secrets: the payload as it was sent, the signature. */
function keepSecret(name: string, token: string): string {
  const [, payload = '', signature = ''] = token.split('.');
  secrets.set(`the payload of ${name}`, payload).set(`the signature of ${name}`, signature);
  return token;
}

async function note(answer: Promise<Answer>): Promise<Answer> {
  answers.push(await answer);
  return answer;
}

const basic = (id: string, secret: string) => {
  const encoded = Buffer.from(`${id}:${secret}`).toString('base64');
  secrets.set(`the Basic credentials of ${id}`, encoded);
  return { authorization: `Basic ${encoded}` };
};
const byAssertion = (client_assertion: string) => ({ client_assertion_type: ASSERTION_TYPE, client_assertion });
const grant = { grant_type: 'client_credentials' };

/** What is left after `requests`, to be looked at before and after the server has closed its database. */
let traces: readonly Trace[];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'countersign-leaks-'));
  server = await startServer({ databaseUrl: `sqlite:${join(folder, 'countersign.db')}`, logLevel: 'trace' });
  const created = await server.trustCluster({ client: { with_client_secret: true } });
  const secret = String(created.clientSecret);
  secrets.set('the client secret', secret);
  for (const [name, key] of Object.entries({ RSA_A, RSA_B, P256_B, P384 })) {
    for (const part of ['d', 'p', 'q', 'dp', 'dq', 'qi'] as const) {
      if (part in key) secrets.set(`${part} of ${name}`, String(Object(key)[part]));
    }
    secrets.set(`d of ${name}, decoded`, Buffer.from(key.d, 'base64url'));
  }
  await tokenRequests(created.client.id, secret);
  await misplacedCredentials(secret);
  await adminRequests(created.client.id, created.issuer.id);
  await keepSigningKeys();
  traces = await collectTraces(server, folder, answers);
});
afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true });
});

async function tokenRequests(clientRowId: string, secret: string): Promise<void> {
  const assertions: readonly [string, AssertionBuilder][] = [
    ['a good assertion', freshAssertion()],
    ['a forged one', freshAssertion().signedBy(RSA_B)],
    ['an expired one', freshAssertion().with({ exp: NOW - 100 })],
    ['one for others', freshAssertion().with({ aud: 'https://other.example' })],
    ['one of a stranger', freshAssertion().with({ iss: 'https://stranger.example' })],
    ['one of nobody', freshAssertion().with({ sub: 'system:serviceaccount:a:b' })],
    ['one with a key in it', freshAssertion().withHeader({ jwk: publicJwk(RSA_B) })],
    ['a large one', freshAssertion().with({ filler: 'x'.repeat(16_384) })],
  ];
  for (const [name, builder] of assertions) {
    const assertion = keepSecret(name, builder.build());
    const issued = await note(server.token(assertion));
    await note(server.token(assertion));
    await note(server.token(`${assertion}\n`));
    await note(server.token(assertion.split('.').slice(0, 2).join('.')));
    await note(server.token(assertion, { client_id: 'somebody-else' }));
    await note(server.token(assertion, { client_secret: WRONG_SECRET }));
    if (issued.status !== 200) continue;
    const token = keepSecret('an access token', String(issued.json.access_token));
    const forged = keepSecret('a forged access token', `${token.slice(0, -8)}AAAAAAAA`);
    for (const path of ['/oauth/introspect', '/oauth/revoke']) {
      for (const presented of [token, forged, assertion]) {
        const presenter = keepSecret('an assertion at another endpoint', freshAssertion().build());
        await note(server.post(path, { token: presented, ...byAssertion(presenter) }));
        await note(server.post(path, { token: presented, client_id: 'edge-worker', client_secret: secret }));
        await note(server.post(path, { token: presented }, basic('edge-worker', WRONG_SECRET)));
      }
    }
  }
  await note(server.post('/oauth/token', grant, basic('edge-worker', secret)));
  await note(server.post('/oauth/token', { ...grant, client_id: 'edge-worker', client_secret: WRONG_SECRET }));
  await note(server.post('/oauth/token', { ...grant, client_id: 'nobody', client_secret: WRONG_SECRET }));

  await server.admin('mutation ($params: UpdateClientRequest!) { _update_client(params: $params) { id } }', {
    id: clientRowId,
    jwks: JSON.stringify({ keys: [publicJwk(P256_B, { kid: 'own' })] }),
  });
  const own = { iss: 'edge-worker', sub: 'edge-worker', aud: AUDIENCE, iat: NOW, exp: NOW + 60, jti: randomUUID() };
  const signed = keepSecret('a client’s own', new AssertionBuilder({ alg: 'ES256', kid: 'own' }, own, P256_B).build());
  await note(server.token(signed));
  await note(server.token(signed));
}

/** Credentials where they do not belong, as hurried people and broken clients put them. */
async function misplacedCredentials(secret: string): Promise<void> {
  const assertion = keepSecret('a misplaced assertion', freshAssertion().build());
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  const body = new URLSearchParams({ ...grant, ...byAssertion(assertion) }).toString();
  await note(server.send('POST', `/oauth/token?${body}`, { headers: form, body: 'grant_type=client_credentials' }));
  await note(server.send('GET', `/oauth/token?${body}`));
  await note(server.send('GET', `/${assertion}?${body}`));
  await note(server.send('POST', '/oauth/token', { headers: form, body: `${body}%ZZ` }));
  await note(server.send('POST', '/oauth/token', { headers: form, body: `${body}&${body}` }));
  await note(server.send('POST', '/oauth/token', { headers: { 'content-type': 'application/json' }, body }));
  await note(server.post('/oauth/token', grant, { authorization: `Bearer ${assertion}` }));
  await note(server.post('/oauth/token', { ...grant, ...byAssertion(secret) }));
  await note(server.post('/oauth/token', { ...grant, client_assertion: assertion, client_assertion_type: secret }));
  await note(server.post('/oauth/token', { grant_type: assertion, client_id: 'edge-worker', client_secret: secret }));
  await note(
    server.post('/oauth/introspect', { token: secret, client_id: 'edge-worker', client_secret: WRONG_SECRET }),
  );
}

async function adminRequests(clientRowId: string, issuerId: string): Promise<void> {
  const rotated = await note(
    server.graphql('mutation ($params: ClientRequest!) { _rotate_client_secret(params: $params) { client_secret } }', {
      params: { id: clientRowId },
    }),
  );
  secrets.set('the rotated client secret', secretIn(rotated, '_rotate_client_secret'));
  const created = await note(
    server.graphql(CREATE, { params: { name: 'x', allowed_scopes: ['read'], with_client_secret: true } }),
  );
  secrets.set('a created client secret', secretIn(created, '_create_client'));

  // A private key that was pasted for a public one.
  const jwks = JSON.stringify({ keys: [{ ...P384, kid: 'private' }] });
  const issuer = { ...CLUSTER_ROW, issuer_url: 'https://private.example' };
  await note(server.graphql(ADD, { params: { ...issuer, jwks } }));
  await note(server.graphql(CREATE, { params: { name: 'y', allowed_scopes: ['read'], jwks } }));
  const update = 'mutation ($params: UpdateTrustedIssuerRequest!) { _update_trusted_issuer(params: $params) { id } }';
  await note(server.graphql(update, { params: { id: issuerId, jwks } }));

  const explained = keepSecret('an explained assertion', freshAssertion().build());
  const forged = keepSecret('a forged one that is explained', freshAssertion().signedBy(RSA_B).build());
  for (const assertion of [explained, forged, `${explained}\n`, `${explained} ${forged}`]) {
    await note(server.graphql(EXPLAIN, { params: { assertion } }));
  }
  await note(server.graphql(EXPLAIN, { params: { assertion: { text: explained } } }));
  await note(server.graphql(EXPLAIN, { params: { assertion: explained, [explained]: 1 } }));
  await note(server.graphql(`{ _explain_assertion(params: { assertion: "${explained}" }) { reason`));
  await note(server.graphql(`{ _explain_assertion(params: { assertion: ${explained} }) { reason } }`));
  await note(server.graphql(`{ _explain_assertion(params: { token: "${explained}" }) { reason } }`));

  const query = '{ _clients { pagination { total } } }';
  const json = { 'content-type': 'application/json' };
  for (const headers of [
    { authorization: `Bearer ${WRONG_SECRET}` },
    { 'x-authorizer-admin-secret': WRONG_SECRET },
    { authorization: `Bearer ${explained}` },
  ]) {
    await note(server.send('POST', '/graphql', { headers: { ...json, ...headers }, body: JSON.stringify({ query }) }));
  }
  await note(server.send('GET', `/graphql?query=${encodeURIComponent(query)}&secret=${ADMIN_SECRET}`));
  await note(server.graphql('{ _audit_logs { audit_logs { metadata } } }'));
}

function secretIn(answer: Answer, operation: string): string {
  const { data } = JSON.parse(answer.text) as { data: Record<string, { client_secret: string }> };
  const secret = data[operation]?.client_secret;
  if (secret === undefined) throw new Error(`no secret in the answer: ${answer.text}`);
  return secret;
}

/** The private parts of our own signing keys, as the server has them in memory. */
async function keepSigningKeys(): Promise<void> {
  const keyEncryptionKey = Buffer.from((await readFile(join(folder, 'key-encryption-key'), 'utf8')).trim(), 'base64');
  const database = await openDatabase({ url: `sqlite:${join(folder, 'countersign.db')}` });
  const stores = openStores({ database, keyEncryptionKey, clock: server.clock });
  const keys = await stores.signingKeys.list(NOW);
  expect(keys.map(({ alg }) => alg).toSorted()).toEqual(['ES256', 'RS256']);
  for (const { alg, privateKeyDer } of keys) {
    const privateKey = createPrivateKey({ key: Buffer.from(privateKeyDer), format: 'der', type: 'pkcs8' });
    const { d = '' } = privateKey.export({ format: 'jwk' });
    secrets.set(`our private ${alg} key`, d).set(`our private ${alg} key, decoded`, Buffer.from(d, 'base64url'));
  }
  secrets.set('the key-encryption key', keyEncryptionKey);
  await stores.close();
}

describe('after good and bad requests to every endpoint', () => {
  it('there is something to look at', () => {
    expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThan(10);
    expect(answers.filter(({ status }) => status >= 400).length).toBeGreaterThan(40);
    const marks = new Map([
      ['subject', SUBJECT],
      ['decision', '"decided"'],
      ['metric', 'countersign_decisions_total'],
      ['error', 'invalid_client'],
    ]);
    expect(findSecrets(traces, marks)).toEqual(
      expect.arrayContaining([
        'subject in countersign.db-wal',
        'decision in the log',
        'metric in /metrics',
        expect.stringMatching(/^error in an error answer/),
      ]),
    );
  });

  it('no credential is in any of it', () => {
    expect(findSecrets(traces, secrets)).toEqual([]);
  });
});
