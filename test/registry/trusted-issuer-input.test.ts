import { describe, expect, it } from 'vitest';
import { DEFAULT_ALGORITHMS } from '../../src/assertion/jws-algorithm.ts';
import {
  isKeySourceChanged,
  parseTrustedIssuerInput,
  parseTrustedIssuerUpdate,
  trustedIssuerFieldsOf,
} from '../../src/registry/trusted-issuer-input.ts';
import { OTHER_CA_PEM, TEST_CA_PEM } from '../fixtures/issuer-server.ts';
import { P256, publicJwk, RSA_2028, RSA_A } from '../fixtures/keys.ts';
import { CLUSTER } from '../fixtures/rows.ts';

const OWN_ISSUER = 'https://as.example.com';
const ISSUER = 'https://oidc.example.com/id/ABC';
const JWKS = JSON.stringify({ keys: [publicJwk(RSA_A, { kid: 'k1', alg: 'RS256', use: 'sig' })] });
const BOUND = 'system:serviceaccount:edge-system:edge-worker';

/** The least that a cluster needs, and the least that an OIDC provider needs. */
const KUBERNETES = {
  name: 'edge',
  issuer_url: ISSUER,
  issuer_type: 'kubernetes_sa',
  key_source_type: 'oidc_discovery',
};
const OIDC = { ...KUBERNETES, issuer_type: 'oidc' };
const PASTED = { ...KUBERNETES, key_source_type: 'static_jwks', jwks: JWKS };

const parse = (input: object) => parseTrustedIssuerInput(input, OWN_ISSUER);

