import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { templateAmbiguity } from '../../src/assertion/injective-template.ts';
import { parseTokenClaimTemplate, renderTokenClaim } from '../../src/assertion/token-claim-template.ts';

describe('a template for names', () => {
  it.each([
    '{issuer.name}/{kubernetes.node.name|dots_to_underscores}',
    '{issuer.name}/{kubernetes.node.name}',
    '{issuer.name|dots_to_underscores}/{kubernetes.node.name}',
    'runner:{issuer.name}/{kubernetes.namespace}/{kubernetes.pod.name}#{kubernetes.pod.uid}',
    '{issuer.name}.{kubernetes.node.name}',
    '{issuer.name}_{kubernetes.node.name}',
    '{kubernetes.node.name}/{issuer.name}',
    '{kubernetes.node.name}/{issuer.url}',
    '{issuer.name}/{subject}',
    '{client_id}',
    '{kubernetes.namespace}',
    '{kubernetes.pod.uid}',
    '{claims.repository}',
    'prod',
  ])('is unambiguous: %s', (template) => {
    expect(templateAmbiguity(template)).toBeNull();
  });

  it.each([
    ['{kubernetes.node.name}', 'two clusters can have the same {kubernetes.node.name}: begin with {issuer.name}/'],
    ['edge/{subject}', 'two clusters can have the same {subject}: begin with {issuer.name}/'],
    ['{issuer.name}{kubernetes.node.name}', 'nothing stands between {issuer.name} and the next value: write / there'],
    ['{issuer.name}-{kubernetes.node.name}', '"-" can be part of {issuer.name}, so it does not end it: write / there'],
    [
      '{kubernetes.node.name}.{issuer.name}',
      '"." can be part of {kubernetes.node.name}, so it does not end it: write / there',
    ],
    [
      '{kubernetes.node.name|dots_to_underscores}_{issuer.name}',
      '"_" can be part of {kubernetes.node.name}, so it does not end it: write / there',
    ],
    [
      '{issuer.url}/{kubernetes.node.name}',
      '{issuer.url} can have any character in it, so nothing can end it: put it last, or leave it out',
    ],
    [
      '{issuer.name}/{claims.a}/{kubernetes.node.name}',
      '{claims.a} can have any character in it, so nothing can end it: put it last, or leave it out',
    ],
    [
      '{issuer.name}/{client_id|dots_to_underscores}',
      '{client_id} can have both . and _ in it, which dots_to_underscores makes one: leave the filter out',
    ],
  ])('is ambiguous: %s', (template, why) => {
    expect(templateAmbiguity(template)).toBe(why);
  });

  it('gives two workloads two names whenever it is unambiguous', () => {
    const label = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,3}[a-z0-9])?$/);
    const dotted = fc.array(label, { minLength: 1, maxLength: 3 }).map((labels) => labels.join('.'));
    const workload = fc.record({
      'issuer.name': label,
      'kubernetes.namespace': label,
      'kubernetes.pod.name': dotted,
      'kubernetes.node.name': dotted,
    });
    const names = ['issuer.name', 'kubernetes.namespace', 'kubernetes.pod.name', 'kubernetes.node.name'] as const;
    const placeholder = fc
      .tuple(fc.constantFrom(...names), fc.constantFrom('', '|dots_to_underscores'))
      .map(([name, filter]) => ({ name, text: `{${name}${filter}}` }));
    const template = fc.array(fc.tuple(placeholder, fc.constantFrom('', '/', '-', '.', '_', 'x/')), {
      minLength: 1,
      maxLength: 4,
    });
    fc.assert(
      fc.property(template, workload, workload, (parts, one, other) => {
        const text = parts.map(([{ text }, literal]) => text + literal).join('');
        fc.pre(templateAmbiguity(text) === null);
        const parsed = parseTokenClaimTemplate(text);
        if (!parsed.ok) throw new Error(parsed.error);
        const used = parts.map(([{ name }]) => name);
        const nameOf = (values: Readonly<Record<string, string>>) =>
          renderTokenClaim(parsed.value, (name) => values[name]);
        const isSame = used.every((name) => one[name] === other[name]);
        expect(nameOf(one) === nameOf(other)).toBe(isSame);
      }),
      { numRuns: 2_000 },
    );
  });
});
