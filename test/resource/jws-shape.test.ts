import { describe, expect, it } from 'vitest';
import { hasJwsShape } from '../../src/resource/jws-shape.ts';
import { API, anAccessToken } from '../fixtures/access-tokens.ts';

const VALID = anAccessToken('https://as.example.com').build();
const [HEADER = '', CLAIMS = '', SIGNATURE = ''] = VALID.split('.');
const encode = (text: string | Uint8Array): string => Buffer.from(text).toString('base64url');
const withHeader = (header: string | Uint8Array): string => `${encode(header)}.${CLAIMS}.${SIGNATURE}`;

describe('the shape of a compact JWS', () => {
  it.each([
    ['our own access token', VALID],
    ['a token of another issuer', anAccessToken('https://evil.example.com').build()],
    ['alg none', withHeader('{"alg":"none"}')],
    ['alg none and no signature (RFC 7519 §6.1)', `${encode('{"alg":"none"}')}.${CLAIMS}.`],
    ['a detached payload (RFC 7515 appendix F)', `${HEADER}..${SIGNATURE}`],
    ['an alg that is a number', withHeader('{"alg":7}')],
    ['an alg that is null', withHeader('{"alg":null}')],
    ['a repeated alg', withHeader('{"alg":"ES256","alg":"none"}')],
    ['white space in the header', withHeader(' {\n"alg" : "ES256"}\t')],
    ['a byte order mark before the header', withHeader('\uFEFF{"alg":"ES256"}')],
    ['a header that is not quite UTF-8', withHeader(Buffer.from('{"alg":"\xff"}', 'latin1'))],
    ['alg in escapes', withHeader('{"\\u0061lg":"ES256"}')],
    ['enc beside alg', withHeader('{"alg":"dir","enc":"A256GCM"}')],
    ['claims that are no JSON', `${HEADER}.${encode('claims')}.${SIGNATURE}`],
    ['a spelling of the header that is not canonical', `${encode('{"alg":""}').replace(/Q$/, 'R')}.e30.AA`],
  ])('is that of %s', (_what, token) => {
    expect(hasJwsShape(token)).toBe(true);
  });

  it.each([
    ['nothing', ''],
    ['a word', 'opaque-token'],
    ['two dots', '..'],
    ['dots between words', 'v1.runner.42'],
    ['a header alone', HEADER],
    ['two parts', `${HEADER}.${CLAIMS}`],
    ['a header of nothing', `.${CLAIMS}.${SIGNATURE}`],
    ['four parts', `${VALID}.${SIGNATURE}`],
    ['a JWE (five parts)', `${encode('{"alg":"dir","enc":"A256GCM"}')}.a.b.c.d`],
    ['a header without alg', withHeader('{"typ":"JWT"}')],
    ['an inherited name for alg', withHeader('{"__proto__":{"alg":"ES256"}}')],
    ['a header that is a list', withHeader('["alg"]')],
    ['a header that is a text', withHeader('"alg"')],
    ['a header that is null', withHeader('null')],
    ['a header cut short', withHeader('{"alg":"ES256"')],
    ['a header in base64 with plus and slash', `${HEADER}+/.${CLAIMS}.${SIGNATURE}`],
    ['a part with a tilde', `${HEADER}.${CLAIMS}~.${SIGNATURE}`],
    ['padding at the end', `${VALID}==`],
    ['a line end', `${VALID}\n`],
    ['an identifier of an API', API],
  ])('is not that of %s', (_what, token) => {
    expect(hasJwsShape(token)).toBe(false);
  });
});
