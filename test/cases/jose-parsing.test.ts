/** Cases of the theme `jose-parsing`: one token has one spelling and one meaning, and nothing else is a token. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AUDIENCE, CLUSTER_CLAIMS, CLUSTER_ISSUER, KID, SUBJECT } from '../fixtures/assertions.ts';
import { ASSERTION_TYPE, freshAssertion, type RunningServer, startServer } from '../fixtures/running-server.ts';
import { NOW } from '../fixtures/settable-clock.ts';
import { expectIssued, expectRefused } from './outcome.ts';
import { signedBytes } from './signed-bytes.ts';

const NOT_CANONICAL = 'a part is empty or not canonical base64url';

let server: RunningServer;

beforeAll(async () => {
  server = await startServer();
  await server.trustCluster();
});
afterAll(() => server.close());

/** The claims of a good assertion, as text. */
const goodText = () => JSON.stringify(freshAssertion().claims);

describe('PRS-01: a repeated member is refused wherever it is', () => {
  const claims = 'claims: a member is repeated';

  it.each([
    ['the payload of the case', () => '{"iss":"i","sub":"a","sub":"b","aud":"x","exp":1}', claims],
    ['sub twice in good claims', () => goodText().replace('{', `{"sub":"${SUBJECT}",`), claims],
    ['one spelt with an escape', () => goodText().replace('{', `{"s\\u0075b":"${SUBJECT}",`), claims],
    ['a nested one', () => goodText().replace('"namespace"', '"namespace":"b","namespace"'), claims],
    ['one within a list', () => goodText().replace('{', '{"list":[1,{"a":1,"a":2}],'), claims],
    [
      'two that differ by case',
      () => goodText().replace('{', '{"SUB":"x",'),
      'claims: two members differ only by case',
    ],
  ])('PRS-01: %s', async (_name, text, detail) => {
    await expectRefused(server, await server.token(signedBytes(text())), 'assertion_malformed', detail);
  });

  it.each([
    ['alg', `{"alg":"none","alg":"RS256","kid":"${KID}"}`],
    ['kid', `{"alg":"RS256","kid":"x","kid":"${KID}"}`],
  ])('PRS-01: %s twice in the header', async (_name, header) => {
    const answer = await server.token(signedBytes(goodText(), header));
    await expectRefused(server, answer, 'assertion_malformed', 'header: a member is repeated');
  });
});

describe('PRS-03: base64url has one form', () => {
  /** The same bits with another last character, in which the bits beyond the last byte are not zero. */
  const nonCanonical = (segment: string) => {
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    return segment.slice(0, -1) + alphabet[alphabet.indexOf(segment.at(-1) ?? '') + 1];
  };
  const unpadded = (assertion: string) => assertion.split('.').every((part) => part.length % 4 !== 0);
  /** An assertion no part of which fills its last character. */
  const ragged = () => {
    for (let filler = ''; ; filler += 'x') {
      const assertion = freshAssertion().with({ filler }).withHeader({ x: 'xx' }).build();
      if (unpadded(assertion)) return assertion;
    }
  };

  it.each<[string, (header: string, payload: string, signature: string) => string]>([
    ['a padded header', (h, p, s) => `${h}=.${p}.${s}`],
    ['a padded payload', (h, p, s) => `${h}.${p}=.${s}`],
    ['a padded signature', (h, p, s) => `${h}.${p}.${s}==`],
    ['+ in the payload', (h, p, s) => `${h}.${p.slice(0, 8)}+${p.slice(9)}.${s}`],
    ['/ in the payload', (h, p, s) => `${h}.${p.slice(0, 8)}/${p.slice(9)}.${s}`],
    ['the other alphabet in the signature', (h, p, s) => `${h}.${p}.${s.replaceAll('-', '+').replaceAll('_', '/')}`],
    ['a newline in the payload', (h, p, s) => `${h}.${p.slice(0, 8)}\n${p.slice(8)}.${s}`],
    ['a space in the signature', (h, p, s) => `${h}.${p}.${s.slice(0, 8)} ${s.slice(8)}`],
    ['an empty header', (_h, p, s) => `.${p}.${s}`],
    ['an empty payload', (h, _p, s) => `${h}..${s}`],
    ['an empty signature', (h, p) => `${h}.${p}.`],
    ['another last character of the header', (h, p, s) => `${nonCanonical(h)}.${p}.${s}`],
    ['another last character of the payload', (h, p, s) => `${h}.${nonCanonical(p)}.${s}`],
    ['another last character of the signature', (h, p, s) => `${h}.${p}.${nonCanonical(s)}`],
    ['a segment of one character', (h, p) => `${h}.${p}.A`],
  ])('PRS-03: %s is refused, and is not another token for the replay check', async (_name, change) => {
    const assertion = ragged();
    const [header = '', payload = '', signature = ''] = assertion.split('.');
    const changed = change(header, payload, signature);
    expect(changed).not.toBe(assertion);
    const present = async () =>
      expectRefused(server, await server.token(changed), 'assertion_malformed', NOT_CANONICAL);
    await present();
    await expectIssued(server, await server.token(assertion));
    await present();
    await expectRefused(server, await server.token(assertion), 'replayed');
  });
});

