import { describe, expect, it } from 'vitest';
import type { DeniedMember, DenyListEntry } from '../../src/assertion/deny-list.ts';
import { explainAssertion } from '../../src/assertion/explain-assertion.ts';
import { VerificationTrace } from '../../src/assertion/verification-trace.ts';
import { verifyAssertion } from '../../src/assertion/verify-assertion.ts';
import { err, ok } from '../../src/result.ts';
import {
  type AssertionBuilder,
  AUDIENCE,
  aClusterAssertion,
  CLUSTER_CLAIMS,
  CLUSTER_ISSUER,
  KID,
  SUBJECT,
} from '../fixtures/assertions.ts';
import { ED25519, P256, publicJwk, RSA_A, RSA_B } from '../fixtures/keys.ts';
import { type MemoryPorts, memoryPorts, type World } from '../fixtures/memory-ports.ts';
import { BINDING, CLIENT, CLUSTER, DENIAL, PROVIDER } from '../fixtures/rows.ts';
import { NOW } from '../fixtures/settable-clock.ts';

type Options = {
  readonly ports?: MemoryPorts;
  readonly clientId?: string;
  readonly now?: number;
  readonly purpose?: 'explain';
};

async function verify(assertion: string, options: Options = {}) {
  const { ports = memoryPorts(), clientId = null, now = NOW, purpose = 'authenticate' } = options;
  const trace = new VerificationTrace();
  const outcome = await verifyAssertion(
    ports,
    { assertion, clientId, requestId: 'request-1', now, purpose },
    trace,
    () => ok('granted'),
  );
  return { outcome, trace };
}

async function reasonFor(assertion: string, options: Options = {}): Promise<string> {
  const { outcome } = await verify(assertion, options);
  return outcome.kind === 'refused' ? outcome.refusal.reason : outcome.kind;
}

const inWorld = (world: Partial<World>): Options => ({ ports: memoryPorts(world) });
const kubernetes = CLUSTER_CLAIMS['kubernetes.io'] as Record<string, unknown>;
const kubernetesClaims = (changes: Record<string, unknown>) => ({
  'kubernetes.io': Object.fromEntries(
    Object.entries({ ...kubernetes, ...changes }).filter(([, value]) => value !== undefined),
  ),
});

describe('a valid projected ServiceAccount token', () => {
  it('is accepted as the bound client, with what the cluster says about the pod', async () => {
    const { outcome } = await verify(aClusterAssertion().build());
    expect(outcome).toMatchObject({
      kind: 'accepted',
      granted: 'granted',
      workload: {
        subject: SUBJECT,
        client: { clientId: 'edge-worker' },
        kubernetes: { namespace: 'edge-system', pod: { name: 'edge-worker-x7k2p' }, node: { name: 'node-1' } },
      },
    });
  });

  it.each([
    [
      'without jti, pod and node (Kubernetes 1.21)',
      aClusterAssertion()
        .without('jti')
        .with(kubernetesClaims({ pod: undefined, node: undefined })),
    ],
    ['with typ JWT (external signer)', aClusterAssertion().withHeader({ typ: 'JWT' })],
    ['with typ jwt in another case', aClusterAssertion().withHeader({ typ: 'jwt' })],
    ['with typ client-authentication+jwt', aClusterAssertion().withHeader({ typ: 'client-authentication+jwt' })],
    ['with aud as a string', aClusterAssertion().with({ aud: AUDIENCE })],
    ['with fractions of a second', aClusterAssertion().with({ exp: NOW + 600.75, iat: NOW + 0.25, nbf: NOW + 0.5 })],
    ['with unknown claims', aClusterAssertion().with({ foo: 1, bar: { baz: [true] } })],
    ['issued 60 s ahead of our clock', aClusterAssertion().with({ iat: NOW + 60, nbf: NOW + 60, exp: NOW + 3660 })],
    ['with an unregistered header member', aClusterAssertion().withHeader({ x5t: 'abc' })],
  ])('is accepted %s', async (_name, assertion) => {
    expect(await reasonFor(assertion.build())).toBe('accepted');
  });
});

