/** The cluster's own word: what counts as a yes, what it is compared with, and what happens before and after it. */
import { describe, expect, it } from 'vitest';
import type { ReviewVerdict } from '../../src/assertion/ports.ts';
import type { TrustedIssuer } from '../../src/assertion/trusted-issuer.ts';
import { VerificationTrace } from '../../src/assertion/verification-trace.ts';
import { verifyAssertion } from '../../src/assertion/verify-assertion.ts';
import { ok } from '../../src/result.ts';
import { type AssertionBuilder, aClusterAssertion, CLUSTER_CLAIMS, SUBJECT } from '../fixtures/assertions.ts';
import { RSA_B } from '../fixtures/keys.ts';
import { memoryPorts } from '../fixtures/memory-ports.ts';
import { CLUSTER } from '../fixtures/rows.ts';
import { NOW } from '../fixtures/settable-clock.ts';

const YES = {
  kind: 'authenticated',
  username: SUBJECT,
  uid: '11111111-1111-4111-8111-111111111111',
  podUid: '22222222-2222-4222-8222-222222222222',
  nodeName: 'node-1',
  credentialId: 'JTI=55555555-5555-4555-8555-555555555555',
} as const satisfies ReviewVerdict;
const SERVER = { kubernetesApiServerUrl: 'https://10.0.0.1:6443' };
const REVIEWED: TrustedIssuer = { ...CLUSTER, ...SERVER, enableTokenReview: true };
const REVIEWED_ONLY: TrustedIssuer = { ...CLUSTER, ...SERVER, keySourceType: 'token_review', jwks: null };
const MODES = [
  ['after the signature', REVIEWED],
  ['as the only verifier', REVIEWED_ONLY],
] as const;

async function verify(issuer: TrustedIssuer, verdict: ReviewVerdict, builder: AssertionBuilder = aClusterAssertion()) {
  const ports = memoryPorts({ issuers: [issuer], verdict });
  const trace = new VerificationTrace();
  const assertion = builder.build();
  const request = { assertion, clientId: null, requestId: 'request-1', now: NOW, purpose: 'authenticate' } as const;
  const outcome = await verifyAssertion(ports, request, trace, () => ok('granted'));
  return {
    outcome,
    ports,
    trace,
    assertion,
    reason: outcome.kind === 'refused' ? outcome.refusal.reason : outcome.kind,
  };
}

const kubernetes = (changes: object) => ({
  'kubernetes.io': { ...Object(CLUSTER_CLAIMS['kubernetes.io']), ...changes },
});

describe.each(MODES)('a review %s', (_mode, issuer) => {
  it('that says yes to this very workload accepts it, and its credential id is on record', async () => {
    const { outcome, ports, trace, assertion } = await verify(issuer, YES);
    expect(outcome.kind).toBe('accepted');
    expect(ports.reviews).toEqual([[issuer.id, assertion]]);
    expect(trace.facts.credentialId).toBe(YES.credentialId);
    expect(ports.keyLookups.count).toBe(issuer === REVIEWED ? 1 : 0);
  });

  it.each<[string, ReviewVerdict, AssertionBuilder]>([
    [
      'of a cluster before 1.30, which names neither node nor credential',
      { ...YES, nodeName: null, credentialId: null },
      aClusterAssertion(),
    ],
    [
      'of a token without a pod',
      { ...YES, podUid: null, nodeName: null },
      aClusterAssertion().with(kubernetes({ pod: undefined, node: undefined })),
    ],
    [
      'that names nothing but the account',
      { ...YES, uid: null, podUid: null, nodeName: null, credentialId: null },
      aClusterAssertion(),
    ],
    ['of a token without a jti', YES, aClusterAssertion().without('jti')],
    ['with a credential id of another form', { ...YES, credentialId: 'X509SHA256=ab' }, aClusterAssertion()],
  ])('may be one %s', async (_title, verdict, builder) => {
    expect((await verify(issuer, verdict, builder)).reason).toBe('accepted');
  });

  it.each<[string, Partial<typeof YES> | Record<string, string | null>, string]>([
    ['another account', { username: 'system:serviceaccount:edge-system:other' }, 'sub'],
    [
      'another account of the same name',
      { uid: '99999999-1111-4111-8111-111111111111' },
      'kubernetes.io.serviceaccount.uid',
    ],
    ['another pod', { podUid: '99999999-2222-4222-8222-222222222222' }, 'kubernetes.io.pod.uid'],
    ['another node', { nodeName: 'node-2' }, 'kubernetes.io.node.name'],
    ['another token', { credentialId: 'JTI=99999999-5555-4555-8555-555555555555' }, 'jti'],
  ])('that names %s refuses', async (_title, changes, claim) => {
    const { outcome, ports } = await verify(issuer, { ...YES, ...changes } as ReviewVerdict);
    expect(outcome).toMatchObject({ kind: 'refused', refusal: { reason: 'review_mismatch', claim } });
    expect(ports.claims.size).toBe(0);
  });

  it('that names a pod for a token without one refuses', async () => {
    const builder = aClusterAssertion().with(kubernetes({ pod: undefined, node: undefined }));
    expect((await verify(issuer, YES, builder)).reason).toBe('review_mismatch');
  });

  it.each<[string, ReviewVerdict, string]>([
    ['says no', { kind: 'denied', detail: 'not authenticated' }, 'review_denied'],
    [
      'can not be had',
      { kind: 'unavailable', detail: 'connect ECONNREFUSED', retryAfterSeconds: 7 },
      'review_unavailable',
    ],
  ])('that %s refuses, and the assertion may still be used', async (_title, verdict, reason) => {
    const { outcome, ports } = await verify(issuer, verdict);
    expect(outcome).toMatchObject({ kind: 'refused', refusal: { reason } });
    expect(ports.claims.size).toBe(0);
  });

  it.each<[string, AssertionBuilder, string]>([
    ['rubbish for another audience', aClusterAssertion().with({ aud: ['https://other.example.com'] }), 'aud_mismatch'],
    ['an expired token', aClusterAssertion().with({ exp: NOW - 61 }), 'expired'],
    ['a token of a year', aClusterAssertion().with({ exp: NOW + 365 * 86_400 }), 'lifetime_too_long'],
    ['an unknown issuer', aClusterAssertion().with({ iss: 'https://other.example.com' }), 'issuer_not_trusted'],
    [
      'a subject that nobody bound',
      aClusterAssertion().with({
        sub: 'system:serviceaccount:edge-system:x',
        ...kubernetes({ serviceaccount: { name: 'x', uid: 'u' } }),
      }),
      'subject_not_bound',
    ],
    [
      'claims that disagree',
      aClusterAssertion().with(kubernetes({ namespace: 'other' })),
      'kubernetes_claims_disagree',
    ],
  ])('is not asked for with %s', async (_title, builder, reason) => {
    const { ports, reason: given } = await verify(issuer, YES, builder);
    expect(given).toBe(reason);
    expect(ports.reviews).toEqual([]);
  });
});

it('a forged signature is never sent to the cluster where there are keys', async () => {
  const { ports, reason } = await verify(REVIEWED, YES, aClusterAssertion().signedBy(RSA_B));
  expect(reason).toBe('signature_invalid');
  expect(ports.reviews).toEqual([]);
});

it('a cluster that is not to be asked is not asked', async () => {
  const { ports, reason } = await verify(CLUSTER, YES);
  expect(reason).toBe('accepted');
  expect(ports.reviews).toEqual([]);
});