describe('a new trusted issuer', () => {
  it('needs a name, an issuer, a type and a key source; everything else has a default', async () => {
    expect(await parse(KUBERNETES)).toEqual({
      ok: true,
      value: {
        allowedSubjects: null,
        warnings: [],
        fields: {
          name: 'edge',
          issuerUrl: ISSUER,
          additionalIssuerUrls: [],
          issuerType: 'kubernetes_sa',
          keySourceType: 'oidc_discovery',
          jwksUrl: null,
          jwks: null,
          discoveryUrl: null,
          caPem: null,
          allowPrivateNetwork: false,
          expectedAud: [OWN_ISSUER],
          allowAdditionalAudiences: false,
          subjectClaim: 'sub',
          algorithms: ['RS256', 'ES256', 'ES384', 'ES512'],
          requireKid: true,
          maxTokenLifetimeSeconds: 3600,
          assertionUse: 'once',
          requirePod: false,
          requireNode: false,
          enableTokenReview: false,
          kubernetesApiServerUrl: null,
          kubernetesApiServerCaPem: null,
          kubernetesApiServerCredential: null,
          tokenReviewAudience: null,
          organizationId: null,
          serviceAccountId: null,
          isActive: true,
        },
      },
    });
  });

  it('has the defaults of its type', async () => {
    expect(await parse(OIDC)).toMatchObject({
      ok: true,
      value: { fields: { algorithms: DEFAULT_ALGORITHMS, requireKid: false } },
    });
  });

  it.each<[string, object, object]>([
    ['cloud_oidc', { ...OIDC, issuer_type: 'cloud_oidc' }, { issuerType: 'cloud_oidc' }],
    ['several expected audiences', { ...OIDC, expected_aud: ['a', 'b,c'] }, { expectedAud: ['a', 'b,c'] }],
    ['expected audiences with commas between them', { ...OIDC, expected_aud: 'a, b' }, { expectedAud: ['a', 'b'] }],
    ['a subject claim', { ...OIDC, subject_claim: 'repository' }, { subjectClaim: 'repository' }],
    ['EdDSA where it is asked for', { ...OIDC, algorithms: 'EdDSA,RS256' }, { algorithms: ['EdDSA', 'RS256'] }],
    ['tokens without kid of a cluster', { ...KUBERNETES, require_kid: false }, { requireKid: false }],
    ['until_expiry', { ...KUBERNETES, assertion_use: 'until_expiry' }, { assertionUse: 'until_expiry' }],
    ['a lifetime of a day', { ...KUBERNETES, max_token_lifetime_seconds: 86_400 }, { maxTokenLifetimeSeconds: 86_400 }],
    [
      'a lifetime of ten minutes for a cluster',
      { ...KUBERNETES, max_token_lifetime_seconds: 600 },
      { maxTokenLifetimeSeconds: 600 },
    ],
    ['a lifetime of a minute elsewhere', { ...OIDC, max_token_lifetime_seconds: 60 }, { maxTokenLifetimeSeconds: 60 }],
    ['pod and node', { ...KUBERNETES, require_pod: true, require_node: true }, { requirePod: true, requireNode: true }],
    [
      'a JWKS address',
      { ...KUBERNETES, key_source_type: 'static_jwks_url', jwks_url: 'https://a.example.com/keys?v=1' },
      { jwksUrl: 'https://a.example.com/keys?v=1' },
    ],
    [
      'an http JWKS address of a private network',
      {
        ...KUBERNETES,
        key_source_type: 'static_jwks_url',
        jwks_url: 'http://10.0.0.1/keys',
        allow_private_network: true,
      },
      { jwksUrl: 'http://10.0.0.1/keys', allowPrivateNetwork: true },
    ],
    [
      'a discovery address for an issuer without a route',
      { ...KUBERNETES, issuer_url: 'cluster', discovery_url: 'https://10.0.0.1/d' },
      { issuerUrl: 'cluster', discoveryUrl: 'https://10.0.0.1/d' },
    ],
    [
      'a JWKS address instead of what discovery says',
      { ...KUBERNETES, issuer_url: 'cluster', jwks_url: 'https://10.0.0.1/k' },
      { jwksUrl: 'https://10.0.0.1/k' },
    ],
    [
      'an http issuer of a private network',
      { ...KUBERNETES, issuer_url: 'http://10.0.0.1', allow_private_network: true },
      { issuerUrl: 'http://10.0.0.1' },
    ],
    ['a CA', { ...KUBERNETES, ca_pem: TEST_CA_PEM }, { caPem: TEST_CA_PEM }],
    [
      'two CAs',
      { ...KUBERNETES, ca_pem: `# old and new\n${TEST_CA_PEM}${OTHER_CA_PEM}` },
      { caPem: `# old and new\n${TEST_CA_PEM}${OTHER_CA_PEM}` },
    ],
    [
      'the words of later versions, switched off',
      { ...KUBERNETES, enable_token_review: false, kubernetes_api_server_url: '', spiffe_refresh_hint_seconds: 0 },
      {},
    ],
    ['a switched-off row', { ...KUBERNETES, is_active: false }, { isActive: false }],
  ])('takes %s', async (_title, input, expected) => {
    expect(await parse(input)).toMatchObject({ ok: true, value: { fields: expected } });
  });

  it.each<[string, object, string, string]>([
    ['no name', { ...KUBERNETES, name: null }, 'name', 'is required'],
    ['an empty issuer', { ...PASTED, issuer_url: '' }, 'issuer_url', 'must not be empty'],
    [
      'an issuer with a line break',
      { ...PASTED, issuer_url: `${ISSUER}\n` },
      'issuer_url',
      'must not contain control characters',
    ],
    [
      'an unknown issuer type',
      { ...PASTED, issuer_type: 'saml' },
      'issuer_type',
      'must be one of kubernetes_sa, spiffe_jwt, oidc, cloud_oidc, host',
    ],
    ['no issuer type', { ...PASTED, issuer_type: null }, 'issuer_type', 'is required'],
    [
      'a SPIFFE issuer',
      { ...PASTED, issuer_type: 'spiffe_jwt' },
      'issuer_type',
      'spiffe_jwt is not supported by this version; use kubernetes_sa, oidc or cloud_oidc',
    ],
    [
      'the host mint',
      { ...PASTED, issuer_type: 'host' },
      'issuer_type',
      'host is not supported by this version; use kubernetes_sa, oidc or cloud_oidc',
    ],
    [
      'an unknown key source',
      { ...KUBERNETES, key_source_type: 'jwks' },
      'key_source_type',
      'must be one of oidc_discovery, static_jwks_url, static_jwks, spiffe_bundle_endpoint, token_review',
    ],
    [
      'a SPIFFE bundle',
      { ...KUBERNETES, key_source_type: 'spiffe_bundle_endpoint' },
      'key_source_type',
      'spiffe_bundle_endpoint is not supported by this version; use oidc_discovery, static_jwks_url, static_jwks or token_review',
    ],
    [
      'token review as key source without an API server',
      { ...KUBERNETES, key_source_type: 'token_review' },
      'kubernetes_api_server_url',
      'is required to ask the cluster',
    ],
    [
      'online review without an API server',
      { ...KUBERNETES, enable_token_review: true },
      'kubernetes_api_server_url',
      'is required to ask the cluster',
    ],
    [
      'an API server that nobody asks',
      { ...KUBERNETES, kubernetes_api_server_url: 'https://10.0.0.1' },
      'kubernetes_api_server_url',
      'belongs to enable_token_review: leave it out, or switch that on',
    ],
    [
      'an API server over http',
      { ...KUBERNETES, enable_token_review: true, kubernetes_api_server_url: 'http://10.0.0.1' },
      'kubernetes_api_server_url',
      'must be the https URL of an API server, without user, query and fragment',
    ],
    [
      'an API server with a query',
      { ...KUBERNETES, enable_token_review: true, kubernetes_api_server_url: 'https://10.0.0.1/?a=b' },
      'kubernetes_api_server_url',
      'must be the https URL of an API server, without user, query and fragment',
    ],
    [
      'a credential outside of its folder',
      {
        ...KUBERNETES,
        enable_token_review: true,
        kubernetes_api_server_url: 'https://10.0.0.1',
        kubernetes_api_server_credential: '../admin',
      },
      'kubernetes_api_server_credential',
      'must be the name of a file of COUNTERSIGN_KUBERNETES_CREDENTIALS',
    ],
    [
      'broken certificates of an API server',
      {
        ...KUBERNETES,
        enable_token_review: true,
        kubernetes_api_server_url: 'https://10.0.0.1',
        kubernetes_api_server_ca_pem: 'rubbish',
      },
      'kubernetes_api_server_ca_pem',
      'must hold at least one PEM certificate',
    ],
    [
      'a SPIFFE refresh hint',
      { ...KUBERNETES, spiffe_refresh_hint_seconds: 300 },
      'spiffe_refresh_hint_seconds',
      'is not supported by this version; it belongs to key_source_type spiffe_bundle_endpoint',
    ],

    [
      'discovery at an http issuer',
      { ...KUBERNETES, issuer_url: 'http://oidc.example.com' },
      'issuer_url',
      'must be an https URL (http only together with allow_private_network: true); or give discovery_url or jwks_url, or another key_source_type',
    ],
    [
      'discovery at an issuer that is no URL',
      { ...KUBERNETES, issuer_url: 'cluster' },
      'issuer_url',
      'must be an absolute https URL; or give discovery_url or jwks_url, or another key_source_type',
    ],
    [
      'discovery at an issuer with white space before it',
      { ...KUBERNETES, issuer_url: ` ${ISSUER}` },
      'issuer_url',
      'must be an absolute https URL; or give discovery_url or jwks_url, or another key_source_type',
    ],
    [
      'discovery at an issuer with a query',
      { ...KUBERNETES, issuer_url: `${ISSUER}?a=b` },
      'issuer_url',
      'must not have a query; or give discovery_url or jwks_url, or another key_source_type',
    ],
    [
      'discovery at an issuer with a fragment',
      { ...KUBERNETES, issuer_url: `${ISSUER}#a` },
      'issuer_url',
      'must not have a fragment; or give discovery_url or jwks_url, or another key_source_type',
    ],
    [
      'discovery at an issuer with credentials',
      { ...KUBERNETES, issuer_url: 'https://u:p@oidc.example.com' },
      'issuer_url',
      'must not have a user name or password; or give discovery_url or jwks_url, or another key_source_type',
    ],
    [
      'an http discovery address',
      { ...KUBERNETES, discovery_url: 'http://a.example.com' },
      'discovery_url',
      'must be an https URL (http only together with allow_private_network: true)',
    ],
    [
      'a file as discovery address',
      { ...KUBERNETES, discovery_url: 'file:///etc/passwd' },
      'discovery_url',
      'must be an absolute https URL',
    ],
    [
      'no address for static_jwks_url',
      { ...KUBERNETES, key_source_type: 'static_jwks_url' },
      'jwks_url',
      'is required for key_source_type static_jwks_url',
    ],
    [
      'an empty address for static_jwks_url',
      { ...KUBERNETES, key_source_type: 'static_jwks_url', jwks_url: '' },
      'jwks_url',
      'is required for key_source_type static_jwks_url',
    ],
    [
      'a JWKS address with a password',
      { ...KUBERNETES, key_source_type: 'static_jwks_url', jwks_url: 'https://u:p@a.example.com/k' },
      'jwks_url',
      'must not have a user name or password',
    ],
    [
      'a JWKS address with a fragment',
      { ...KUBERNETES, key_source_type: 'static_jwks_url', jwks_url: 'https://a.example.com/k#1' },
      'jwks_url',
      'must not have a fragment',
    ],
    [
      'a JWKS address with a backslash',
      { ...KUBERNETES, key_source_type: 'static_jwks_url', jwks_url: 'https://a.example.com\\@b.example.com/k' },
      'jwks_url',
      'must be an absolute https URL',
    ],
    [
      'no keys for static_jwks',
      { ...KUBERNETES, key_source_type: 'static_jwks' },
      'jwks',
      'is required for key_source_type static_jwks: paste the JWK set as JSON text',
    ],
    [
      'weak keys only',
      { ...PASTED, jwks: JSON.stringify({ keys: [publicJwk(RSA_2028, { kid: 'old' })] }) },
      'jwks',
      'the JWK set has no usable key: old: RSA modulus of 2028 < 2048 bits',
    ],
    [
      'a private key beside a public one',
      { ...PASTED, jwks: JSON.stringify({ keys: [publicJwk(RSA_A), P256] }) },
      'jwks',
      'holds private or symmetric key material: paste the public keys only, and treat what was pasted as leaked',
    ],
    [
      'keys with a repeated member',
      { ...PASTED, jwks: '{"keys":[],"keys":[]}' },
      'jwks',
      'must be JSON text of a JWK set: a member is repeated',
    ],
    [
      'pasted keys for discovery',
      { ...KUBERNETES, jwks: JWKS },
      'jwks',
      'does not belong to key_source_type oidc_discovery: leave it out, or change the type',
    ],
    [
      'pasted keys beside an address',
      { ...KUBERNETES, key_source_type: 'static_jwks_url', jwks_url: 'https://a.example.com/k', jwks: JWKS },
      'jwks',
      'does not belong to key_source_type static_jwks_url: leave it out, or change the type',
    ],
    [
      'an address beside pasted keys',
      { ...PASTED, jwks_url: 'https://a.example.com/k' },
      'jwks_url',
      'does not belong to key_source_type static_jwks: leave it out, or change the type',
    ],
    [
      'discovery beside pasted keys',
      { ...PASTED, discovery_url: 'https://a.example.com/d' },
      'discovery_url',
      'does not belong to key_source_type static_jwks: leave it out, or change the type',
    ],
    ['a CA that is none', { ...KUBERNETES, ca_pem: 'trust me' }, 'ca_pem', 'must hold at least one PEM certificate'],
    [
      'a broken second CA',
      { ...KUBERNETES, ca_pem: `${TEST_CA_PEM}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n` },
      'ca_pem',
      "certificate 2 of 2 can't be read",
    ],
    [
      'a private key as CA',
      { ...KUBERNETES, ca_pem: `${TEST_CA_PEM}-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n` },
      'ca_pem',
      'must hold PEM certificates and nothing else',
    ],

    [
      'our own issuer identifier',
      { ...PASTED, issuer_url: OWN_ISSUER },
      'issuer_url',
      'is the issuer identifier of this server, which can not be its own trusted issuer',
    ],
    [
      'its own issuer twice',
      { ...PASTED, additional_issuer_urls: [ISSUER] },
      'additional_issuer_urls.0',
      'is the issuer_url itself',
    ],
    [
      'no expected audience',
      { ...OIDC, expected_aud: [] },
      'expected_aud',
      'must not be empty; leave it out for the default',
    ],
    ['an empty expected audience', { ...OIDC, expected_aud: ['a', ''] }, 'expected_aud.1', 'must not be empty'],
    [
      'an unknown algorithm',
      { ...OIDC, algorithms: ['RS256', 'HS256'] },
      'algorithms.1',
      'must be one of RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, EdDSA, Ed25519',
    ],
    ['no algorithm', { ...OIDC, algorithms: [] }, 'algorithms', 'must not be empty; leave it out for the default'],
    [
      'another subject claim of a cluster',
      { ...KUBERNETES, subject_claim: 'email' },
      'subject_claim',
      'must be sub for issuer_type kubernetes_sa',
    ],
    [
      'an unlimited lifetime',
      { ...OIDC, max_token_lifetime_seconds: 86_401 },
      'max_token_lifetime_seconds',
      'must be a whole number from 60 to 86400',
    ],
    [
      'a lifetime of 59 seconds',
      { ...OIDC, max_token_lifetime_seconds: 59 },
      'max_token_lifetime_seconds',
      'must be a whole number from 60 to 86400',
    ],
    [
      'a lifetime that no cluster makes',
      { ...KUBERNETES, max_token_lifetime_seconds: 599 },
      'max_token_lifetime_seconds',
      'must be at least 600: Kubernetes makes no shorter tokens',
    ],
    ['an unknown use', { ...OIDC, assertion_use: 'always' }, 'assertion_use', 'must be one of once, until_expiry'],
    [
      'a pod of an OIDC provider',
      { ...OIDC, require_pod: true },
      'require_pod',
      'is for issuer_type kubernetes_sa only',
    ],
    [
      'a node of an OIDC provider',
      { ...OIDC, require_node: true },
      'require_node',
      'is for issuer_type kubernetes_sa only',
    ],
    [
      'subjects without a client',
      { ...KUBERNETES, allowed_subjects: [BOUND] },
      'service_account_id',
      "is required with allowed_subjects: a client's id",
    ],
    ['an unknown field', { ...KUBERNETES, disable_iss_validation: true }, 'disable_iss_validation', 'unknown field'],
  ])('is refused with %s', async (_title, input, path, message) => {
    expect(await parse(input)).toEqual({ ok: false, error: [{ path: path.split('.'), message }] });
  });

  it('is told everything that is wrong at once, fields and rules between them', async () => {
    const parsed = await parse({
      ...KUBERNETES,
      name: '',
      key_source_type: 'static_jwks_url',
      jwks: JWKS,
      expected_aud: ['k3s'],
      ca_pem: 'none',
      allowed_subjects: ['nobody'],
    });
    expect(parsed.ok ? [] : parsed.error.map(({ path }) => path.join('.')).toSorted()).toEqual([
      'allowed_subjects.0',
      'ca_pem',
      'expected_aud.0',
      'jwks',
      'jwks_url',
      'name',
      'service_account_id',
    ]);
  });

  it.each([
    'https://kubernetes.default.svc',
    'https://kubernetes.default.svc.cluster.local',
    'https://kubernetes.default.svc.cluster.local:443/',
    'https://kubernetes.default',
    'kubernetes.default.svc',
    'k3s',
    'rke2',
    ISSUER,
    'https://old.example.com',
  ])('F-04: refuses the API server audience %s', async (audience) => {
    const input = { ...KUBERNETES, additional_issuer_urls: ['https://old.example.com'] };
    expect(await parse({ ...input, expected_aud: [OWN_ISSUER, audience] })).toMatchObject({
      ok: false,
      error: [{ path: ['expected_aud', '1'] }],
    });
  });

  it('ISS-04: keeps an issuer byte for byte, quotes, spaces and all', async () => {
    for (const issuer of [
      '"cluster.hcp.example.com"',
      ' https://a.example.com ',
      'https://a.example.com/',
      'api',
      'urn:x',
    ]) {
      const parsed = await parse({ ...PASTED, issuer_url: issuer });
      expect(parsed).toMatchObject({ ok: true, value: { fields: { issuerUrl: issuer } } });
    }
  });

  it('ISS-04: warns about white space at the ends of an issuer, and keeps it', async () => {
    expect(await parse({ ...PASTED, issuer_url: 'https://a.example.com ' })).toMatchObject({
      value: {
        warnings: ['"https://a.example.com " begins or ends with white space; issuers are compared byte for byte'],
      },
    });
  });

  it('TIM-06: refuses the issuer of legacy tokens, also as an additional one', async () => {
    const legacy = 'kubernetes/serviceaccount';
    expect(await parse({ ...PASTED, issuer_url: legacy })).toMatchObject({
      ok: false,
      error: [{ path: ['issuer_url'] }],
    });
    expect(await parse({ ...PASTED, additional_issuer_urls: ['old', legacy] })).toMatchObject({
      ok: false,
      error: [{ path: ['additional_issuer_urls', '1'] }],
    });
  });

  it.each([
    [OWN_ISSUER, OWN_ISSUER],
    [`${OWN_ISSUER}/`, OWN_ISSUER],
    [OWN_ISSUER, `${OWN_ISSUER}/`],
  ])('ALG-15: refuses %s where we are %s', async (issuer, own) => {
    const message = 'is the issuer identifier of this server, which can not be its own trusted issuer';
    expect(await parseTrustedIssuerInput({ ...PASTED, issuer_url: issuer }, own)).toEqual({
      ok: false,
      error: [{ path: ['issuer_url'], message }],
    });
    expect(await parseTrustedIssuerInput({ ...PASTED, additional_issuer_urls: [issuer] }, own)).toEqual({
      ok: false,
      error: [{ path: ['additional_issuer_urls', '0'], message }],
    });
  });

  it('K8S-03: has no default issuer: without one it is refused', async () => {
    const { issuer_url, ...rest } = PASTED;
    expect(await parse(rest)).toEqual({ ok: false, error: [{ path: ['issuer_url'], message: 'is required' }] });
  });

  it.each([
    ['system:serviceaccount:prod', 'no ServiceAccount can have the subject'],
    ['system:serviceaccount:prod:app:x', 'no ServiceAccount can have the subject'],
    ['system:serviceaccounts:prod:app', 'no ServiceAccount can have the subject'],
    ['system:serviceaccount:Prod:app', 'no ServiceAccount can have the subject'],
    ['system:serviceaccount:a.b:app', 'no ServiceAccount can have the subject'],
    ['system:node:node-1', 'no ServiceAccount can have the subject'],
    ['system:serviceaccount:prod:*', 'subjects match exactly, there are no wildcards'],
    ['system:serviceaccount:prod:app ', 'no ServiceAccount can have the subject'],
    ['', 'must not be empty'],
  ])('refuses the subject %j, which no ServiceAccount has', async (subject, message) => {
    expect(await parse({ ...KUBERNETES, service_account_id: 'c', allowed_subjects: [BOUND, subject] })).toEqual({
      ok: false,
      error: [{ path: ['allowed_subjects', '1'], message: expect.stringContaining(message) }],
    });
  });

  it('SUB-02: keeps any non-empty subject of other issuers up to 1024 characters', async () => {
    const subjects = [
      'system:serviceaccount:a:b',
      'repo:org/repo:environment:prod',
      'project_path:g/sg/p:ref_type:branch:ref:feat/x,y',
      'x'.repeat(1024),
    ];
    expect(await parse({ ...OIDC, service_account_id: 'c', allowed_subjects: subjects })).toMatchObject({
      ok: true,
      value: { allowedSubjects: subjects, warnings: [] },
    });
    expect(await parse({ ...OIDC, service_account_id: 'c', allowed_subjects: ['x'.repeat(1025)] })).toEqual({
      ok: false,
      error: [{ path: ['allowed_subjects', '0'], message: 'must not be longer than 1024 characters' }],
    });
  });

  it('takes subjects of the longest namespace and dotted names', async () => {
    const subject = `system:serviceaccount:${'n'.repeat(63)}:${'a.'.repeat(126)}b`;
    expect(await parse({ ...KUBERNETES, service_account_id: 'c', allowed_subjects: subject })).toMatchObject({
      value: { allowedSubjects: [subject] },
    });
  });

  it('ADM-05: tells an empty list of subjects from none', async () => {
    expect(await parse({ ...KUBERNETES, allowed_subjects: [] })).toMatchObject({ value: { allowedSubjects: [] } });
    expect(await parse({ ...KUBERNETES, allowed_subjects: '' })).toMatchObject({ value: { allowedSubjects: [] } });
    expect(await parse(KUBERNETES)).toMatchObject({ value: { allowedSubjects: null } });
  });

  it('K8S-05: allows the shared default account and warns', async () => {
    const subject = 'system:serviceaccount:prod:default';
    expect(await parse({ ...KUBERNETES, service_account_id: 'c', allowed_subjects: [subject] })).toMatchObject({
      ok: true,
      value: {
        warnings: [
          `"${subject}" is the account of every pod in its namespace that names none: give the workload an account of its own`,
        ],
      },
    });
  });

  it('warns about keys that it will not use, and about our token endpoint as audience', async () => {
    const jwks = JSON.stringify({ keys: [publicJwk(RSA_A, { kid: 'k1' }), publicJwk(RSA_2028, { kid: 'old' })] });
    const input = { ...PASTED, jwks, expected_aud: [`${OWN_ISSUER}/oauth/token`] };
    expect(await parse(input)).toMatchObject({
      ok: true,
      value: {
        warnings: [
          `expected_aud "${OWN_ISSUER}/oauth/token" is our token endpoint; prefer our issuer identifier ${OWN_ISSUER}`,
          'jwks: kid old is not used: RSA modulus of 2028 < 2048 bits',
        ],
      },
    });
  });
});

