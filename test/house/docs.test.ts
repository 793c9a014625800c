/** What the documents say is what the code does: settings, commands, operations, fields, reasons, numbers and links. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Command } from 'commander';
import { buildSchema, isInputObjectType, parse } from 'graphql';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { MAX_BODY_BYTES } from '../../src/admin/admin-request.ts';
import { MAX_ALIASES, MAX_DEPTH, MAX_TOKENS } from '../../src/admin/document-limits.ts';
import { inputTypeDefs } from '../../src/admin/input-type-defs.ts';
import { typeDefs } from '../../src/admin/type-defs.ts';
import { validateDocument } from '../../src/admin/validation-rules.ts';
import { MAX_ASSERTION_BYTES } from '../../src/assertion/compact-jws.ts';
import { MAX_KEYS_PER_SET } from '../../src/assertion/key-set.ts';
import { CLOCK_SKEW_SECONDS } from '../../src/assertion/time-claims.ts';
import { MAX_TEMPLATE_LENGTH, TEMPLATE_VALUES } from '../../src/assertion/token-claim-template.ts';
import { SETTINGS, WORKER_SETTINGS } from '../../src/config.ts';
import { RESERVED_CLAIMS } from '../../src/issuance/access-token.ts';
import { SECRET_OVERLAP_SECONDS } from '../../src/issuance/client-secret.ts';
import {
  JWKS_MAX_AGE_SECONDS,
  MAX_ACCESS_TOKEN_TTL_SECONDS,
  PUBLISH_AHEAD_SECONDS,
  CLOCK_SKEW_SECONDS as SIGNING_SKEW_SECONDS,
} from '../../src/issuance/signing-key.ts';
import {
  backgroundBackoffSeconds,
  IDLE_SECONDS,
  MAX_BACKOFF_SECONDS,
  MAX_BACKOFF_WITHOUT_KEYS_SECONDS,
  MAX_REFRESH_SECONDS,
  MAX_STALE_SECONDS,
  MIN_REFRESH_SECONDS,
  SHARED_KEY_RETRY_SECONDS,
  UNKNOWN_KID_COOLDOWN_SECONDS,
} from '../../src/key-source/key-set-life.ts';
import { FETCH_DEADLINE_MS, MAX_DOCUMENT_BYTES } from '../../src/key-source/outbound-fetch.ts';
import { FAILING_CONCURRENCY, REFRESH_CONCURRENCY } from '../../src/key-source/refresh-queue.ts';
import { AUDIT_OUTCOMES } from '../../src/observe/audit-log.ts';
import { clientFieldsOf, parseClientInput } from '../../src/registry/client-input.ts';
import {
  denyListEntryFieldsOf,
  MAX_DENIAL_REASON_LENGTH,
  parseDenyListEntryInput,
} from '../../src/registry/deny-list-input.ts';
import { parseTrustedIssuerInput, trustedIssuerFieldsOf } from '../../src/registry/trusted-issuer-input.ts';
import { parseWorkloadBindingInput } from '../../src/registry/workload-binding-input.ts';
import {
  anchorOf,
  codeSpans,
  type MarkdownDocument,
  readMarkdown,
  readText,
  sectionOf,
  tableRows,
} from './documents.ts';
import { ROOT } from './source-files.ts';

const README = readMarkdown('README.md');
const SETUP = readMarkdown('setup.md');
const DOCUMENTS = [README, SETUP];
const MANIFESTS = [
  'k8s/countersign.yaml',
  'k8s/clusters.yaml',
  'k8s/worker.yaml',
  'k8s/rbac.yaml',
  'k8s/kind-config.yaml',
  'k8s/Dockerfile',
];
const OWN_ISSUER = 'https://as.example.com';

/** First cells of a section's tables, without their backticks. */
const firstColumn = (document: MarkdownDocument, heading: string) =>
  tableRows(sectionOf(document, heading)).flatMap(([first = '']) => codeSpans(first));

