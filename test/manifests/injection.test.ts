/** Whatever passes as a parameter stays a value: it never becomes YAML or CEL of its own. */
import { Environment } from '@marcbachmann/cel-js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { celString, celStrings } from '../../src/manifests/cel-literal.ts';
import { runnerStream } from '../../src/manifests/runner-manifests.ts';
import {
  type GivenParameters,
  parseRunnerParameters,
  RUNNER_PARAMETERS,
  type RunnerParameterName,
} from '../../src/manifests/runner-parameters.ts';
import { yamlString } from '../../src/manifests/yaml-text.ts';
import { denials } from '../k8s/admission-evaluator.ts';
import { ADMIN, changed, podCreation, tokenRequest, workloadWrite } from '../k8s/admission-requests.ts';

const cel = new Environment();

/** Pieces of which attacks on YAML and CEL are made, among ordinary ones. */
const PIECES = [
  ...[
    'a',
    'b1',
    '-',
    '.',
    ':',
    '/',
    '@',
    '_',
    '1',
    '0x1',
    'true',
    'null',
    'https://',
    'http://127.0.0.1',
    '$(X)',
    '$$',
  ],
  ...["'", '"', '`', '\\', "\\'", "' || true || '", "'] || true || ['", '(', ')', '{', '}', '[', ']', '?', '!', '=='],
  ...[
    '\n',
    '\r',
    '\n---\n',
    '\n...\n',
    '\u0085',
    '\u2028',
    '\u2029',
    '\t',
    '\0',
    '\ufeff',
    '\u202e',
    ' ',
    '  ',
    ' #',
    ': ',
  ],
  ...['&a', '*a', '|-', '>', '%', '~', ',', 'é', '運', '😀', '\ud800'],
];
const text = fc.oneof(
  fc.array(fc.constantFrom(...PIECES), { maxLength: 8 }).map((pieces) => pieces.join('')),
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.stringMatching(/^[a-z0-9.:/-]{1,12}$/),
);
const NAMES = Object.keys(RUNNER_PARAMETERS) as RunnerParameterName[]; // the object is a constant of the house
/** One parameter, so that it is its own value that is judged. */
const one: fc.Arbitrary<GivenParameters> = fc.oneof(...NAMES.map((name) => fc.record({ [name]: text })));
/** Half of them without what is refused at first sight, so that the rest of the rules come to their turn. */
const name = fc.oneof(
  text,
  text.map((value) => value.replaceAll(/["'`\\]|\p{C}|\p{Zl}|\p{Zp}/gu, '')),
);
/** The parameters that may hold nearly everything. */
const people: fc.Arbitrary<GivenParameters> = fc.record(
  { controllers: name, deployerGroups: name, deployerUsers: name, audience: name },
  { requiredKeys: [] },
);

/** A tree without the texts in it: member names, kinds of value, lengths of lists that are not parameters. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shapeOf);
  if (typeof value !== 'object' || value === null) return typeof value;
  return Object.entries(value).map(([name, member]) => [name, name === 'args' ? 'arguments' : shapeOf(member)]);
}

function documentsIn(yaml: string, version: '1.1' | '1.2'): readonly unknown[] {
  return parseAllDocuments(yaml, { version, strict: true, uniqueKeys: true }).map((document) => {
    expect(document.errors).toEqual([]);
    return document.toJS();
  });
}

/** The texts of all string literals in an expression, however they are quoted. */
function outsideLiterals(expression: string): string {
  return expression
    .replaceAll(/'(?:[^'\\\n]|\\.)*'/g, "''")
    .replaceAll(/\b\d+\b/g, '0')
    .replaceAll(/''(?:, '')*/g, "''");
}

function expressionsOf(yaml: string): readonly string[] {
  return [...yaml.matchAll(/expression: \|-\n((?: {8,}.*\n)+)/g)].map(([, block = '']) => outsideLiterals(block));
}

const DEFAULT = runnerStream(parsed({}));

function parsed(parameters: GivenParameters) {
  const result = parseRunnerParameters(parameters);
  if (!result.ok) throw new Error('the defaults are good');
  return result.value;
}

describe('any parameters that pass', () => {
  it.each([
    ['any one of them', one, 20],
    ['names of people, and the audience', people, 20],
  ])(
    'leave the documents, their members and the expressions around the names as they are: %s',
    (_what, arbitrary, least) => {
      let passed = 0;
      fc.assert(
        fc.property(arbitrary, (parameters) => {
          const result = parseRunnerParameters(parameters);
          if (!result.ok) return;
          passed += 1;
          const { deployerGroups, deployerUsers } = result.value;
          const yaml = runnerStream(result.value);
          for (const version of ['1.1', '1.2'] as const) {
            expect(documentsIn(yaml, version).map(shapeOf)).toEqual(documentsIn(DEFAULT, version).map(shapeOf));
          }
          // With groups and users there is one more alternative than by default, with users alone another one.
          if (deployerGroups.length > 0 && deployerUsers.length === 0) {
            expect(expressionsOf(yaml)).toEqual(expressionsOf(DEFAULT));
          }
        }),
        { numRuns: 400 },
      );
      expect(passed).toBeGreaterThanOrEqual(least);
    },
  );

  it('deny what has to be denied', () => {
    fc.assert(
      fc.property(people, (parameters) => {
        const result = parseRunnerParameters(parameters);
        if (!result.ok) return;
        const p = result.value;
        const yaml = runnerStream(p);
        expect(denials(yaml, tokenRequest(p))).toEqual([]);
        expect(denials(yaml, tokenRequest(p, ADMIN))).toHaveLength(1);
        expect(
          denials(yaml, changed(tokenRequest(p), ['object', 'spec', 'audiences', 0], `${p.audience}x`)),
        ).toHaveLength(1);
        for (const user of p.controllers) expect(denials(yaml, podCreation(p, user))).toEqual([]);
        expect(denials(yaml, podCreation(p, `${p.controllers[0]}x`))).toHaveLength(1);
        for (const group of p.deployerGroups) {
          expect(
            denials(yaml, workloadWrite(p, 'CREATE', 'daemonsets', { username: 'dana', groups: [group] })),
          ).toEqual([]);
        }
        expect(denials(yaml, workloadWrite(p, 'CREATE', 'daemonsets', ADMIN))).toHaveLength(1);
      }),
      { numRuns: 100 },
    );
  });
});

describe('any text at all', () => {
  it('is one string of CEL, the same text', () => {
    fc.assert(
      fc.property(text, (value) => {
        expect(cel.evaluate(celString(value))).toBe(value);
        expect(celString(value)).not.toMatch(/[\n\r]/);
      }),
      { numRuns: 2000 },
    );
  });

  it('is one string in a list of them', () => {
    fc.assert(
      fc.property(fc.array(text, { maxLength: 5 }), (values) => {
        expect(cel.evaluate(celStrings(values))).toEqual(values);
      }),
    );
  });

  it('is one string of YAML, the same text, if it is a parameter’s', () => {
    const visible = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]+$/u;
    fc.assert(
      fc.property(
        text.filter((value) => visible.test(value)),
        (value) => {
          for (const version of ['1.1', '1.2'] as const) {
            expect(documentsIn(`a: ${yamlString(value)}\nb: [${yamlString(value)}]\n`, version)).toEqual([
              { a: value, b: [value] },
            ]);
          }
        },
      ),
      { numRuns: 2000, examples: [['e0'], ['e-1'], ['e10.5']] },
    );
  });
});
