/** What the declarative file may say, and how each mistake is named: line, field and mend, all at once. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readDeclarativeFile } from '../../src/declarative-file/declarative-file.ts';
import { planDeclaration } from '../../src/registry/declaration-plan.ts';
import { TEST_CA_PEM } from '../fixtures/issuer-server.ts';
import { publicJwk, RSA_A } from '../fixtures/keys.ts';
import { NOW } from '../fixtures/settable-clock.ts';

const OWN_ISSUER = 'https://as.example.com';
const JWKS = JSON.stringify({ keys: [publicJwk(RSA_A, { kid: 'k1', alg: 'RS256', use: 'sig' })] });

const FLEET = `clients:
  - client_id: compass-runner
    allowed_scopes: [compass]
trusted_issuers:
  - name: prod-eks
    issuer_url: https://oidc.eks.us-east-1.example.com/id/EXAMPLE
    issuer_type: kubernetes_sa
    expected_aud: [compass-runner]
    max_token_lifetime_seconds: 600
    jwks_url: ""
    jwks_file: ""
    ca_file: ""
    require: { pod: true, node: true }
    bindings:
      - client: compass-runner
        subject: system:serviceaccount:compass-runner:compass-runner
        token_claims: { runner_id: "{issuer.name}/{kubernetes.node.name|dots_to_underscores}" }
`;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'countersign-file-'));
  await writeFile(join(folder, 'keys.json'), JWKS);
  await writeFile(join(folder, 'ca.pem'), TEST_CA_PEM);
});
afterEach(() => rm(folder, { recursive: true }));

async function read(text: string | Readonly<Record<string, string>>) {
  const path = join(folder, 'fleet');
  if (typeof text === 'string') {
    await writeFile(path, text);
  } else {
    await mkdir(path);
    for (const [name, content] of Object.entries(text)) await writeFile(join(path, name), content);
  }
  return readDeclarativeFile(path, OWN_ISSUER, NOW);
}

/** All problems of a first start, as they are shown. */
async function problemsOf(text: string | Readonly<Record<string, string>>): Promise<readonly string[]> {
  const file = await read(text);
  const rows = { clients: [], trustedIssuers: [], workloadBindings: [], denyList: [] };
  const planned = planDeclaration(file.declaration, rows, { now: NOW, newId: () => crypto.randomUUID() });
  return planned.ok ? [] : [...file.describe(planned.error)];
}

/** The fleet with one piece of its text replaced. */
const changed = (from: string | RegExp, to: string) => {
  const text = FLEET.replace(from, to);
  if (text === FLEET) throw new Error(`nothing to replace: ${from}`);
  return text;
};

describe('the short form for fleets', () => {
  it('declares a trusted issuer and its bindings', async () => {
    expect(await problemsOf(FLEET)).toEqual([]);
    const { declaration, warnings } = await read(FLEET);
    expect(warnings).toEqual([]);
    expect(declaration.clients).toMatchObject([
      { fields: { clientId: 'compass-runner', name: 'compass-runner', allowedScopes: ['compass'], isActive: true } },
    ]);
    expect(declaration.trustedIssuers).toMatchObject([
      {
        fields: {
          name: 'prod-eks',
          keySourceType: 'oidc_discovery',
          expectedAud: ['compass-runner'],
          maxTokenLifetimeSeconds: 600,
          assertionUse: 'once',
          requirePod: true,
          requireNode: true,
          jwksUrl: null,
          caPem: null,
        },
      },
    ]);
    expect(declaration.workloadBindings).toMatchObject([
      {
        trustedIssuer: 'prod-eks',
        client: 'compass-runner',
        subject: 'system:serviceaccount:compass-runner:compass-runner',
        tokenClaims: { runner_id: '{issuer.name}/{kubernetes.node.name|dots_to_underscores}' },
      },
    ]);
  });

  it.each([
    ['jwks_url: ""', 'jwks_url: https://keys.example.com/jwks', { keySourceType: 'static_jwks_url' }],
    ['jwks_file: ""', 'jwks_file: keys.json', { keySourceType: 'static_jwks', jwks: JWKS }],
    ['jwks_file: ""', `jwks: '${JWKS}'`, { keySourceType: 'static_jwks', jwks: JWKS }],
    ['ca_file: ""', 'ca_file: ca.pem', { keySourceType: 'oidc_discovery', caPem: TEST_CA_PEM }],
    ['require: { pod: true, node: true }', 'require_node: true', { requirePod: false, requireNode: true }],
    ['require: { pod: true, node: true }', 'require: { pod: true }', { requirePod: true, requireNode: false }],
    ['    expected_aud: [compass-runner]\n', '', { expectedAud: [OWN_ISSUER] }],
    ['expected_aud: [compass-runner]', 'assertion_use: until_expiry', { assertionUse: 'until_expiry' }],
  ])('%s may be %s', async (from, to, fields) => {
    const text = changed(from, to);
    expect(await problemsOf(text)).toEqual([]);
    expect((await read(text)).declaration.trustedIssuers).toMatchObject([{ fields }]);
  });

  it('watches every file that it names', async () => {
    const { files } = await read(
      changed('jwks_file: ""', 'jwks_file: ./keys.json').replace('ca_file: ""', 'ca_file: ca.pem'),
    );
    expect(files).toEqual(['fleet', 'keys.json', 'ca.pem'].map((name) => join(folder, name)));
  });
});