describe('settings', () => {
  it('are those of the code, in the table of README.md, with flag and default', () => {
    const rows = tableRows(sectionOf(README, 'Settings')).filter(([first = '']) => first.startsWith('`COUNTERSIGN_'));
    const documented = rows.map(([env = '', flag = '', fallback = '']) => [env, flag, fallback].map(unquoted));
    const expected = Object.values(SETTINGS).map(({ env, flag, fallback }) => {
      const besideDatabase = env === SETTINGS.keyFile.env;
      return [env, `--${flag}`, fallback === null && besideDatabase ? 'beside the database' : fallback || 'none'];
    });
    expect(documented).toEqual(expected);
  });

  it.each([...DOCUMENTS.map(({ path }) => path), ...MANIFESTS])('in %s are all known', (path) => {
    const known: readonly string[] = [
      ...Object.values(SETTINGS).map(({ env }) => env),
      ...Object.values(WORKER_SETTINGS),
    ];
    const named = [...readText(path).matchAll(/\bCOUNTERSIGN_[A-Z_]*[A-Z]\b/g)].map(([name]) => name);
    // Kubernetes' own, in a comment that says why they are switched off.
    expect(named.filter((name) => name !== 'COUNTERSIGN_PORT' && !known.includes(name))).toEqual([]);
  });

  it('of the sample worker are all in setup.md', () => {
    expect(Object.values(WORKER_SETTINGS).filter((name) => !SETUP.prose.includes(`\`${name}\``))).toEqual([]);
  });
});

const unquoted = (cell: string) => cell.replace(/^`|`$/g, '');

/** The program that `src/main.ts` builds; it is caught where it would start to read the command line. */
const programs = vi.hoisted((): Command[] => []);
vi.mock('commander', async (importOriginal) => {
  const original = await importOriginal<typeof import('commander')>();
  class CaughtCommand extends original.Command {
    override async parseAsync(): Promise<this> {
      programs.push(this);
      return this;
    }
  }
  return { ...original, Command: CaughtCommand };
});

/** `keys list|rotate --alg ES256` as its words, one list for each alternative, and its flags. */
function readCommandText(text: string) {
  const words = /^[a-z|\\ ]*(?![^ ])/.exec(text)?.[0].trim().split(' ') ?? [];
  const variants = words.reduce<readonly string[][]>(
    (lists, word) => word.split(/\\?\|/).flatMap((option) => lists.map((list) => [...list, option])),
    [[]],
  );
  return { variants, flags: [...text.matchAll(/(?<= )--[a-z-]+/g)].map(([flag]) => flag) };
}