describe('PRS-04: white space around an assertion is not trimmed here', () => {
  it.each([
    ['a line feed after it', (jwt: string) => `${jwt}%0A`],
    ['a space before it', (jwt: string) => `%20${jwt}`],
    ['a plus, which is a space', (jwt: string) => `+${jwt}`],
    ['a carriage return and a line feed after it', (jwt: string) => `${jwt}%0D%0A`],
    ['a tab after it', (jwt: string) => `${jwt}%09`],
    ['a NUL after it', (jwt: string) => `${jwt}%00`],
  ])('PRS-04: %s is malformed, with a hint for the admin, and costs nothing', async (_name, encode) => {
    const assertion = freshAssertion().build();
    const type = encodeURIComponent(ASSERTION_TYPE);
    const body = `grant_type=client_credentials&client_assertion_type=${type}&client_assertion=${encode(assertion)}`;
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const answer = await server.send('POST', '/oauth/token', { headers, body });
    expect(await expectRefused(server, answer, 'assertion_malformed', NOT_CANONICAL)).toMatchObject({
      hint: 'Send the token file byte for byte, without white space or a newline around it.',
    });
    await expectIssued(server, await server.token(assertion));
  });
});

describe('PRS-06: only a JSON object is a set of claims', () => {
  const withoutSubject = () => JSON.stringify(freshAssertion().without('sub').claims);

  it.each<[string, () => string | Buffer, string, string | undefined]>([
    ['[]', () => '[]', 'assertion_malformed', 'claims: not a JSON object'],
    ['"str"', () => '"str"', 'assertion_malformed', 'claims: not a JSON object'],
    ['null', () => 'null', 'assertion_malformed', 'claims: not a JSON object'],
    ['7', () => '7', 'assertion_malformed', 'claims: not a JSON object'],
    ['an object without issuer', () => '{"sub":{}}', 'iss_missing', undefined],
    ['__proto__ alone', () => '{"__proto__":{"sub":"x"}}', 'iss_missing', undefined],
    ['constructor alone', () => '{"constructor":1}', 'iss_missing', undefined],
    ['good claims after a byte order mark', () => `\uFEFF${goodText()}`, 'assertion_malformed', 'claims: not JSON'],
    [
      'bytes that are no UTF-8',
      () => Buffer.concat([Buffer.from(goodText().slice(0, -1)), Buffer.from(',"x":"\xff"}', 'latin1')]),
      'assertion_malformed',
      'claims: not UTF-8',
    ],
    ['something after the object', () => '{"iss":"i"} trailing', 'assertion_malformed', 'claims: not JSON'],
    ['two objects', () => `${goodText()}${goodText()}`, 'assertion_malformed', 'claims: not JSON'],
    ['a subject that is an object', () => `${withoutSubject().slice(0, -1)},"sub":{}}`, 'sub_missing', undefined],
    [
      'a subject that comes by the prototype',
      () => `${withoutSubject().slice(0, -1)},"__proto__":{"sub":"${SUBJECT}"}}`,
      'sub_missing',
      undefined,
    ],
    [
      'lists in lists, five thousand deep',
      () => `{"iss":"${CLUSTER_ISSUER}","x":${'['.repeat(5000)}${']'.repeat(5000)}}`,
      'assertion_malformed',
      'claims: nested too deeply',
    ],
    [
      'lists in lists, ten thousand deep',
      () => '['.repeat(10_000) + ']'.repeat(10_000),
      'assertion_too_large',
      undefined,
    ],
    [
      'objects in objects',
      () => `${'{"a":'.repeat(17)}1${'}'.repeat(17)}`,
      'assertion_malformed',
      'claims: nested too deeply',
    ],
    ['lists that do not end', () => '['.repeat(5000), 'assertion_malformed', 'claims: nested too deeply'],
  ])('PRS-06: %s is refused', async (_name, payload, reason, detail) => {
    await expectRefused(server, await server.token(signedBytes(payload())), reason, detail);
  });

  it.each([
    '[]',
    '"str"',
    'null',
    '{',
    '',
    '{"alg":"RS256"} ',
    '\uFEFF{"alg":"RS256"}',
    '{"alg":["RS256"]}',
    '{"alg":null}',
  ])('PRS-06: a header of %j is refused', async (header) => {
    const isObject = header.startsWith('{"alg":"RS256"}');
    const reason = isObject ? 'kid_missing' : 'assertion_malformed';
    await expectRefused(server, await server.token(signedBytes(goodText(), header)), reason);
  });

  it('PRS-06: nothing of it has reached a prototype, and the server goes on', async () => {
    const claims = `{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},${goodText().slice(1)}`;
    await expectIssued(server, await server.token(signedBytes(claims)));
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
    expect((CLUSTER_CLAIMS as { polluted?: unknown }).polluted).toBeUndefined();
    const minimal = { iss: CLUSTER_ISSUER, sub: SUBJECT, aud: AUDIENCE, exp: NOW + 60, iat: NOW };
    await expectRefused(server, await server.token(signedBytes(JSON.stringify(minimal))), 'kubernetes_claims_missing');
  });
});
