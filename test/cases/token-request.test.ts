/** Cases of the theme `token-request`: one way to authenticate, each parameter once, and errors that say what is wrong. */
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SUBJECT } from '../fixtures/assertions.ts';
import { type Answer, ASSERTION_TYPE, freshAssertion } from '../fixtures/running-server.ts';
import { NOW } from '../fixtures/settable-clock.ts';
import { expectIssued, expectRefused } from './outcome.ts';
import { type PinnedIssuer, pinIssuer } from './pinned-issuer.ts';
import { expectRequestError } from './request-error.ts';
import { startTwoReplicas, type TwoReplicas } from './two-replicas.ts';

const FORM = 'application/x-www-form-urlencoded';
const NOT_A_FORM = 'the body must be application/x-www-form-urlencoded in UTF-8, not compressed';
const ASSERTION_FIELDS = { grant_type: 'client_credentials', client_assertion_type: ASSERTION_TYPE };
const basic = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString('base64')}` });

let replicas: TwoReplicas;
let server: TwoReplicas['one'];

beforeAll(async () => {
  replicas = await startTwoReplicas();
  server = replicas.one;
  await server.trustCluster({ client: { client_id: 'app-a' } });
  await server.createClient({ client_id: 'app-b' });
});
afterAll(() => replicas.close());

/** A client with a secret that was not made here: salted and hashed as ours are. */
async function clientWithSecret(clientId: string, secret: string): Promise<void> {
  const { client } = await server.createClient({ client_id: clientId });
  const salt = randomBytes(16);
  const hash = createHash('sha256').update(salt).update(secret, 'utf8').digest();
  replicas.database
    .prepare('insert into client_secrets (id, client_row_id, salt, hash, created_at) values (?, ?, ?, ?, ?)')
    .run(randomUUID(), client.id, salt, hash, NOW);
}

describe('REQ-01: client_id is optional beside an assertion', () => {
  it('REQ-01: without it the request of the case is answered', async () => {
    const body = `grant_type=client_credentials&client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer&client_assertion=${freshAssertion().build()}`;
    const answer = await server.send('POST', '/oauth/token', { headers: { 'content-type': FORM }, body });
    expect(await expectIssued(server, answer)).toMatchObject({ sub: 'app-a' });
  });

  it('REQ-01: a subject with two clients must say which', async () => {
    const issuer = await pinIssuer(server, 'https://req-01.example.com', 'app-a', ['job']);
    await server.addBinding({ trusted_issuer_id: issuer.id, client_id: 'app-b', subject: 'job' });
    const assertion = issuer.assertion('job').build();
    const detail = '"job" is bound to 2 clients and the request names none';
    const evidence = await expectRefused(server, await server.token(assertion), 'client_ambiguous', detail);
    expect(evidence.hint).toBe('Send client_id.');
    expect(await expectIssued(server, await server.token(assertion, { client_id: 'app-b' }))).toMatchObject({
      sub: 'app-b',
    });
  });
});

describe('REQ-02: client_id must agree with the assertion', () => {
  it('REQ-02: another client’s is refused, and the assertion stays good for its own', async () => {
    const assertion = freshAssertion().build();
    const answer = await server.token(assertion, { client_id: 'app-b' });
    await expectRefused(server, answer, 'client_mismatch', `client_id "app-b" is not bound to "${SUBJECT}"`);
    expect(await expectIssued(server, await server.token(assertion, { client_id: 'app-a' }))).toMatchObject({
      sub: 'app-a',
    });
  });
});

describe('REQ-03: one authentication method, or none is looked at', () => {
  const mixed = 'more than one client authentication method';
  const halves = 'client_assertion and client_assertion_type go together';

  it.each<[string, Readonly<Record<string, string>>, Readonly<Record<string, string>>, readonly string[], string]>([
    ['an assertion and Basic with an empty password', {}, basic('app-a:'), [], mixed],
    ['an assertion and a secret', { client_secret: 'x' }, {}, [], mixed],
    ['an assertion and a bearer token', {}, { authorization: 'Bearer x' }, [], mixed],
    ['Basic and a secret', { client_secret: 'x' }, basic('app-a:x'), Object.keys(ASSERTION_FIELDS).slice(1), mixed],
    ['an assertion without its type', {}, {}, ['client_assertion_type'], halves],
    ['a type without an assertion', {}, {}, ['client_assertion'], halves],
  ])('REQ-03: %s', async (_name, extra, headers, absent, description) => {
    const client_assertion = freshAssertion().build();
    const fields = Object.entries({ ...ASSERTION_FIELDS, client_assertion, ...extra });
    const omitted =
      absent.includes('client_assertion_type') && extra.client_secret ? [...absent, 'client_assertion'] : absent;
    const sent = fields.filter(([name]) => !omitted.includes(name));
    const answer = await server.post('/oauth/token', sent, headers);
    expect(await expectRequestError(server, answer, 'invalid_request', description)).toEqual({
      grant_type: 'client_credentials',
      detail: description,
    });
    // Nothing was verified: the assertion is as good as before.
    await expectIssued(server, await server.token(client_assertion));
  });
});

describe('REQ-04: no parameter twice, and a password may hold a colon', () => {
  it('REQ-04: two assertions are no list', async () => {
    const body = `grant_type=client_credentials&client_assertion_type=${ASSERTION_TYPE}&client_assertion=A&client_assertion=B`;
    const answer = await server.send('POST', '/oauth/token', { headers: { 'content-type': FORM }, body });
    await expectRequestError(server, answer, 'invalid_request', 'a parameter is repeated');
  });

  it.each(['grant_type', 'client_assertion', 'client_assertion_type', 'client_id', 'scope', 'foo'])(
    'REQ-04: %s twice with one value is refused too',
    async (name) => {
      const client_assertion = freshAssertion().build();
      const fields = Object.entries({
        ...ASSERTION_FIELDS,
        client_assertion,
        client_id: 'app-a',
        scope: 'read',
        foo: '',
      });
      const twice = [...fields, ...fields.filter(([field]) => field === name)];
      const answer = await server.post('/oauth/token', twice);
      await expectRequestError(server, answer, 'invalid_request', 'a parameter is repeated');
      await expectIssued(server, await server.token(client_assertion));
    },
  );

  it('REQ-04: Basic is split at the first colon only', async () => {
    await clientWithSecret('id', 'pa:ss');
    const present = (text: string) => server.post('/oauth/token', { grant_type: 'client_credentials' }, basic(text));
    expect(await expectIssued(server, await present('id:pa:ss'))).toMatchObject({ sub: 'id' });
    for (const wrong of ['id:pa', 'id:ss', 'id:pa:ss:', 'id:pa,ss']) expect((await present(wrong)).status).toBe(401);
  });
});

describe('REQ-06: Basic credentials are form-encoded first', () => {
  it('REQ-06: the header of the case is understood', async () => {
    await clientWithSecret('1PpG/Q 1', 'z/tZ9VwFZqApmIQ+ZH1I5pLk/uB4ud:X2/8bL+wfFTt1rFw=');
    const authorization =
      'Basic MVBwRyUyRlErMTp6JTJGdFo5VndGWnFBcG1JUSUyQlpIMUk1cExrJTJGdUI0dWQlM0FYMiUyRjhiTCUyQndmRlR0MXJGdyUzRA==';
    const answer = await server.post('/oauth/token', { grant_type: 'client_credentials' }, { authorization });
    expect(await expectIssued(server, answer)).toMatchObject({ sub: '1PpG/Q 1', client_id: '1PpG/Q 1' });
  });
});

describe('REQ-08: a body of another type is called that', () => {
  it.each([['application/json'], ['text/plain'], ['multipart/form-data'], ['none']])('REQ-08: %s', async (type) => {
    const headers: Record<string, string> = type === 'none' ? {} : { 'content-type': type };
    const body = '{"grant_type":"client_credentials"}';
    const answer = await server.send('POST', '/oauth/token', { headers, body });
    await expectRequestError(server, answer, 'invalid_request', NOT_A_FORM);
  });
});

describe('REQ-10: an empty scope is none', () => {
  it('REQ-10: gives the default scopes', async () => {
    const body = `grant_type=client_credentials&scope=&client_assertion_type=${encodeURIComponent(ASSERTION_TYPE)}&client_assertion=${freshAssertion().build()}`;
    const answer = await server.send('POST', '/oauth/token', { headers: { 'content-type': FORM }, body });
    expect(await expectIssued(server, answer)).toMatchObject({ scope: 'read write' });
    expect(answer.json.scope).toBe('read write');
  });
});

describe('REQ-12: wrong and missing assertions have the errors of the specification', () => {
  const refused = (reason: string) => (answer: Answer) => expectRefused(server, answer, reason);
  const malformed = (answer: Answer) =>
    expectRequestError(server, answer, 'invalid_request', 'client_assertion and client_assertion_type go together');

  it.each<[string, Readonly<Record<string, string>>, (answer: Answer) => Promise<unknown>]>([
    ['an unknown type', { client_assertion_type: 'foo' }, refused('assertion_type_not_supported')],
    ['an empty assertion', { client_assertion: '' }, malformed],
    ['an empty type', { client_assertion_type: '' }, malformed],
    ['abc', { client_assertion: 'abc' }, refused('assertion_malformed')],
    ['a.b.c', { client_assertion: 'a.b.c' }, refused('assertion_malformed')],
    ['two dots', { client_assertion: '..' }, refused('assertion_malformed')],
    ['two dots between garbage', { client_assertion: '\u{1F9A6}!.%00.\u0000' }, refused('assertion_malformed')],
    ['a JSON object', { client_assertion: '{"alg":"none"}' }, refused('assertion_malformed')],
  ])('REQ-12: %s', async (_name, change, expectation) => {
    const fields = { ...ASSERTION_FIELDS, client_assertion: freshAssertion().build(), ...change };
    const answer = await server.post('/oauth/token', fields);
    expect(answer.headers).toMatchObject({
      'cache-control': 'no-store',
      'content-type': 'application/json; charset=utf-8',
    });
    await expectation(answer);
  });
});

describe('REQ-14: more scope than allowed is refused, never narrowed', () => {
  const unclear = 'scope is not a list of names with single spaces between them';

  it.each([
    ['read admin', 'scope "admin" is not allowed'],
    ['READ', 'scope "READ" is not allowed'],
    ['read,write', 'scope "read,write" is not allowed'],
    ['read  write', unclear],
    ['read\twrite', unclear],
    [' read', unclear],
    ['read\nwrite', unclear],
  ])('REQ-14: %j', async (scope, detail) => {
    const assertion = freshAssertion().build();
    const answer = await server.token(assertion, { scope });
    const description = 'the requested scope is not allowed';
    expect(await expectRequestError(server, answer, 'invalid_scope', description)).toMatchObject({ detail });
    expect(await expectIssued(server, await server.token(assertion, { scope: 'write read' }))).toMatchObject({
      scope: 'write read',
    });
  });
});

describe('REQ-15: an unknown client is a client problem', () => {
  let issuer: PinnedIssuer;

  beforeAll(async () => {
    issuer = await pinIssuer(server, 'https://req-15.example.com', 'app-a');
  });

  it('REQ-15: an assertion that is valid for nobody is invalid_client, without a challenge', async () => {
    const answer = await server.token(issuer.assertion('nobody').build(), { client_id: 'does-not-exist' });
    await expectRefused(server, answer, 'subject_not_bound', 'no binding for subject "nobody"');
    expect(answer.headers['www-authenticate']).toBeUndefined();
  });

  it('REQ-15: an assertion that is valid for somebody else too', async () => {
    const answer = await server.token(freshAssertion().build(), { client_id: 'does-not-exist' });
    await expectRefused(server, answer, 'client_mismatch');
  });

  it('REQ-15: in the Authorization header it is 401, with a challenge', async () => {
    const grant = { grant_type: 'client_credentials' };
    const answer = await server.post('/oauth/token', grant, basic('does-not-exist:x'));
    expect([answer.status, answer.text]).toEqual([
      401,
      '{"error":"invalid_client","error_description":"client authentication failed"}',
    ]);
    expect(answer.headers['www-authenticate']).toBe('Basic realm="countersign"');
    expect(await server.auditOf(answer)).toMatchObject({ reason: 'client_unknown', client_id: 'does-not-exist' });
  });
});
