import { describe, expect, it } from 'vitest';
import { readClientCredentials } from '../../src/oauth/client-credentials.ts';
import { parseForm } from '../../src/oauth/form-body.ts';

const JWT_BEARER = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;

function read(fields: Readonly<Record<string, string>>, ...authorizations: string[]) {
  const form = parseForm(new URLSearchParams(fields).toString());
  if (!form.ok) throw new Error('the form of this test is broken');
  return readClientCredentials(form.value, authorizations);
}

function refusalOf(fields: Readonly<Record<string, string>>, ...authorizations: string[]): string {
  const credentials = read(fields, ...authorizations);
  if (credentials.ok) return 'read';
  return credentials.error.kind === 'malformed' ? credentials.error.error.error : credentials.error.refusal.reason;
}

describe('the one method', () => {
  it.each<[string, Readonly<Record<string, string>>, string | undefined, object]>([
    [
      'an assertion',
      { client_assertion: 'a', client_assertion_type: JWT_BEARER },
      undefined,
      { method: 'assertion', assertion: 'a', clientId: null },
    ],
    [
      'an assertion with client_id',
      { client_assertion: 'a', client_assertion_type: JWT_BEARER, client_id: 'x' },
      undefined,
      { method: 'assertion', clientId: 'x' },
    ],
    [
      'a secret in the body',
      { client_id: 'x', client_secret: 's' },
      undefined,
      { method: 'secret', clientId: 'x', secret: 's', usedAuthorizationHeader: false },
    ],
    ['none at all', {}, undefined, { method: 'none', clientId: null }],
    ['none, with a client_id that proves nothing', { client_id: 'x' }, undefined, { method: 'none', clientId: 'x' }],
    ['Basic', {}, basic('x:s'), { method: 'secret', clientId: 'x', secret: 's', usedAuthorizationHeader: true }],
    ['Basic in another case', {}, basic('x:s').replace('Basic', 'bASIC'), { clientId: 'x' }],
    ['Basic with the same client_id in the body', { client_id: 'x' }, basic('x:s'), { clientId: 'x' }],
    ['Basic with a colon in the secret', {}, basic('id:pa:ss'), { clientId: 'id', secret: 'pa:ss' }],
    [
      'Basic, form-encoded as RFC 6749 §2.3.1 asks',
      {},
      'Basic MVBwRyUyRlErMTp6JTJGdFo5VndGWnFBcG1JUSUyQlpIMUk1cExrJTJGdUI0dWQlM0FYMiUyRjhiTCUyQndmRlR0MXJGdyUzRA==',
      { clientId: '1PpG/Q 1', secret: 'z/tZ9VwFZqApmIQ+ZH1I5pLk/uB4ud:X2/8bL+wfFTt1rFw=' },
    ],
  ])('%s', (_name, fields, authorization, expected) => {
    expect(read(fields, ...(authorization === undefined ? [] : [authorization]))).toMatchObject({
      ok: true,
      value: expected,
    });
  });
});

describe('what is refused before anything is verified', () => {
  const assertion = { client_assertion: 'a', client_assertion_type: JWT_BEARER };
  it.each<[string, Readonly<Record<string, string>>, string | undefined, string]>([
    ['a secret without a client_id', { client_secret: 's' }, undefined, 'no_client_authentication'],
    ['an assertion and Basic', assertion, basic('x:'), 'invalid_request'],
    ['an assertion and a Bearer header', assertion, 'Bearer x', 'invalid_request'],
    ['an assertion and a secret', { ...assertion, client_secret: 's' }, undefined, 'invalid_request'],
    ['a secret and Basic', { client_id: 'x', client_secret: 's' }, basic('x:s'), 'invalid_request'],
    ['an assertion without its type', { client_assertion: 'a' }, undefined, 'invalid_request'],
    ['a type without an assertion', { client_assertion_type: JWT_BEARER }, undefined, 'invalid_request'],
    [
      'a SAML assertion',
      { ...assertion, client_assertion_type: JWT_BEARER.replace('jwt', 'saml2') },
      undefined,
      'assertion_type_not_supported',
    ],
    [
      'a type with a space',
      { ...assertion, client_assertion_type: `${JWT_BEARER} ` },
      undefined,
      'assertion_type_not_supported',
    ],
    ['Basic with another client_id in the body', { client_id: 'y' }, basic('x:s'), 'authorization_header_invalid'],
    ['Basic without a colon', {}, basic('x'), 'authorization_header_invalid'],
    ['Basic that is not base64', {}, 'Basic ***', 'authorization_header_invalid'],
    ['Basic with a broken escape', {}, basic('%ZZ:s'), 'authorization_header_invalid'],
    ['a Bearer header', {}, 'Bearer x', 'authorization_header_invalid'],
    ['an empty header', {}, '', 'authorization_header_invalid'],
  ])('%s', (_name, fields, authorization, reason) => {
    expect(refusalOf(fields, ...(authorization === undefined ? [] : [authorization]))).toBe(reason);
  });

  it('two Authorization headers, even of one value', () => {
    expect(refusalOf({}, basic('x:s'), basic('y:t'))).toBe('invalid_request');
    expect(refusalOf({}, basic('x:s'), basic('x:s'))).toBe('invalid_request');
  });
});