describe('an update of a trusted issuer', () => {
  const fieldsOf = (row: typeof CLUSTER) => {
    const { id, managedBy, keySourceRevision, keySourceUpdatedAt, createdAt, updatedAt, ...fields } = row;
    return fields;
  };
  const update = (changes: Record<string, unknown>, current = CLUSTER) =>
    parseTrustedIssuerUpdate(changes, current, OWN_ISSUER);

  it('changes only what is given; null is not given', async () => {
    const current = { ...CLUSTER, isActive: false };
    expect(await update({ name: 'new', is_active: null, jwks: null }, current)).toEqual({
      ok: true,
      value: { fields: { ...fieldsOf(current), name: 'new' }, allowedSubjects: null, warnings: [] },
    });
  });

  it('reads back what it shows: nothing changes when a row is written as it is', async () => {
    const parsed = await update(trustedIssuerFieldsOf(CLUSTER));
    expect(parsed).toMatchObject({ ok: true, value: { fields: fieldsOf(CLUSTER) } });
  });

  it('forgets the old key source when its type changes', async () => {
    const parsed = await update({ key_source_type: 'static_jwks_url', jwks_url: 'https://a.example.com/k' });
    expect(parsed).toMatchObject({
      ok: true,
      value: { fields: { keySourceType: 'static_jwks_url', jwksUrl: 'https://a.example.com/k', jwks: null } },
    });
  });

  it.each<[string, Record<string, unknown>, string]>([
    ['the kind of its subjects', { issuer_type: 'oidc' }, 'issuer_type'],
    ['keys to none', { jwks: '' }, 'jwks'],
    ['its issuer to ours', { issuer_url: OWN_ISSUER }, 'issuer_url'],
    ['its id, which is no field', { id: 'x' }, 'id'],
  ])('can not change %s', async (_title, changes, path) => {
    expect(await update(changes)).toMatchObject({ ok: false, error: [{ path: [path] }] });
  });

  it('can not move the short form to another client', async () => {
    const current = { ...CLUSTER, serviceAccountId: 'client-1' };
    expect(await update({ service_account_id: 'client-2' }, current)).toMatchObject({
      ok: false,
      error: [{ path: ['service_account_id'] }],
    });
  });

  it.each<[string, Record<string, unknown>, boolean]>([
    ['its name', { name: 'new' }, false],
    ['who may use it', { is_active: false }, false],
    ['its keys', { jwks: JSON.stringify({ keys: [publicJwk(P256)] }) }, true],
    ['its CA', { ca_pem: TEST_CA_PEM }, true],
    ['its consent to private networks', { allow_private_network: true }, true],
    ['its issuer', { issuer_url: 'https://new.example.com' }, true],
  ])('that changes %s makes cached keys worthless: %s', async (_title, changes, expected) => {
    const parsed = await update(changes);
    expect(parsed.ok && isKeySourceChanged(CLUSTER, parsed.value.fields)).toBe(expected);
  });
});
