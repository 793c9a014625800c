import { describe, expect, it } from 'vitest';
import { parseForm } from '../../src/oauth/form-body.ts';

const parsed = (body: string) => {
  const form = parseForm(body);
  return form.ok ? Object.fromEntries(form.value) : form.error.error;
};

describe('a form', () => {
  it.each<[string, string, unknown]>([
    ['pairs', 'a=1&b=2', { a: ['1'], b: ['2'] }],
    ['percent-encoding and plus', 'a=x%20y+z%2B', { a: ['x y z+'] }],
    ['an equals sign in a value', 'a=b=c', { a: ['b=c'] }],
    ['UTF-8', 'a=%C3%A9', { a: ['é'] }],
    ['an empty value is absent', 'a=&b=1', { b: ['1'] }],
    ['a name without a value is absent', 'a&b=1', { b: ['1'] }],
    ['an empty body', '', {}],
    ['stray ampersands', '&&a=1&', { a: ['1'] }],
    ['a repeated resource', 'resource=x&resource=y', { resource: ['x', 'y'] }],
    ['a repeated audience', 'audience=x&audience=x', { audience: ['x', 'x'] }],
    [
      'a name like an object member',
      '__proto__=1&constructor=2',
      Object.fromEntries([
        ['__proto__', ['1']],
        ['constructor', ['2']],
      ]),
    ],
  ])('%s', (_name, body, fields) => {
    expect(parsed(body)).toEqual(fields);
  });

  it.each([
    ['the same value twice', 'scope=a&scope=a'],
    ['two values', 'client_assertion=a&client_assertion=b'],
    ['a value and nothing', 'scope=a&scope='],
    ['a name in two spellings', 'scope=a&sc%6Fpe=b'],
    ['a broken escape', 'scope=%ZZ'],
    ['an escape cut off', 'scope=%2'],
    ['bytes that are not UTF-8', 'scope=%FF'],
    ['a name that is not UTF-8', '%FF=a'],
    ['more than a hundred parameters', Array.from({ length: 101 }, (_, index) => `p${index}=1`).join('&')],
  ])('%s is invalid_request', (_name, body) => {
    expect(parsed(body)).toBe('invalid_request');
  });
});