describe('one change refuses it', () => {
  const token = aClusterAssertion();
  const { build } = { build: (builder: AssertionBuilder) => builder.build() };
  it.each<[string, string, string]>([
    // 1. form and header
    ['empty', '', 'assertion_malformed'],
    ['two parts', build(token).split('.').slice(0, 2).join('.'), 'assertion_malformed'],
    ['five parts', 'a.b.c.d.e', 'assertion_malformed'],
    ['an empty signature', `${build(token).split('.').slice(0, 2).join('.')}.`, 'assertion_malformed'],
    ['a trailing newline', `${build(token)}\n`, 'assertion_malformed'],
    ['a leading space', ` ${build(token)}`, 'assertion_malformed'],
    ['padding', `${build(token)}=`, 'assertion_malformed'],
    ['two tokens', `${build(token)} ${build(token)}`, 'assertion_malformed'],
    ['more than 16 KiB', token.with({ filler: 'x'.repeat(20_000) }).build(), 'assertion_too_large'],
    [
      'a repeated header member',
      token.build({ headerText: `{"alg":"none","alg":"RS256","kid":"${KID}"}` }),
      'assertion_malformed',
    ],
    [
      'a repeated claim',
      token.build({ claimsText: JSON.stringify(CLUSTER_CLAIMS).replace('{', '{"sub":"a",') }),
      'assertion_malformed',
    ],
    [
      'a repeated nested claim',
      token.build({ claimsText: JSON.stringify(CLUSTER_CLAIMS).replace('"namespace"', '"namespace":"a","namespace"') }),
      'assertion_malformed',
    ],
    ['iss and ISS', token.with({ ISS: 'https://evil.example' }).build(), 'assertion_malformed'],
    ['claims that are an array', token.build({ claimsText: '[]' }), 'assertion_malformed'],
    [
      'claims with a byte order mark',
      token.build({ claimsText: `\uFEFF${JSON.stringify(CLUSTER_CLAIMS)}` }),
      'assertion_malformed',
    ],
    [
      'text after the claims',
      token.build({ claimsText: `${JSON.stringify(CLUSTER_CLAIMS)} x` }),
      'assertion_malformed',
    ],
    [
      'claims nested 10,000 deep',
      token.build({ claimsText: `{"a":${'['.repeat(4000)}${']'.repeat(4000)}}` }),
      'assertion_malformed',
    ],
    ['a numeric kid', token.withHeader({ kid: 5 }).build(), 'assertion_malformed'],
    ['a 2 KiB kid', token.withHeader({ kid: 'k'.repeat(2048) }).build(), 'assertion_malformed'],
    ['a numeric typ', token.withHeader({ typ: 1 }).build(), 'assertion_malformed'],
    ...['crit', 'b64', 'zip', 'jku', 'jwk', 'x5u', 'x5c', 'cty'].map((member): [string, string, string] => [
      `header member ${member}`,
      token.withHeader({ [member]: 'x' }).build(),
      'header_member_forbidden',
    ]),
    ...[
      'at+jwt',
      'application/at+jwt',
      'AT+JWT',
      'dpop+jwt',
      'logout+jwt',
      'secevent+jwt',
      'token-introspection+jwt',
      'oauth-id-jag+jwt',
    ].map((typ): [string, string, string] => [`typ ${typ}`, token.withHeader({ typ }).build(), 'typ_not_allowed']),
    ...['none', 'None', 'HS256', 'rs256', 'ES256K', 'RSA-OAEP'].map((alg): [string, string, string] => {
      const [, claims, signature] = build(token).split('.');
      const header = Buffer.from(JSON.stringify({ alg, kid: KID })).toString('base64url');
      return [`alg ${alg}`, `${header}.${claims}.${signature}`, 'alg_not_allowed'];
    }),
    ['alg PS256, which the issuer may not use', token.withHeader({ alg: 'PS256' }).build(), 'alg_not_allowed'],
    // 2. issuer
    ['no iss', token.without('iss').build(), 'iss_missing'],
    ['an empty iss', token.with({ iss: '' }).build(), 'iss_missing'],
    ['iss as an array', token.with({ iss: [CLUSTER_ISSUER] }).build(), 'iss_missing'],
    ['an unknown iss', token.with({ iss: 'https://evil.example' }).build(), 'issuer_not_trusted'],
    ['iss with a trailing slash', token.with({ iss: `${CLUSTER_ISSUER}/` }).build(), 'issuer_not_trusted'],
    ['iss with a port', token.with({ iss: `${CLUSTER_ISSUER}:443` }).build(), 'issuer_not_trusted'],
    ['the legacy issuer', token.with({ iss: 'kubernetes/serviceaccount' }).build(), 'legacy_service_account_token'],
    [
      'legacy claims',
      token.with({ 'kubernetes.io/serviceaccount/namespace': 'a' }).build(),
      'legacy_service_account_token',
    ],
    // 3. claims
    ['no aud', token.without('aud').build(), 'aud_missing'],
    ['an empty aud', token.with({ aud: [] }).build(), 'aud_missing'],
    ['aud null', token.with({ aud: null }).build(), 'aud_missing'],
    ['aud with a number', token.with({ aud: [AUDIENCE, 5] }).build(), 'aud_missing'],
    ['a nested aud', token.with({ aud: [[AUDIENCE]] }).build(), 'aud_missing'],
    ['another aud', token.with({ aud: ['https://other.example.com'] }).build(), 'aud_mismatch'],
    ['aud with a trailing slash', token.with({ aud: `${AUDIENCE}/` }).build(), 'aud_mismatch'],
    ['the token endpoint as aud', token.with({ aud: `${AUDIENCE}/oauth/token` }).build(), 'aud_mismatch'],
    ['the API server as aud', token.with({ aud: [CLUSTER_ISSUER] }).build(), 'aud_mismatch'],
    ['the API server beside us', token.with({ aud: [AUDIENCE, CLUSTER_ISSUER] }).build(), 'aud_not_sole'],
    ['our aud twice', token.with({ aud: [AUDIENCE, AUDIENCE] }).build(), 'aud_not_sole'],
    ['no exp', token.without('exp').build(), 'time_claim_missing'],
    ['exp as a string', token.with({ exp: String(NOW + 600) }).build(), 'time_claim_invalid'],
    ['exp true', token.with({ exp: true }).build(), 'time_claim_invalid'],
    ['exp null', token.with({ exp: null }).build(), 'time_claim_invalid'],
    [
      'exp 1e400',
      token.build({ claimsText: JSON.stringify(CLUSTER_CLAIMS).replace(String(NOW + 3600), '1e400') }),
      'time_claim_invalid',
    ],
    ['exp in milliseconds', token.with({ exp: (NOW + 600) * 1000 }).build(), 'time_claim_invalid'],
    ['iat as a string', token.with({ iat: String(NOW) }).build(), 'time_claim_invalid'],
    ['exp 0', token.with({ exp: 0, iat: 0 }).build(), 'expired'],
    ['exp -1', token.with({ exp: -1 }).build(), 'expired'],
    ['exp 60 s ago', token.with({ exp: NOW - 60, iat: NOW - 600 }).build(), 'expired'],
    ['nbf 61 s ahead', token.with({ nbf: NOW + 61 }).build(), 'not_yet_valid'],
    ['iat 61 s ahead', token.with({ iat: NOW + 61 }).build(), 'not_yet_valid'],
    ['one year of life', token.with({ exp: NOW + 31_536_000 }).build(), 'lifetime_too_long'],
    ['3601 s of life', token.with({ exp: NOW + 3601 }).build(), 'lifetime_too_long'],
    [
      'one year of life and no iat',
      token
        .without('iat')
        .with({ exp: NOW + 31_536_000 })
        .build(),
      'lifetime_too_long',
    ],
    ['no sub', token.without('sub').build(), 'sub_missing'],
    ['an empty sub', token.with({ sub: '' }).build(), 'sub_missing'],
    ['sub as an object', token.with({ sub: {} }).build(), 'sub_missing'],
    ['a numeric jti', token.with({ jti: 5 }).build(), 'jti_invalid'],
    ['a 257-character jti', token.with({ jti: 'j'.repeat(257) }).build(), 'jti_invalid'],
    // 4. key and signature
    ['no kid', token.withHeader({ kid: undefined }).build(), 'kid_missing'],
    ['an empty kid', token.withHeader({ kid: '' }).build(), 'kid_missing'],
    ['an unknown kid', token.withHeader({ kid: '../../etc/passwd' }).build(), 'kid_unknown'],
    ['another algorithm than the key has', token.withHeader({ alg: 'ES256' }).signedBy(P256).build(), 'key_unfit'],
    ['the signature of another key', token.signedBy(RSA_B).build(), 'signature_invalid'],
    // 5. platform claims and bindings
    ['sub of three parts', token.with({ sub: 'system:serviceaccount:edge-system' }).build(), 'subject_malformed'],
    ['sub of five parts', token.with({ sub: `${SUBJECT}:x` }).build(), 'subject_malformed'],
    ['sub of a node', token.with({ sub: 'system:node:node-1' }).build(), 'subject_malformed'],
    [
      'a namespace of 64 characters',
      token.with({ sub: `system:serviceaccount:${'n'.repeat(64)}:a` }).build(),
      'subject_malformed',
    ],
    ['no kubernetes.io', token.without('kubernetes.io').build(), 'kubernetes_claims_missing'],
    [
      'no account uid',
      token.with(kubernetesClaims({ serviceaccount: { name: 'edge-worker' } })).build(),
      'kubernetes_claims_missing',
    ],
    ['a null pod', token.with(kubernetesClaims({ pod: null })).build(), 'kubernetes_claims_missing'],
    ['a pod without uid', token.with(kubernetesClaims({ pod: { name: 'p' } })).build(), 'kubernetes_claims_missing'],
    [
      'a pod of a name with a slash',
      token.with(kubernetesClaims({ pod: { name: 'a/b', uid: 'u' } })).build(),
      'kubernetes_claims_malformed',
    ],
    [
      'a node of a name with an underscore',
      token.with(kubernetesClaims({ node: { name: 'node_1' } })).build(),
      'kubernetes_claims_malformed',
    ],
    [
      'another namespace than sub',
      token.with(kubernetesClaims({ namespace: 'other' })).build(),
      'kubernetes_claims_disagree',
    ],
    [
      'another account than sub',
      token.with(kubernetesClaims({ serviceaccount: { name: 'x', uid: 'u' } })).build(),
      'kubernetes_claims_disagree',
    ],
    [
      'an unbound subject',
      token
        .with({
          sub: 'system:serviceaccount:edge-system:other',
          ...kubernetesClaims({ serviceaccount: { name: 'other', uid: 'u' } }),
        })
        .build(),
      'subject_not_bound',
    ],
  ])('%s', async (_name, assertion, reason) => {
    const ports = memoryPorts();
    expect(await reasonFor(assertion, { ports })).toBe(reason);
    expect(ports.claims.size).toBe(0);
  });

  it('any flipped bit of the signature', async () => {
    const [header, claims, signature = ''] = aClusterAssertion().build().split('.');
    const bytes = Buffer.from(signature, 'base64url');
    for (const index of [0, 17, 128, 255]) {
      const flipped = Buffer.from(bytes);
      flipped[index] = (flipped[index] ?? 0) ^ 1;
      expect(await reasonFor(`${header}.${claims}.${flipped.toString('base64url')}`)).toBe('signature_invalid');
    }
  });
});