describe('the one vocabulary', () => {
  it('takes bindings on their own, the short form of the admin API, and denials', async () => {
    const text = `${FLEET}    service_account_id: compass-runner
    allowed_subjects: [system:serviceaccount:a:b]
workload_bindings:
  - trusted_issuer: prod-eks
    client_id: compass-runner
    subject: system:serviceaccount:c:d
    claims: { kubernetes.io.node.name: node-1 }
    is_active: false
deny_list:
  - { trusted_issuer: prod-eks, node_name: node-9, reason: stolen, expires_at: 2030-01-01T00:00:00+01:00 }
  - { trusted_issuer: prod-eks, subject: "system:serviceaccount:a:b", reason: left }
  - { trusted_issuer: prod-eks, pod_uid: 22222222-2222-4222-8222-222222222222, reason: odd, expires_at: 4102444800 }
`;
    expect(await problemsOf(text)).toEqual([]);
    const { declaration } = await read(text);
    expect(declaration.workloadBindings).toMatchObject([
      { subject: 'system:serviceaccount:compass-runner:compass-runner', isActive: true },
      { subject: 'system:serviceaccount:a:b', client: 'compass-runner', isActive: true },
      { subject: 'system:serviceaccount:c:d', claims: { 'kubernetes.io.node.name': 'node-1' }, isActive: false },
    ]);
    expect(declaration.denyList).toMatchObject([
      { trustedIssuer: 'prod-eks', member: 'node_name', value: 'node-9', expiresAt: Date.UTC(2029, 11, 31, 23) / 1000 },
      { member: 'subject', value: 'system:serviceaccount:a:b', expiresAt: null },
      { member: 'pod_uid', reason: 'odd', expiresAt: 4_102_444_800 },
    ]);
  });

  it('may be empty', async () => {
    expect(await problemsOf('{}')).toEqual([]);
    expect(await problemsOf('clients:\ntrusted_issuers: []\n')).toEqual([]);
  });

  it('may be spread over a folder, in which hidden and other files do not count', async () => {
    const [clients = '', issuers = ''] = FLEET.split(/(?=trusted_issuers:)/);
    expect(
      await problemsOf({ 'a.yaml': issuers, 'b.yml': clients, '.hidden.yaml': 'x: 1', 'notes.txt': 'x: 1' }),
    ).toEqual([]);
  });
});

