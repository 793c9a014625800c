/** The JSON Schema for editors: shipped as the code has it, and of one mind with the reader about the form of a file. */
import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { load } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { declarativeFileSchema } from '../../src/declarative-file/file-schema.ts';

const SHIPPED = new URL('../../declarative-file.schema.json', import.meta.url);
const validate = new Ajv2020({ strict: false, validateFormats: false, allErrors: true }).compile(
  declarativeFileSchema(),
);

const FILE = `settings: { issuer: https://as.example.com, workers: 2, private_networks: [10.0.0.0/8] }
clients:
  - client_id: runner
    allowed_scopes: [run]
trusted_issuers:
  - name: prod
    issuer_url: https://oidc.example.com
    issuer_type: kubernetes_sa
    expected_aud: [runner]
    jwks_file: keys.json
    ca_file: ""
    require: { pod: true }
    bindings:
      - { client: runner, subject: "system:serviceaccount:a:b", claims: { kubernetes.io.pod.name: p }, token_claims: { id: "{issuer.name}" } }
workload_bindings:
  - { trusted_issuer: prod, client_id: runner, subject: s, is_active: false }
deny_list:
  - { trusted_issuer: prod, node_name: n, reason: r, expires_at: "2030-01-01T00:00:00Z" }
`;

/** Where the schema sees something wrong. */
function errorsOf(text: string): readonly string[] {
  validate(load(text));
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
}

describe('the schema of the declarative file', () => {
  it('is shipped as it is generated (npm run schema:generate)', () => {
    expect(JSON.parse(readFileSync(SHIPPED, 'utf8'))).toEqual(declarativeFileSchema());
  });

  it('finds a good file good', () => {
    expect(errorsOf(FILE)).toEqual([]);
    expect(errorsOf('{}')).toEqual([]);
  });

  it.each([
    ['an unknown section', 'clients:', 'client:', ' must NOT have additional properties'],
    ['an unknown field', 'jwks_file:', 'jwks_path:', '/trusted_issuers/0 must NOT have additional properties'],
    [
      'a name with a slash',
      'name: prod\n',
      'name: a/b\n',
      '/trusted_issuers/0/name must match pattern "^[a-z0-9-]{1,40}$"',
    ],
    [
      'an http issuer',
      'https://oidc',
      'http://oidc',
      '/trusted_issuers/0/issuer_url must match pattern "^https:\\/\\/.*"',
    ],
    [
      'a missing client_id',
      'client_id: runner\n    ',
      'name: runner\n    ',
      "/clients/0 must have required property 'client_id'",
    ],
    [
      'a secret',
      'allowed_scopes: [run]',
      'allowed_scopes: [run]\n    with_client_secret: true',
      '/clients/0 must NOT have additional properties',
    ],
    [
      'a requirement that is none',
      '{ pod: true }',
      '{ pods: true }',
      '/trusted_issuers/0/require must NOT have additional properties',
    ],
    [
      'a condition that is a list',
      'kubernetes.io.pod.name: p',
      'kubernetes.io.pod.name: [p]',
      '/trusted_issuers/0/bindings/0/claims/kubernetes.io.pod.name must be string,number,boolean',
    ],
    ['a denial without a reason', ', reason: r', '', "/deny_list/0 must have required property 'reason'"],
  ])('finds %s', (_title, from, to, error) => {
    expect(errorsOf(FILE.replace(from, to))).toEqual([error]);
  });
});