describe('what the rows say', () => {
  const token = aClusterAssertion();
  const noPod = token.with(kubernetesClaims({ pod: undefined, node: undefined }));
  const nodeWithoutPod = token.with(kubernetesClaims({ pod: undefined }));
  const deny = (member: DeniedMember, value: string): DenyListEntry => ({ ...DENIAL, member, value });
  it.each<[string, Partial<World>, AssertionBuilder, string]>([
    ['an inactive issuer refuses', { issuers: [{ ...CLUSTER, isActive: false }] }, token, 'issuer_disabled'],
    ['no issuers at all refuse', { issuers: [] }, token, 'issuer_not_trusted'],
    [
      'an additional issuer string is accepted',
      { issuers: [{ ...CLUSTER, additionalIssuerUrls: ['api'] }] },
      token.with({ iss: 'api' }),
      'accepted',
    ],
    [
      'a second expected audience is accepted',
      { issuers: [{ ...CLUSTER, expectedAud: ['x', AUDIENCE] }] },
      token,
      'accepted',
    ],
    [
      'additional audiences are accepted where allowed',
      { issuers: [{ ...CLUSTER, allowAdditionalAudiences: true }] },
      token.with({ aud: [AUDIENCE, 'https://b'] }),
      'accepted',
    ],
    [
      'additional audiences never replace ours',
      { issuers: [{ ...CLUSTER, allowAdditionalAudiences: true }] },
      token.with({ aud: ['https://b'] }),
      'aud_mismatch',
    ],
    [
      'a raised ceiling accepts a longer life',
      { issuers: [{ ...CLUSTER, maxTokenLifetimeSeconds: 86_400 }] },
      token.with({ exp: NOW + 86_400 }),
      'accepted',
    ],
    [
      'no kid is accepted where it is not required',
      { issuers: [{ ...CLUSTER, requireKid: false }] },
      token.withHeader({ kid: '' }),
      'accepted',
    ],
    ['a required pod refuses a token without', { issuers: [{ ...CLUSTER, requirePod: true }] }, noPod, 'pod_required'],
    [
      'a required node refuses a token without',
      { issuers: [{ ...CLUSTER, requireNode: true }] },
      token.with(kubernetesClaims({ node: undefined })),
      'node_required',
    ],
    [
      'a node without a pod proves nothing',
      { issuers: [{ ...CLUSTER, requireNode: true }] },
      nodeWithoutPod,
      'pod_required',
    ],
    [
      'a required pod and node accept both',
      { issuers: [{ ...CLUSTER, requirePod: true, requireNode: true }] },
      token,
      'accepted',
    ],
    ['a denied node refuses', { denied: [DENIAL] }, token, 'workload_denied'],
    [
      'a denied pod refuses',
      { denied: [deny('pod_uid', '22222222-2222-4222-8222-222222222222')] },
      token,
      'workload_denied',
    ],
    [
      'a denied account refuses, with a pod and without',
      { denied: [deny('service_account_uid', '11111111-1111-4111-8111-111111111111')] },
      noPod,
      'workload_denied',
    ],
    ['a denied subject refuses', { denied: [deny('subject', SUBJECT)] }, token, 'workload_denied'],
    ['another node may go on', { denied: [{ ...DENIAL, value: 'node-2' }] }, token, 'accepted'],
    ['a value counts for its own member alone', { denied: [deny('pod_uid', 'node-1')] }, token, 'accepted'],
    [
      'a node that is denied for another issuer may go on',
      { denied: [{ ...DENIAL, trustedIssuerId: 'issuer-2' }] },
      token,
      'accepted',
    ],
    ['a token that names no node is not cut by one', { denied: [DENIAL] }, noPod, 'accepted'],
    [
      'an entry counts until its last second',
      { denied: [{ ...DENIAL, expiresAt: NOW + 1 }] },
      token,
      'workload_denied',
    ],
    ['an entry that is over does not count', { denied: [{ ...DENIAL, expiresAt: NOW }] }, token, 'accepted'],
    ['a denial is the reason before any binding', { denied: [DENIAL], bindings: [] }, token, 'workload_denied'],
    [
      'a forged token is not told about the deny list',
      { denied: [DENIAL] },
      token.signedBy(RSA_B),
      'signature_invalid',
    ],
    ['no bindings trust nobody', { bindings: [] }, token, 'subject_not_bound'],
    ['an inactive binding refuses', { bindings: [{ ...BINDING, isActive: false }] }, token, 'binding_disabled'],
    [
      'a binding of another issuer refuses',
      { bindings: [{ ...BINDING, trustedIssuerId: 'issuer-9' }] },
      token,
      'subject_not_bound',
    ],
    [
      'a held condition accepts',
      { bindings: [{ ...BINDING, claims: { 'kubernetes.io.node.name': 'node-1' } }] },
      token,
      'accepted',
    ],
    [
      'a condition on the node of a token without a pod refuses',
      { bindings: [{ ...BINDING, claims: { 'kubernetes.io.node.name': 'node-1' } }] },
      token.with(kubernetesClaims({ pod: undefined })),
      'claim_condition_failed',
    ],
    [
      'a failed condition refuses',
      { bindings: [{ ...BINDING, claims: { 'kubernetes.io.node.name': 'node-2' } }] },
      token,
      'claim_condition_failed',
    ],
    [
      'an absent claim refuses',
      { bindings: [{ ...BINDING, claims: { ref: 'main' } }] },
      token,
      'claim_condition_failed',
    ],
    [
      'conditions compare types',
      { bindings: [{ ...BINDING, claims: { protected: true } }] },
      token.with({ protected: 'true' }),
      'claim_condition_failed',
    ],
    [
      'an array is not its only element',
      { bindings: [{ ...BINDING, claims: { ref: 'main' } }] },
      token.with({ ref: ['main'] }),
      'claim_condition_failed',
    ],
    ['an inactive client refuses', { clients: [{ ...CLIENT, isActive: false }] }, token, 'client_disabled'],
    ['a client that is gone refuses', { clients: [] }, token, 'subject_not_bound'],
    [
      'organizations must agree',
      { issuers: [{ ...CLUSTER, organizationId: 'a' }], clients: [{ ...CLIENT, organizationId: 'b' }] },
      token,
      'organization_mismatch',
    ],
    ['one organization alone is fine', { issuers: [{ ...CLUSTER, organizationId: 'a' }] }, token, 'accepted'],
    [
      'a template without its value refuses',
      { bindings: [{ ...BINDING, tokenClaims: { runner: '{kubernetes.node.name}' } }] },
      nodeWithoutPod,
      'token_claim_unresolved',
    ],
    [
      'EdDSA is refused unless listed',
      { issuers: [{ ...CLUSTER, jwks: JSON.stringify({ keys: [publicJwk(ED25519, { kid: KID })] }) }] },
      token.withHeader({ alg: 'EdDSA' }).signedBy(ED25519),
      'alg_not_allowed',
    ],
    [
      'EdDSA is accepted where listed',
      {
        issuers: [
          { ...CLUSTER, algorithms: ['Ed25519'], jwks: JSON.stringify({ keys: [publicJwk(ED25519, { kid: KID })] }) },
        ],
      },
      token.withHeader({ alg: 'EdDSA' }).signedBy(ED25519),
      'accepted',
    ],
  ])('%s', async (_name, world, assertion, reason) => {
    expect(await reasonFor(assertion.build(), inWorld(world))).toBe(reason);
  });

  it('a template makes a claim of the node', async () => {
    const ports = memoryPorts({
      bindings: [
        { ...BINDING, tokenClaims: { runner_id: '{issuer.name}/{kubernetes.node.name|dots_to_underscores}' } },
      ],
    });
    const { outcome } = await verify(token.with(kubernetesClaims({ node: { name: 'node.a', uid: 'u' } })).build(), {
      ports,
    });
    expect(outcome).toMatchObject({
      kind: 'accepted',
      workload: { tokenClaims: { runner_id: 'edge cluster/node_a' } },
    });
  });

  it('a key of one issuer never verifies for another that uses the same kid', async () => {
    const other = { ...PROVIDER, jwks: JSON.stringify({ keys: [publicJwk(RSA_B, { kid: KID })] }) };
    const ports = memoryPorts({
      issuers: [CLUSTER, other],
      bindings: [BINDING, { ...BINDING, trustedIssuerId: other.id }],
    });
    const forged = token.with({ iss: other.issuerUrl }).signedBy(RSA_A).build();
    expect(await reasonFor(token.build(), { ports })).toBe('accepted');
    expect(await reasonFor(forged, { ports })).toBe('signature_invalid');
  });
});

