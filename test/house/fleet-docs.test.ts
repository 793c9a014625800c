/** What the documents say of fleets is what the code does: the declarative file, names of workloads, the runner. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { load } from 'js-yaml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { templateAmbiguity } from '../../src/assertion/injective-template.ts';
import { readConfig } from '../../src/config.ts';
import { readDeclarativeFile, SECTIONS } from '../../src/declarative-file/declarative-file.ts';
import { declarativeFileSchema } from '../../src/declarative-file/file-schema.ts';
import { parseRunnerParameters } from '../../src/manifests/runner-parameters.ts';
import { runnerPolicies } from '../../src/manifests/runner-policies.ts';
import { planDeclaration } from '../../src/registry/declaration-plan.ts';
import { TEST_CA_PEM } from '../fixtures/issuer-server.ts';
import { P256, publicJwk } from '../fixtures/keys.ts';
import { NOW } from '../fixtures/settable-clock.ts';
import { codeSpans, readMarkdown, readText, sectionOf, tableRows } from './documents.ts';
import { ROOT } from './source-files.ts';

const README = readMarkdown('README.md');
const SETUP = readMarkdown('setup.md');
const OWN_ISSUER = 'https://as.example.com';
const CLUSTERS = 'k8s/clusters.yaml';

const firstSpans = (heading: string) =>
  tableRows(sectionOf(SETUP, heading)).flatMap(([first = '']) => codeSpans(first.replaceAll('\\|', '|')));

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'countersign-docs-'));
  const key = publicJwk(P256, { kid: 'k1', alg: 'ES256', use: 'sig' });
  await writeFile(join(folder, 'factory-12.json'), JSON.stringify({ keys: [key] }));
  await writeFile(join(folder, 'factory-7-ca.pem'), TEST_CA_PEM);
});
afterAll(() => rm(folder, { recursive: true }));

/** What a first start with this file would say and make. */
async function firstStart(path: string) {
  const file = await readDeclarativeFile(path, OWN_ISSUER, NOW);
  const rows = { clients: [], trustedIssuers: [], workloadBindings: [], denyList: [] };
  const planned = planDeclaration(file.declaration, rows, { now: NOW, newId: () => crypto.randomUUID() });
  return {
    declaration: file.declaration,
    lines: [...(planned.ok ? [] : file.describe(planned.error)), ...file.describe(file.warnings)],
  };
}

const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(declarativeFileSchema());
const examples = [README, SETUP].flatMap(({ path, blocks }) =>
  blocks
    .filter(({ language, text }) => language === 'yaml' && /^(clients|trusted_issuers):/m.test(text))
    .map(({ text, line }) => [`${path}:${line}`, text] as const),
);
const files = [...examples, [CLUSTERS, readText(CLUSTERS)] as const];

describe('examples of the declarative file', () => {
  it.each(examples)('in %s are good', async (_where, text) => {
    const path = join(folder, 'clusters.yaml');
    await writeFile(path, text);
    expect((await firstStart(path)).lines).toEqual([]);
  });

  it(`in ${CLUSTERS} are good, and need no other file`, async () => {
    const { lines, declaration } = await firstStart(join(ROOT, CLUSTERS));
    expect(lines).toEqual([]);
    const { clients, trustedIssuers, denyList } = declaration;
    expect([clients, trustedIssuers, denyList].map(({ length }) => length)).toEqual([2, 3, 2]);
    const sources = trustedIssuers.map(({ fields }) => fields.keySourceType);
    expect(sources).toEqual(['oidc_discovery', 'static_jwks_url', 'static_jwks']);
  });

  it.each(files)('in %s are what the schema for editors wants', (_where, text) => {
    expect([validate(load(text)), validate.errors]).toEqual([true, null]);
  });

  it('are there, one of them with every section', () => {
    expect(examples.map(([where]) => where.split(':')[0])).toEqual(expect.arrayContaining(['README.md', 'setup.md']));
    expect(examples.map(([, text]) => Object.keys(Object(load(text))).sort())).toContainEqual([...SECTIONS].sort());
  });

  it('and mistakes in them are named as setup.md shows', async () => {
    const said = [...SETUP.text.matchAll(/^clusters\.yaml:\d+: .*$/gm)].map(([line]) => line);
    expect(said.length).toBeGreaterThan(1);
    const [text = ''] = examples.flatMap(([where, example]) => (where.startsWith('setup.md') ? [example] : []));
    const path = join(folder, 'clusters.yaml');
    const broken = text
      .replace('{issuer.name}/{kubernetes.node', '{issuer.name}-{kubernetes.node')
      .replace('    ca_file:', '    jwks_file: factory-7.json\n    ca_file:');
    await writeFile(path, broken);
    expect((await firstStart(path)).lines).toEqual(said);
  });
});