describe('a mistake is named with its line and its mend', () => {
  it.each<[string, string | RegExp, string, readonly string[]]>([
    [
      'an unknown section',
      'clients:',
      'cleints:',
      [
        'fleet:1: cleints is unknown here: a document has settings, clients, trusted_issuers, workload_bindings, deny_list',
        'fleet:15: trusted_issuers.0.bindings.0.client no client has the client_id "compass-runner": add it under clients',
      ],
    ],
    [
      'an unknown field',
      'expected_aud:',
      'expected_audience:',
      ['fleet:8: trusted_issuers.0.expected_audience unknown field'],
    ],
    [
      'an unknown field of a binding',
      '        subject:',
      '        sub: x\n        subject:',
      ['fleet:16: trusted_issuers.0.bindings.0.sub unknown field'],
    ],
    [
      'an entry that is a text',
      '  - name: prod-eks\n',
      '  - prod\n  - name: prod-eks\n',
      ['fleet:5: trusted_issuers.0 must be a mapping of fields'],
    ],
    [
      'a list that is none',
      '    bindings:\n      - client',
      '    bindings:\n        client',
      ['fleet:14: trusted_issuers.0.bindings must be a list: begin each entry with a dash'],
    ],
    [
      'no name',
      '  - name: prod-eks\n    issuer_url',
      '  - issuer_url',
      ['fleet:5: trusted_issuers.0.name is required'],
    ],
    [
      'capitals in the name',
      'name: prod-eks',
      'name: Prod',
      ['fleet:5: trusted_issuers.0.name must be 1 to 40 of the characters a-z, 0-9 and -'],
    ],
    [
      'a slash in the name',
      'name: prod-eks',
      'name: prod/eks',
      ['fleet:5: trusted_issuers.0.name must be 1 to 40 of the characters a-z, 0-9 and -'],
    ],
    [
      'a name of 41 characters',
      'name: prod-eks',
      `name: ${'a'.repeat(41)}`,
      ['fleet:5: trusted_issuers.0.name must be 1 to 40 of the characters a-z, 0-9 and -'],
    ],
    ['an http issuer', 'https://oidc', 'http://oidc', ['fleet:6: trusted_issuers.0.issuer_url must be an https URL']],
    ['no issuer type', '    issuer_type: kubernetes_sa\n', '', ['fleet:5: trusted_issuers.0.issuer_type is required']],
    [
      'a lifetime below 600 s',
      ': 600',
      ': 599',
      [
        'fleet:9: trusted_issuers.0.max_token_lifetime_seconds must be at least 600: Kubernetes makes no shorter tokens',
      ],
    ],
    [
      'two key overrides',
      'jwks_url: ""\n    jwks_file: ""',
      'jwks_url: https://k.example/\n    jwks_file: keys.json',
      ['fleet:11: trusted_issuers.0.jwks_file is set together with jwks_url: keep one of the two'],
    ],
    [
      'a key override that its type does not have',
      'jwks_file: ""',
      'jwks_file: keys.json\n    key_source_type: oidc_discovery',
      [
        'fleet:11: trusted_issuers.0.jwks_file does not belong to key_source_type oidc_discovery: leave it out, or change the type',
      ],
    ],
    [
      'a key file that is not there',
      'jwks_file: ""',
      'jwks_file: nokeys.json',
      ['fleet:11: trusted_issuers.0.jwks_file can not be read (ENOENT): name a file that this process may read'],
    ],
    [
      'a key file without keys',
      'jwks_file: ""',
      'jwks_file: ca.pem',
      [
        expect.stringMatching(
          /^fleet:11: trusted_issuers\.0\.jwks_file must be JSON text of a JWK set/,
        ) as unknown as string,
      ],
    ],
    [
      'certificates that are none',
      'ca_file: ""',
      'ca_file: keys.json',
      ['fleet:12: trusted_issuers.0.ca_file must hold at least one PEM certificate'],
    ],
    [
      'two ways to require',
      'require:',
      'require_pod: true\n    require:',
      ['fleet:13: trusted_issuers.0.require_pod is set together with require: keep one of the two'],
    ],
    [
      'an unknown requirement',
      'pod: true, node',
      'pods: true, node',
      ['fleet:13: trusted_issuers.0.require.pods unknown field'],
    ],
    [
      'a client that is not there',
      'client: compass-runner',
      'client: compass',
      ['fleet:15: trusted_issuers.0.bindings.0.client no client has the client_id "compass": add it under clients'],
    ],
    [
      'a client under two words',
      'client: compass-runner',
      'client: compass-runner\n        client_id: compass-runner',
      ['fleet:16: trusted_issuers.0.bindings.0.client_id is another word for client: keep one of the two'],
    ],
    [
      'a subject that no workload has',
      'system:serviceaccount:compass-runner:compass-runner',
      'compass-runner',
      [
        'fleet:16: trusted_issuers.0.bindings.0.subject no ServiceAccount can have the subject "compass-runner": it must be system:serviceaccount:<namespace>:<name>',
      ],
    ],
    [
      'a template with an unknown value',
      'kubernetes.node.name',
      'kubernetes.node',
      [
        'fleet:17: trusted_issuers.0.bindings.0.token_claims.runner_id unknown value {kubernetes.node}; known are issuer.name, issuer.url, subject, client_id, kubernetes.namespace, kubernetes.service_account.name, kubernetes.service_account.uid, kubernetes.pod.name, kubernetes.pod.uid, kubernetes.node.name, kubernetes.node.uid and claims.<path>',
      ],
    ],
    [
      'a template that makes one name of two',
      '{issuer.name}/',
      '{issuer.name}',
      [
        'fleet:17: trusted_issuers.0.bindings.0.token_claims.runner_id nothing stands between {issuer.name} and the next value: write / there',
      ],
    ],
    [
      'a name that every cluster has',
      '{issuer.name}/',
      '',
      [
        'fleet:17: trusted_issuers.0.bindings.0.token_claims.runner_id two clusters can have the same {kubernetes.node.name}: begin with {issuer.name}/',
      ],
    ],
    [
      'a slash in a client id',
      'client_id: compass-runner',
      'client_id: compass/runner',
      [
        'fleet:2: clients.0.client_id must not contain a slash',
        'fleet:15: trusted_issuers.0.bindings.0.client no client has the client_id "compass-runner": add it under clients',
      ],
    ],
    [
      'no client id',
      'client_id: compass-runner\n    ',
      'name: c\n    ',
      [
        'fleet:2: clients.0.client_id is required: workload bindings name it',
        'fleet:15: trusted_issuers.0.bindings.0.client no client has the client_id "compass-runner": add it under clients',
      ],
    ],
    [
      'a client secret',
      'allowed_scopes: [compass]',
      'allowed_scopes: [compass]\n    with_client_secret: true',
      ['fleet:4: clients.0.with_client_secret has no place in a file: a secret is shown once, by the admin API'],
    ],
    [
      'our own issuer',
      'https://oidc.eks.us-east-1.example.com/id/EXAMPLE',
      OWN_ISSUER,
      [
        'fleet:6: trusted_issuers.0.issuer_url is the issuer identifier of this server, which can not be its own trusted issuer',
      ],
    ],
  ])('%s', async (_title, from, to, problems) => {
    expect(await problemsOf(changed(from, to))).toEqual(problems);
  });

  const second = (fields: string) =>
    `${FLEET}  - name: second
    issuer_url: https://second.example.com
    issuer_type: kubernetes_sa
`.replace(...(fields.split(' => ') as [string, string]));

  it.each([
    [
      'a name twice',
      'name: second => name: prod-eks',
      'fleet:18: trusted_issuers.1.name repeats the name of another entry, keep one of the two: see fleet:5',
    ],
    [
      'an issuer twice',
      'https://second.example.com => https://oidc.eks.us-east-1.example.com/id/EXAMPLE',
      'fleet:19: trusted_issuers.1.issuer_url repeats the issuer of another entry, keep one of the two: see fleet:6',
    ],
    [
      'an issuer that differs by a final slash',
      'https://second.example.com => https://oidc.eks.us-east-1.example.com/id/EXAMPLE/',
      'fleet:19: trusted_issuers.1.issuer_url repeats the issuer of another entry, keep one of the two: see fleet:6',
    ],
    [
      'an issuer that is an additional one elsewhere',
      'issuer_url: https://second.example.com => issuer_url: https://third.example.com\n    additional_issuer_urls: [https://oidc.eks.us-east-1.example.com/id/EXAMPLE]',
      'fleet:20: trusted_issuers.1.additional_issuer_urls.0 repeats the issuer of another entry, keep one of the two: see fleet:6',
    ],
    [
      'an http additional issuer',
      'issuer_url: https://second.example.com => issuer_url: https://third.example.com\n    additional_issuer_urls: "https://a.example, http://b.example"',
      'fleet:20: trusted_issuers.1.additional_issuer_urls.1 must be an https URL',
    ],
  ])('%s', async (_title, fields, problem) => {
    expect(await problemsOf(second(fields))).toEqual([problem]);
  });

  it.each([
    ['a denial without a reason', 'trusted_issuer: prod-eks, node_name: n', 'fleet:19: deny_list.0.reason is required'],
    [
      'a denial of everybody',
      'trusted_issuer: prod-eks, reason: r',
      'fleet:19: deny_list.0 name exactly one of subject, node_name, pod_uid, service_account_uid',
    ],
    [
      'a denial of an unknown issuer',
      'trusted_issuer: dev, node_name: n, reason: r',
      'fleet:19: deny_list.0.trusted_issuer no entry of trusted_issuers has the name "dev"',
    ],
    [
      'a denial with a local time',
      'trusted_issuer: prod-eks, node_name: n, reason: r, expires_at: 2030-01-01',
      'fleet:19: deny_list.0.expires_at must be an instant such as 2026-12-31T18:00:00Z, or seconds since the epoch',
    ],
  ])('%s', async (_title, fields, problem) => {
    expect(await problemsOf(`${FLEET}deny_list:\n  - { ${fields} }\n`)).toEqual([problem]);
  });

  it('in a folder, with the name of the document', async () => {
    const [clients = '', issuers = ''] = FLEET.split(/(?=trusted_issuers:)/);
    expect(await problemsOf({ 'a.yaml': issuers, 'b.yaml': clients, 'c.yaml': clients, 'd.yaml': 'x: [' })).toEqual([
      'c.yaml:2: clients.0.client_id repeats the client_id of another entry, keep one of the two: see b.yaml:2',
      expect.stringMatching(/^d\.yaml:1: is not one YAML document: /),
    ]);
  });

  it('all at once', async () => {
    const text = FLEET.replace('prod-eks', 'Prod')
      .replace(': 600', ': 60')
      .replace('client: compass', 'client: x')
      .replace('allowed_scopes', 'scopes');
    expect(await problemsOf(text)).toEqual([
      'fleet:2: clients.0.allowed_scopes is required',
      'fleet:3: clients.0.scopes unknown field',
      'fleet:5: trusted_issuers.0.name must be 1 to 40 of the characters a-z, 0-9 and -',
      'fleet:9: trusted_issuers.0.max_token_lifetime_seconds must be at least 600: Kubernetes makes no shorter tokens',
      'fleet:15: trusted_issuers.0.bindings.0.client no client has the client_id "x-runner": add it under clients',
    ]);
  });

  it('a hundred times at most', async () => {
    const bindings = Array.from({ length: 250 }, (_, n) => `- { client: x, subject: "system:serviceaccount:a:b${n}" }`);
    const problems = await problemsOf(`${FLEET}${bindings.map((binding) => `      ${binding}\n`).join('')}`);
    expect(problems).toHaveLength(101);
    expect(problems.at(-1)).toBe('and 150 more');
  });

  it.each([
    ['a path that leads nowhere', 'nowhere', 'can not be read (ENOENT): name a file that this process may read'],
    ['a folder without documents', '', 'is a folder without .yaml files'],
  ])('%s', async (_title, name, why) => {
    const path = join(folder, name);
    const file = await readDeclarativeFile(path, OWN_ISSUER, NOW);
    expect(file.describe(file.declaration.problems)).toEqual([`${path} ${why}`]);
  });
});

describe('what an admin should know', () => {
  it.each([
    [
      'the account of all other pods',
      changed(/:compass-runner:compass-runner/, ':compass-runner:default'),
      /^fleet:16: trusted_issuers\.0\.bindings\.0\.subject "system:.*" is the account of every pod/,
    ],
    [
      'a denial that is over',
      `${FLEET}deny_list:\n  - { trusted_issuer: prod-eks, node_name: n, reason: r, expires_at: 1000 }\n`,
      /^fleet:19: deny_list\.0\.expires_at is over: the entry cuts nothing any more$/,
    ],
  ])('%s', async (_title, text, warning) => {
    expect(await problemsOf(text)).toEqual([]);
    const file = await read(text);
    expect(file.describe(file.warnings)).toEqual([expect.stringMatching(warning)]);
  });
});