describe('the client_id parameter', () => {
  const second = { ...CLIENT, id: 'client-row-2', clientId: 'edge-admin' };
  const twoClients = {
    clients: [CLIENT, second],
    bindings: [BINDING, { ...BINDING, id: 'binding-2', clientRowId: second.id }],
  };
  it.each<[string, Partial<World>, string | undefined, string]>([
    ['may be left out', {}, undefined, 'accepted'],
    ['may agree', {}, 'edge-worker', 'accepted'],
    ['must not name another client', {}, 'edge-admin', 'client_mismatch'],
    ['must not be the subject', {}, SUBJECT, 'client_mismatch'],
    ['is needed where several clients are bound', twoClients, undefined, 'client_ambiguous'],
    ['picks one of several', twoClients, 'edge-admin', 'accepted'],
  ])('%s', async (_name, world, clientId, reason) => {
    const options = { ports: memoryPorts(world), ...(clientId !== undefined && { clientId }) };
    expect(await reasonFor(aClusterAssertion().build(), options)).toBe(reason);
  });
});

describe('single use', () => {
  const assertion = aClusterAssertion().build();

  it('accepts once and then names the first use', async () => {
    const ports = memoryPorts();
    expect(await reasonFor(assertion, { ports })).toBe('accepted');
    const { outcome } = await verify(assertion, { ports, now: NOW + 30 });
    expect(outcome).toEqual({
      kind: 'refused',
      refusal: { reason: 'replayed', firstUsedAt: NOW, firstRequestId: 'request-1' },
    });
  });

  it('keeps the claim for as long as the assertion would be accepted, and longer', async () => {
    const ports = memoryPorts();
    await verify(assertion, { ports });
    expect([...ports.claims.values()][0]?.expiresAt).toBe(NOW + 3600 + 120);
  });

  it('does not claim for an issuer whose assertions may be shown until they expire', async () => {
    const ports = memoryPorts({ issuers: [{ ...CLUSTER, assertionUse: 'until_expiry' }] });
    expect(await reasonFor(assertion, { ports })).toBe('accepted');
    expect(await reasonFor(assertion, { ports })).toBe('accepted');
    expect(ports.claims.size).toBe(0);
  });

  it('gives no leeway on exp where the issued token ends with the assertion', async () => {
    const ports = memoryPorts({ issuers: [{ ...CLUSTER, assertionUse: 'until_expiry' }] });
    expect(await reasonFor(assertion, { ports, now: NOW + 3600 })).toBe('expired');
  });

  it('does not claim when it only explains, and says that it was used', async () => {
    const ports = memoryPorts();
    expect(await reasonFor(assertion, { ports, purpose: 'explain' })).toBe('accepted');
    expect(await reasonFor(assertion, { ports })).toBe('accepted');
    expect(await reasonFor(assertion, { ports, purpose: 'explain' })).toBe('replayed');
  });

  it('leaves the assertion usable when the grant is denied, but not when it was used before', async () => {
    const ports = memoryPorts();
    const presented = { assertion, clientId: null, requestId: 'r', now: NOW, purpose: 'authenticate' } as const;
    const deny = () => verifyAssertion(ports, presented, new VerificationTrace(), () => err('invalid_scope'));
    expect(await deny()).toMatchObject({ kind: 'denied', denial: 'invalid_scope' });
    expect(await reasonFor(assertion, { ports })).toBe('accepted');
    expect(await deny()).toMatchObject({ kind: 'refused', refusal: { reason: 'replayed' } });
  });

  it('tells tokens without jti apart by what was signed', async () => {
    const ports = memoryPorts();
    const one = aClusterAssertion().without('jti');
    const two = one.with(kubernetesClaims({ pod: { name: 'p2', uid: 'u2' } }));
    expect(await reasonFor(one.build(), { ports })).toBe('accepted');
    expect(await reasonFor(two.build(), { ports })).toBe('accepted');
    expect(await reasonFor(one.build(), { ports })).toBe('replayed');
  });
});

