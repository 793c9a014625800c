import { describe, expect, it } from 'vitest';
import { RESERVED_CLAIMS } from '../../src/issuance/access-token.ts';
import {
  bindingSubjectProblems,
  parseWorkloadBindingInput,
  parseWorkloadBindingUpdate,
} from '../../src/registry/workload-binding-input.ts';
import { BINDING } from '../fixtures/rows.ts';

const MINIMAL = { trusted_issuer_id: 'issuer-1', client_id: 'edge-worker', subject: 'repo:org/repo:ref:main' };
const parse = (changes: object) => parseWorkloadBindingInput({ ...MINIMAL, ...changes });

describe('a new workload binding', () => {
  it('needs an issuer, a client and a subject; everything else has a default', () => {
    expect(parse({})).toEqual({
      ok: true,
      value: {
        trustedIssuerId: 'issuer-1',
        client: 'edge-worker',
        subject: 'repo:org/repo:ref:main',
        claims: {},
        tokenClaims: {},
        isActive: true,
      },
    });
  });

  it.each<[string, object, object]>([
    [
      'conditions on claims',
      { claims: { 'kubernetes.io.namespace': 'prod', admin: false, level: 3 } },
      { claims: { 'kubernetes.io.namespace': 'prod', admin: false, level: 3 } },
    ],
    [
      'conditions as JSON text',
      { claims: '{"repository_owner_id":"123"}' },
      { claims: { repository_owner_id: '123' } },
    ],
    ['an empty text as no conditions', { claims: '' }, { claims: {} }],
    [
      'templates',
      { token_claims: { runner_id: '{issuer.name}/{kubernetes.node.name|dots_to_underscores}' } },
      { tokenClaims: { runner_id: '{issuer.name}/{kubernetes.node.name|dots_to_underscores}' } },
    ],
    [
      'templates as JSON text',
      { token_claims: '{"https://example.com/runner":"{subject}"}' },
      { tokenClaims: { 'https://example.com/runner': '{subject}' } },
    ],
    ['a switched-off binding', { is_active: false }, { isActive: false }],
  ])('takes %s', (_title, changes, expected) => {
    expect(parse(changes)).toMatchObject({ ok: true, value: expected });
  });

  it.each<[string, object, readonly string[], string]>([
    ['no issuer', { trusted_issuer_id: null }, ['trusted_issuer_id'], 'is required'],
    ['no client', { client_id: null }, ['client_id'], 'is required'],
    ['no subject', { subject: null }, ['subject'], 'is required'],
    [
      'a list as conditions',
      { claims: ['a'] },
      ['claims'],
      'must be a JSON object, or JSON text of one with every member once',
    ],
    [
      'text that is no JSON as conditions',
      { claims: 'a=b' },
      ['claims'],
      'must be a JSON object, or JSON text of one with every member once',
    ],
    [
      'JSON text with a repeated member',
      { claims: '{"a":"b","a":"c"}' },
      ['claims'],
      'must be a JSON object, or JSON text of one with every member once',
    ],
    [
      'a list inside a condition',
      { claims: { a: ['b'] } },
      ['claims', 'a'],
      'must be a string of at most 1024 characters, a number, true or false',
    ],
    [
      'null as condition',
      { claims: { a: null } },
      ['claims', 'a'],
      'must be a string of at most 1024 characters, a number, true or false',
    ],
    [
      'a condition on no claim',
      { claims: { '': 'b' } },
      ['claims', ''],
      'must be a claim path: names joined by single dots',
    ],
    [
      'a claim path with an empty step',
      { claims: { 'a..b': 'c' } },
      ['claims', 'a..b'],
      'must be a claim path: names joined by single dots',
    ],
    [
      '21 conditions',
      { claims: Object.fromEntries(Array.from({ length: 21 }, (_, i) => [`c${i}`, 1])) },
      ['claims'],
      'must not have more than 20 members',
    ],
    ['a template that is a number', { token_claims: { a: 1 } }, ['token_claims', 'a'], 'must be a template: text'],
    [
      'a template with an open brace',
      { token_claims: { a: '{subject' } },
      ['token_claims', 'a'],
      'a brace is not closed or not opened',
    ],
    [
      'a template with an unknown filter',
      { token_claims: { a: '{subject|upper}' } },
      ['token_claims', 'a'],
      'unknown filter in {subject|upper}; the only one is dots_to_underscores',
    ],
    [
      'a claim name with a space',
      { token_claims: { 'a b': 'x' } },
      ['token_claims', 'a b'],
      'must be named in printable ASCII without spaces, quotes and backslashes',
    ],
    ['an unknown field', { pattern: '*' }, ['pattern'], 'unknown field'],
  ])('is refused with %s', (_title, changes, path, message) => {
    expect(parse(changes)).toEqual({ ok: false, error: [{ path, message }] });
  });

  it.each(RESERVED_CLAIMS)('is refused when it would set the claim %s', (name) => {
    expect(parse({ token_claims: { [name]: 'x' } })).toEqual({
      ok: false,
      error: [{ path: ['token_claims', name], message: 'is a claim with a meaning of its own: choose another name' }],
    });
  });

  it.each(['claims', 'token_claims'])('never loses a member of %s without a word, whatever its name', (field) => {
    for (const input of ['{"__proto__":"x","a":"b"}', JSON.parse('{"__proto__":"x","a":"b"}')]) {
      expect(parse({ [field]: input })).toMatchObject({ ok: false, error: [{ path: [field] }] });
    }
  });

  it('is told everything that is wrong at once', () => {
    const parsed = parse({ subject: 7, claims: { '': 1 }, token_claims: { iss: 'x', a: '{' }, extra: 1 });
    expect(parsed.ok ? [] : parsed.error.map(({ path }) => path.join('.')).toSorted()).toEqual([
      'claims.',
      'extra',
      'subject',
      'token_claims.a',
      'token_claims.iss',
    ]);
  });

  it('is refused a subject that its issuer type does not know', () => {
    expect(bindingSubjectProblems('repo:org/repo:ref:main', 'kubernetes_sa')).toMatchObject([{ path: ['subject'] }]);
    expect(bindingSubjectProblems('repo:org/repo:ref:main', 'oidc')).toEqual([]);
  });
});

describe('an update of a workload binding', () => {
  const current = { ...BINDING, claims: { a: 'b' }, isActive: false };

  it('changes only what is given; null is not given', () => {
    expect(parseWorkloadBindingUpdate({ token_claims: { x: 'y' }, claims: null, is_active: null }, current)).toEqual({
      ok: true,
      value: {
        trustedIssuerId: current.trustedIssuerId,
        client: current.clientRowId,
        subject: current.subject,
        claims: { a: 'b' },
        tokenClaims: { x: 'y' },
        isActive: false,
      },
    });
  });

  it('clears conditions with an empty object', () => {
    expect(parseWorkloadBindingUpdate({ claims: {} }, current)).toMatchObject({ ok: true, value: { claims: {} } });
  });

  it('can not move to another issuer', () => {
    expect(parseWorkloadBindingUpdate({ trusted_issuer_id: 'issuer-2' }, current)).toMatchObject({
      ok: false,
      error: [{ path: ['trusted_issuer_id'] }],
    });
  });
});