describe('commands', () => {
  let program: Command;
  beforeAll(async () => {
    await import('../../src/main.ts');
    program = programs[0] as Command; // there is one
  });

  const named = DOCUMENTS.flatMap((document) => {
    const lines = document.blocks.flatMap(({ text }) => text.replaceAll(/\\\n */g, '').split('\n'));
    return [
      ...codeSpans(document.prose).flatMap((span) => /^(?:npx )?countersign (.*)$/.exec(span)?.[1] ?? []),
      ...lines.flatMap((line) => /(?:npx countersign|src\/main\.ts) (.*?)(?: [#>|] |$)/.exec(line)?.[1]?.trim() ?? []),
    ];
  });

  it.each([...new Set(named)].filter((text) => /^[a-z]/.test(text)))('countersign %s exists', (text) => {
    const { variants, flags } = readCommandText(text);
    for (const words of variants) {
      const { command, unknown } = findCommand(program, words);
      expect(unknown).toEqual([]);
      expect(flags.filter((flag) => !command.options.some(({ long }) => long === flag))).toEqual([]);
    }
  });

  it('are all in the table of README.md', () => {
    const leaves = (command: Command, path: readonly string[]): readonly string[] =>
      command.commands.length === 0
        ? [path.join(' ')]
        : command.commands.flatMap((sub) => leaves(sub, [...path, sub.name()]));
    const documented = named.flatMap((text) => readCommandText(text).variants.map((words) => words.join(' ')));
    expect(leaves(program, []).filter((path) => !documented.includes(path))).toEqual([]);
  });

  it('of npm are scripts of the package', () => {
    const scripts = Object.keys(JSON.parse(readText('package.json')).scripts);
    const run = DOCUMENTS.flatMap(({ text }) => [
      ...text.matchAll(/npm (?:run )?(demo|test|start|check|bench|[\w:]+)/g),
    ])
      .map(([, name = '']) => name)
      .filter((name) => !['ci', 'brings', 'brought', 'installs'].includes(name) && !/^\d/.test(name));
    expect(run.filter((name) => !scripts.includes(name))).toEqual([]);
  });
});

/** Follows words down the commands; a command with arguments takes what is left. */
function findCommand(program: Command, words: readonly string[]) {
  let command = program;
  for (const [index, word] of words.entries()) {
    const next = command.commands.find((sub) => sub.name() === word);
    if (next === undefined) {
      return { command, unknown: command.registeredArguments.length > 0 ? [] : words.slice(index) };
    }
    command = next;
  }
  return { command, unknown: command.commands.length > 0 ? ['a subcommand is missing'] : [] };
}

const schema = buildSchema([...typeDefs, ...inputTypeDefs].join('\n'));

/** Documents in GraphQL: blocks of their own, here-documents for the shell, and JSON bodies. */
function graphqlDocuments(document: MarkdownDocument): readonly string[] {
  return document.blocks.flatMap(({ language, text }) => {
    if (language === 'graphql') return [text];
    if (language !== 'sh') return [];
    const hereDocuments = [...text.matchAll(/<<EOF.*\n([\s\S]*?)\nEOF$/gm)].map(([, body = '']) =>
      body.replaceAll(/\$\([^)]*\)|\$\w+/g, 'from the shell'),
    );
    const bodies = [...text.matchAll(/'(\{"query".*?\})'/g)].map(([, body = '']) => String(JSON.parse(body).query));
    return [...hereDocuments, ...bodies];
  });
}

describe('the admin API', () => {
  const calls = DOCUMENTS.flatMap((document) =>
    graphqlDocuments(document).map((text) => [/_\w+/.exec(text)?.[0], document.path, text] as const),
  );
  it.each(calls)('is called correctly: %s in %s', (_operation, _path, text) => {
    expect(validateDocument(schema, parse(text))).toEqual([]);
  });

  it('is called in both documents', () => {
    expect(graphqlDocuments(README).length).toBeGreaterThan(2);
    expect(graphqlDocuments(SETUP).length).toBeGreaterThan(8);
  });

  it('has the operations that prose names, and no others', () => {
    const fields = [schema.getQueryType(), schema.getMutationType()].flatMap((type) =>
      Object.keys(type?.getFields() ?? {}),
    );
    const inProse = DOCUMENTS.flatMap(({ prose }) => codeSpans(prose)).flatMap((span) => /^_[a-z_]+/.exec(span) ?? []);
    expect(inProse.filter((name) => !fields.includes(name))).toEqual([]);
    expect(fields.filter((name) => !inProse.includes(name))).toEqual([]);
  });

  it.each([
    ['Client', ['CreateClientRequest', 'UpdateClientRequest']],
    ['Trusted issuer', ['AddTrustedIssuerRequest', 'UpdateTrustedIssuerRequest']],
    ['Workload binding', ['AddWorkloadBindingRequest', 'UpdateWorkloadBindingRequest']],
    ['Deny list entry', ['AddDenyListEntryRequest', 'UpdateDenyListEntryRequest']],
  ])('has the fields of the table "%s", and no others', (heading, types) => {
    const fields = types.flatMap(inputFields).filter((name) => name !== 'id');
    expect(firstColumn(SETUP, heading).toSorted()).toEqual([...new Set(fields)].toSorted());
  });

  it('has no other input field than those that setup.md explains', () => {
    const inputs = Object.values(schema.getTypeMap()).filter(isInputObjectType);
    const explained = ['Client', 'Trusted issuer', 'Workload binding', 'Deny list entry', 'Other inputs'].flatMap(
      (heading) => firstColumn(SETUP, heading),
    );
    const unexplained = inputs.flatMap(({ name }) =>
      inputFields(name)
        .filter((field) => !explained.includes(field))
        .map((field) => `${name}.${field}`),
    );
    expect(unexplained).toEqual([]);
    const known = inputs.flatMap(({ name }) => inputFields(name));
    expect(explained.filter((field) => !known.includes(field))).toEqual([]);
  });
});

function inputFields(type: string): readonly string[] {
  const input = schema.getType(type);
  if (!isInputObjectType(input)) throw new Error(`${type} is not an input type`);
  return Object.keys(input.getFields());
}

/** The row of a field: its default as written, for comparison with what the parser makes of an input without it. */
const documentedDefaults = (heading: string) =>
  tableRows(sectionOf(SETUP, heading)).map(([name = '', fallback = '']) => ({
    name: unquoted(name),
    fallback: unquoted(fallback),
  }));

describe('defaults', () => {
  it('of a client are those of the code', async () => {
    const input = await parseClientInput({ name: 'c', allowed_scopes: ['s'] }, OWN_ISSUER);
    if (!input.ok) throw new Error(JSON.stringify(input.error));
    const { fields, withClientSecret } = input.value;
    const actual = { ...clientFieldsOf(fields), with_client_secret: withClientSecret, default_resource: 'ours' };
    expectDefaults('Client', { ...actual, client_id: 'made' }, ['name', 'allowed_scopes']);
  });

  it('of a trusted issuer are those of the code', async () => {
    const required = {
      name: 'i',
      issuer_url: 'https://issuer.example.com',
      issuer_type: 'oidc',
      key_source_type: 'oidc_discovery',
    };
    const input = await parseTrustedIssuerInput(required, OWN_ISSUER);
    if (!input.ok) throw new Error(JSON.stringify(input.error));
    const { fields, allowedSubjects } = input.value;
    expect(fields.expectedAud).toEqual([OWN_ISSUER]);
    const actual = {
      ...trustedIssuerFieldsOf(fields),
      allowed_subjects: allowedSubjects,
      expected_aud: 'ours',
      algorithms: 'by type',
      require_kid: 'by type',
      discovery_url: 'below the issuer',
      spiffe_refresh_hint_seconds: null,
    };
    expectDefaults('Trusted issuer', actual, Object.keys(required));
    const ofKubernetes = await parseTrustedIssuerInput({ ...required, issuer_type: 'kubernetes_sa' }, OWN_ISSUER);
    if (!ofKubernetes.ok) throw new Error(JSON.stringify(ofKubernetes.error));
    const [, , meaning = ''] =
      tableRows(sectionOf(SETUP, 'Trusted issuer')).find(([name]) => name === '`algorithms`') ?? [];
    expect(meaning).toContain(`\`kubernetes_sa\`: ${ofKubernetes.value.fields.algorithms.join(', ')}. Others:`);
    expect(meaning).toContain(`Others: ${fields.algorithms.join(', ')}`);
    expect([ofKubernetes.value.fields.requireKid, fields.requireKid]).toEqual([true, false]);
  });

  it('of a workload binding are those of the code', () => {
    const required = { trusted_issuer_id: 't', client_id: 'c', subject: 's' };
    const input = parseWorkloadBindingInput(required);
    if (!input.ok) throw new Error(JSON.stringify(input.error));
    const { claims, tokenClaims, isActive } = input.value;
    const actual = { ...required, claims, token_claims: tokenClaims, is_active: isActive };
    expectDefaults('Workload binding', actual, Object.keys(required));
  });

  it('of a deny list entry are those of the code', () => {
    const required = { trusted_issuer_id: 't', reason: 'r' };
    const input = parseDenyListEntryInput({ ...required, node_name: 'n' });
    if (!input.ok) throw new Error(JSON.stringify(input.error));
    expectDefaults(
      'Deny list entry',
      { ...denyListEntryFieldsOf(input.value), node_name: null },
      Object.keys(required),
    );
    expect(sectionOf(SETUP, 'Deny list entry')).toContain(`| ${MAX_DENIAL_REASON_LENGTH} characters, one line |`);
  });
});

/** `none` stands for null and for what is empty; prose defaults are given as they are in `actual`. */
function expectDefaults(heading: string, actual: Readonly<Record<string, unknown>>, required: readonly string[]): void {
  const written = new Map([
    ['our issuer identifier', 'ours'],
    ['made (a UUID)', 'made'],
  ]);
  for (const { name, fallback } of documentedDefaults(heading)) {
    const value = actual[name];
    const isNothing = value === null || JSON.stringify(value) === '[]' || JSON.stringify(value) === '{}';
    const expected = required.includes(name) ? 'required' : isNothing ? 'none' : String(value);
    expect(`${name}: ${written.get(fallback) ?? fallback}`).toBe(`${name}: ${expected}`);
  }
}

describe('refusals', () => {
  /** From the source, since a type is gone when tests run. */
  const reasonsOf = (path: string, type: string): readonly string[] => {
    const union = new RegExp(`export type ${type} =([\\s\\S]*?);\\n\\n`).exec(`${readText(path)}\n\n`)?.[1] ?? '';
    return [...union.matchAll(/reason: '([a-z_]+)'/g)].map(([, reason = '']) => reason);
  };
  const reasons = [
    ...reasonsOf('src/assertion/refusal.ts', 'AssertionRefusal'),
    ...reasonsOf('src/oauth/oauth-error.ts', 'AuthenticationRefusal'),
  ];

  it('are read from the code at all', () => {
    expect(reasons).toContain('replayed');
    expect(reasons).toContain('client_secret_invalid');
    expect(reasons.length).toBeGreaterThan(40);
  });

  it('have a row each in setup.md, and no other reason has one', () => {
    const documented = tableRows(sectionOf(SETUP, 'Every reason')).map(([first = '']) => unquoted(first));
    expect(documented.toSorted()).toEqual(reasons.toSorted());
  });

  it('and all other audit outcomes are explained', () => {
    expect(firstColumn(SETUP, 'In the audit log')).toEqual([...AUDIT_OUTCOMES]);
  });
});

describe('numbers', () => {
  const minutes = (seconds: number) => `${seconds / 60} ${seconds === 60 ? 'minute' : 'minutes'}`;
  const hours = (seconds: number) => `${seconds / 3600} ${seconds === 3600 ? 'hour' : 'hours'}`;
  const text = SETUP.prose.replaceAll(/\s+/g, ' ');

  it.each([
    `but after ${minutes(MIN_REFRESH_SECONDS)} at the earliest`,
    `${hours(MAX_REFRESH_SECONDS)} at the latest`,
    `one extra fetch per issuer in ${minutes(UNKNOWN_KID_COOLDOWN_SECONDS)}`,
    `are refused (\`kid_unknown\`) for ${minutes(UNKNOWN_KID_COOLDOWN_SECONDS)} in each process`,
    `a set is refreshed after ${hours(MAX_REFRESH_SECONDS)} at the latest`,
    `${REFRESH_CONCURRENCY} at a time, at most ${FAILING_CONCURRENCY} of them that failed last`,
    `${REFRESH_CONCURRENCY} background fetches at a time, of which those that failed last take ${FAILING_CONCURRENCY}`,
    `tried again after 2, 4, 8 … ${MAX_BACKOFF_SECONDS} s`,
    `after ${MAX_BACKOFF_WITHOUT_KEYS_SECONDS} s at most while there is no set at all`,
    `By the background alone after ${[1, 2, 3, 4].map((failures) => backgroundBackoffSeconds(failures, 0)).join(', ')} s`,
    `both closed, and both asked again each ${SHARED_KEY_RETRY_SECONDS} s`,
    `(\`Retry-After: ${SHARED_KEY_RETRY_SECONDS}\`)`,
    `used for ${hours(MAX_STALE_SECONDS)} after the last success`,
    `forgotten after ${hours(IDLE_SECONDS)}`,
    `${FETCH_DEADLINE_MS / 1000} s from name to last byte, ${MAX_DOCUMENT_BYTES / 2 ** 20} MiB`,
    `at most ${MAX_KEYS_PER_SET} keys`,
    `(\`max-age=${JWKS_MAX_AGE_SECONDS}\`)`,
    `+ ${minutes(PUBLISH_AHEAD_SECONDS)} (twice the \`max-age\`)`,
    `+ ${MAX_ACCESS_TOKEN_TTL_SECONDS + SIGNING_SKEW_SECONDS} s (the longest token`,
    `stays valid for ${hours(SECRET_OVERLAP_SECONDS)}`,
    `remembered until ${2 * CLOCK_SKEW_SECONDS} s after their \`exp\``,
    `more than ${CLOCK_SKEW_SECONDS} s ahead`,
    `over ${MAX_ASSERTION_BYTES / 1024} KiB`,
    `bodies up to ${MAX_BODY_BYTES / 1024} KiB, ${MAX_TOKENS} tokens, ${MAX_DEPTH} levels, ${MAX_ALIASES} aliases`,
    `has at most ${MAX_TEMPLATE_LENGTH} characters`,
  ])('are those of the code: "%s"', (phrase) => {
    expect(text).toContain(phrase);
  });
});

describe('lists of names', () => {
  it('has every value that a template may name', () => {
    const named = codeSpans(sectionOf(SETUP, 'Templates of `token_claims`'));
    for (const name of [...TEMPLATE_VALUES, 'claims.<path>']) expect(named).toContain(`{${name}}`);
  });

  it('has every reserved claim', () => {
    const named = codeSpans(sectionOf(SETUP, 'Templates of `token_claims`'));
    expect(RESERVED_CLAIMS.filter((claim) => !named.includes(claim))).toEqual([]);
  });

  it('has every figure of ours', () => {
    const sources = ['metrics', 'key-set-metrics', 'review-metrics']
      .map((name) => `src/observe/${name}.ts`)
      .map(readText)
      .join('\n');
    const figures = [...sources.matchAll(/(new Counter\(\{\s*name: )?'(countersign_[a-z_]+)'/g)];
    const expected = figures.map(([, isCounter, name]) => (isCounter === undefined ? name : `${name}_total`));
    expect(expected.length).toBeGreaterThan(20);
    const documented = firstColumn(SETUP, 'Watching it').filter((name) => name.startsWith('countersign_'));
    expect(documented.toSorted()).toEqual(expected.toSorted());
  });
});

describe('links', () => {
  const links = DOCUMENTS.flatMap(({ path, prose }) =>
    [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => [path, target] as const),
  ).filter(([, target]) => !/^https?:/.test(target));

  it.each(links)('from %s to %s lead somewhere', (from, target) => {
    const [path = '', anchor] = target.split('#');
    const file = path === '' ? from : join(dirname(from), path);
    expect(existsSync(join(ROOT, file))).toBe(true);
    if (anchor !== undefined) expect(readMarkdown(file).headings.map(anchorOf)).toContain(anchor);
  });

  it('in code to files of the repository lead somewhere', () => {
    const paths = DOCUMENTS.flatMap(({ text }) => [...text.matchAll(/\bk8s\/[\w.-]+\w/g)].map(([path]) => path));
    expect([...new Set(paths)].filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });
});

describe('examples', () => {
  const blocks = DOCUMENTS.flatMap(({ path, blocks: all }) => all.map((block) => ({ path, ...block })));

  it.each(blocks.filter(({ language }) => language === 'yaml'))('in YAML parse ($path:$line)', ({ text }) => {
    const documents = parseAllDocuments(text, { strict: true, uniqueKeys: true });
    expect(documents.flatMap((document) => document.errors)).toEqual([]);
  });

  it.each(blocks.filter(({ language }) => language === 'json'))('in JSON parse ($path:$line)', ({ text }) => {
    for (const line of text.split('\n')) expect(() => JSON.parse(line)).not.toThrow();
  });

  it('import what the package exports', async () => {
    const { exports } = JSON.parse(readText('package.json'));
    const imports = blocks.flatMap(({ text }) => [
      ...text.matchAll(/^import \{ (.*) \} from 'countersign\/([\w/-]+)';$/gm),
    ]);
    expect(imports.length).toBeGreaterThan(1);
    for (const [, names = '', entry] of imports) {
      const built: string = exports[`./${entry}`].default;
      const source = await import(/* @vite-ignore */ join(ROOT, built.replace('./dist/', 'src/').replace(/js$/, 'ts')));
      expect(Object.keys(source)).toEqual(expect.arrayContaining(names.split(', ')));
    }
  });
});