it('asks for no keys before the cheap checks have passed', async () => {
  const ports = memoryPorts();
  for (const cheap of [{ iss: 'https://evil.example' }, { aud: 'x' }, { exp: NOW - 3600 }, { sub: '' }]) {
    await verify(aClusterAssertion().with(cheap).build(), { ports });
  }
  expect(ports.keyLookups.count).toBe(0);
});

describe('a denied workload', () => {
  const denied = [
    { ...DENIAL, id: 'short', expiresAt: NOW + 10 },
    { ...DENIAL, id: 'long', member: 'subject' as const, value: SUBJECT, expiresAt: NOW + 20, reason: 'under review' },
    { ...DENIAL, id: 'over', expiresAt: NOW - 1 },
  ];

  it('is refused with the entry that lasts longest, and uses nothing up', async () => {
    const ports = memoryPorts({ denied });
    const { outcome } = await verify(aClusterAssertion().build(), { ports });
    expect(outcome).toEqual({
      kind: 'refused',
      refusal: {
        reason: 'workload_denied',
        entryId: 'long',
        member: 'subject',
        value: SUBJECT,
        denialReason: 'under review',
        expiresAt: NOW + 20,
      },
    });
    expect(ports.claims.size).toBe(0);
  });

  it('is explained, after what the platform says of it and before its bindings', async () => {
    const request = { assertion: aClusterAssertion().build(), clientId: null, requestId: 'r', now: NOW };
    const { checks, reason } = await explainAssertion(memoryPorts({ denied }), request);
    expect(reason).toBe('workload_denied');
    expect(checks.slice(-2)).toEqual([
      { name: 'platform_claims', passed: true, detail: expect.stringContaining('node node-1'), hint: null },
      {
        name: 'deny_list',
        passed: false,
        detail: `deny list entry long cuts off subject "${SUBJECT}" until 2026-11-30T12:00:20.000Z: under review`,
        hint: 'Once the cause is gone, remove the entry: _delete_deny_list_entry, or in the declarative file.',
      },
    ]);
    const later = await explainAssertion(memoryPorts({ denied }), { ...request, now: NOW + 20 });
    expect(later).toMatchObject({
      accepted: true,
      checks: expect.arrayContaining([{ name: 'deny_list', passed: true, detail: 'not on the deny list', hint: null }]),
    });
  });

  it('is not let through by a deny list that can not be read', async () => {
    const ports = { ...memoryPorts(), denyList: { find: () => Promise.reject(new Error('the database is away')) } };
    await expect(verify(aClusterAssertion().build(), { ports })).rejects.toThrow('the database is away');
  });
});