describe('the tables of the declarative file', () => {
  type Schema = { readonly properties?: Record<string, Schema>; readonly items?: Schema };
  const sections: Record<string, Schema> = (declarativeFileSchema() as Schema).properties ?? {};
  const fieldsOf = (section: string) => Object.keys(sections[section]?.items?.properties ?? {});
  const named = firstSpans('Sections');

  it('have every section', () => {
    expect(named.slice(0, SECTIONS.length)).toEqual([...SECTIONS]);
    expect(Object.keys(sections)).toEqual([...SECTIONS]);
  });

  it.each([
    ['clients', 'Client'],
    ['trusted_issuers', 'Trusted issuer'],
    ['workload_bindings', 'Workload binding'],
    ['deny_list', 'Deny list entry'],
  ])('and section 6 have every field of %s, and no others', (section, heading) => {
    const ofTheApi = firstSpans(heading);
    const fields = fieldsOf(section);
    expect(fields.length).toBeGreaterThan(4);
    expect(fields.filter((field) => !ofTheApi.includes(field) && !named.includes(field))).toEqual([]);
  });

  it('have no field that is not there', () => {
    const known = Object.keys(sections).flatMap(fieldsOf);
    expect(named.slice(SECTIONS.length).filter((field) => !known.includes(field))).toEqual([]);
    for (const field of ['jwks_file', 'ca_file', 'require', 'bindings', 'client', 'trusted_issuer']) {
      expect(named).toContain(field);
    }
  });

  it('have every setting that the file may have', async () => {
    const path = join(folder, 'settings.yaml');
    await writeFile(path, 'settings: { unknown: 1 }\n');
    const config = readConfig({ declarativeFile: path }, {});
    const mend = config.ok ? '' : (config.error[0]?.mend ?? '');
    const known = mend.replace(/.* are /, '').split(', ');
    expect(known).toContain('issuer');
    const [, , difference = ''] = tableRows(sectionOf(SETUP, 'Sections'))[0] ?? [];
    expect(codeSpans(difference).filter((span) => !/^[-_]$/.test(span))).toEqual(known);
  });

  it('name what the audit log says of it', () => {
    const actions = [...readText('src/registry/declaration-operations.ts').matchAll(/'(declarative_file\.\w+)'/g)].map(
      ([, action = '']) => action,
    );
    expect(actions).toHaveLength(2);
    for (const heading of ['In force', 'In the audit log']) {
      expect(codeSpans(sectionOf(SETUP, heading))).toEqual(expect.arrayContaining(actions));
    }
  });
});

describe('names that can be confused', () => {
  const rows = tableRows(sectionOf(SETUP, 'Names that cannot be confused')).map(([refused = '', , instead = '']) =>
    [refused, instead].map((cell) => codeSpans(cell.replaceAll('\\|', '|'))[0] ?? ''),
  );

  it('are all kinds of them', () => {
    expect(rows.length).toBeGreaterThan(4);
  });

  it.each(rows)('such as %s are refused, and %s is not', (refused = '', instead = '') => {
    expect(templateAmbiguity(refused)).not.toBeNull();
    expect(templateAmbiguity(instead)).toBeNull();
  });
});

describe('the runner', () => {
  const section = sectionOf(SETUP, '15. A runner on every node');

  it('has the policies of the table, and no others', () => {
    const parameters = parseRunnerParameters({ namespace: 'n' });
    if (!parameters.ok) throw new Error(JSON.stringify(parameters.error));
    const policies = runnerPolicies(parameters.value).map(({ name }) => name.replace(/^n-/, ''));
    const documented = tableRows(section).map(([first = '']) => first);
    expect(documented.filter((cell) => !cell.startsWith('`'))).toEqual(policies);
  });

  it.each([
    ['15. A runner on every node', 0, 'src/manifests/runner-parameters.ts', /flag: '([a-z-]+)'/g],
    ["The runner's own part", 1, 'src/command-line/worker-flags.ts', /'--([a-z-]+)/g],
  ])('has the flags that "%s" names', (heading, column, path, pattern) => {
    const flags = [...readText(path).matchAll(pattern)].map(([, flag]) => `--${flag}`);
    const documented = tableRows(sectionOf(SETUP, heading))
      .flatMap((row) => codeSpans(row[column] ?? ''))
      .filter((span) => span.startsWith('--'));
    expect(documented.length).toBeGreaterThan(2);
    expect(documented.filter((flag) => !flags.includes(flag))).toEqual([]);
  });

  it('is applied by the command that the kustomize base names', () => {
    expect(SETUP.prose).toContain('kubectl apply -k k8s/runner');
    expect(readText('k8s/runner/kustomization.yaml')).toContain('kubectl apply -k k8s/runner');
  });
});
