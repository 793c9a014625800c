/** Cases of the theme `k8s-token-shape`: what clusters of different ages really put into their tokens. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CLUSTER_CLAIMS, CLUSTER_ISSUER, type Claims, SUBJECT } from '../fixtures/assertions.ts';
import { CLUSTER_ROW, freshAssertion, type RunningServer, startServer } from '../fixtures/running-server.ts';
import { ecKey, type IssuerKey, keySetOf } from './issuer-key.ts';
import { expectIssued, expectRefused } from './outcome.ts';
import { evidenceOf } from './request-error.ts';
import { type TrustedWorkload, trustWorkload } from './trusted-workload.ts';

const KUBERNETES = CLUSTER_CLAIMS['kubernetes.io'] as Record<string, unknown>;
const UID = '11111111-1111-4111-8111-111111111111';

let server: RunningServer;
let issuers = 0;

beforeAll(async () => {
  server = await startServer();
  await server.trustCluster();
});
afterAll(() => server.close());

/** A cluster with a key of its own. */
async function cluster(fields: Claims = {}, key = ecKey('k1')): Promise<{ workload: TrustedWorkload; key: IssuerKey }> {
  issuers += 1;
  const workload = await trustWorkload(server, {
    issuer_url: `https://cluster-${issuers}.example.com`,
    key_source_type: 'static_jwks',
    jwks: JSON.stringify(keySetOf(key)),
    ...fields,
  });
  return { workload, key };
}

/** The `kubernetes.io` claim with these members; undefined removes one. */
const kubernetes = (changes: Claims) => ({ 'kubernetes.io': { ...KUBERNETES, ...changes } });

describe('K8S-01: the claims are nested under the literal name kubernetes.io', () => {
  it('K8S-01: they are in the audit log, the account’s uid included', async () => {
    const answer = await server.token(freshAssertion().build());
    await expectIssued(server, answer);
    expect(evidenceOf(await server.auditOf(answer))).toMatchObject({
      kubernetes: {
        namespace: 'edge-system',
        serviceAccount: { name: 'edge-worker', uid: UID },
        pod: { name: 'edge-worker-x7k2p' },
        node: { name: 'node-1' },
      },
    });
  });

  it('K8S-01: a binding’s condition reads them by path, dot in the name and all', async () => {
    const { client } = await server.createClient({ client_id: 'by-uid' });
    const { workload, key } = await cluster();
    const claims = { 'kubernetes.io.serviceaccount.uid': UID };
    await server.addBinding({ trusted_issuer_id: workload.issuerId, client_id: client.id, claims });
    const asClient = { client_id: 'by-uid' };
    const good = workload.assertion(key);
    expect(await expectIssued(server, await server.token(good.build(), asClient))).toMatchObject({ sub: 'by-uid' });
    const recreated = workload.assertion(key).with(kubernetes({ serviceaccount: { name: 'edge-worker', uid: 'u' } }));
    await expectRefused(server, await server.token(recreated.build(), asClient), 'client_mismatch');
  });

  it.each<[string, Claims, string]>([
    [
      'the flat names of old',
      { 'kubernetes.io/serviceaccount/namespace': 'edge-system' },
      'legacy_service_account_token',
    ],
    ['a path taken apart', { kubernetes: { io: KUBERNETES } }, 'kubernetes_claims_missing'],
  ])('K8S-01: %s do not stand for them', async (_name, claims, reason) => {
    const assertion = freshAssertion().without('kubernetes.io').with(claims);
    await expectRefused(server, await server.token(assertion.build()), reason);
  });
});

const POD = { pod: 'edge-worker-x7k2p', pod_uid: '22222222-2222-4222-8222-222222222222' };
const VARIANTS: readonly [string, readonly string[], Claims, Claims][] = [
  ['a pod’s token of 1.27, without jti and node', ['jti'], { node: undefined }, POD],
  ['one of kubectl create token, without pod', [], { pod: undefined, node: undefined }, {}],
  ['one bound to a Secret', ['jti'], { pod: undefined, node: undefined, secret: { name: 's', uid: '4' } }, {}],
  ['one that names a node and no pod, so that the node proves nothing', [], { pod: undefined }, {}],
  ['a full one of 1.32', [], {}, { ...POD, node: 'node-1' }],
];

describe('K8S-02: jti, pod and node are optional', () => {
  it.each(VARIANTS)('K8S-02: %s is accepted by default', async (_name, absent, changes, bound) => {
    const assertion = freshAssertion()
      .without(...absent)
      .with(kubernetes(changes));
    const { workload } = await expectIssued(server, await server.token(assertion.build()));
    const account = {
      namespace: 'edge-system',
      service_account: 'edge-worker',
      service_account_uid: '11111111-1111-4111-8111-111111111111',
    };
    expect(workload).toEqual({ issuer: CLUSTER_ISSUER, subject: SUBJECT, ...account, ...bound });
  });

  it('K8S-02: a row may ask for the pod, and for the node', async () => {
    const podOnly = kubernetes({ node: undefined });
    const neither = kubernetes({ pod: undefined, node: undefined });
    const nodeOnly = kubernetes({ pod: undefined });
    const present = (from: { workload: TrustedWorkload; key: IssuerKey }, claims: Claims) =>
      server.token(from.workload.assertion(from.key).with(claims).build());

    const podWanted = await cluster({ require_pod: true });
    await expectIssued(server, await present(podWanted, podOnly));
    await expectRefused(server, await present(podWanted, neither), 'pod_required', 'the token is not bound to a pod');

    const nodeWanted = await cluster({ require_node: true });
    await expectIssued(server, await present(nodeWanted, {}));
    await expectRefused(server, await present(nodeWanted, podOnly), 'node_required', 'the token names no node');
    // A node without a pod says nothing of where the caller runs.
    await expectRefused(server, await present(nodeWanted, nodeOnly), 'pod_required');
  });
});

describe('K8S-03: there is no default issuer', () => {
  const add = 'mutation ($params: AddTrustedIssuerRequest!) { _add_trusted_issuer(params: $params) { id } }';

  it.each<[string, unknown]>([
    ['absent', undefined],
    ['null', null],
    ['empty', ''],
  ])('K8S-03: a row whose issuer_url is %s is refused', async (_name, issuer_url) => {
    const { json } = await server.graphql(add, { params: { ...CLUSTER_ROW, issuer_url } });
    expect(json.data ?? null).toBeNull();
    expect(JSON.stringify(json.errors)).toContain('issuer_url');
  });

  it('K8S-03: the issuer of newer clusters is not trusted because an older one is', async () => {
    const other = 'https://kubernetes.default.svc';
    const answer = await server.token(freshAssertion().with({ iss: other }).build());
    await expectRefused(server, answer, 'issuer_not_trusted', `no trusted issuer is exactly "${other}"`);
  });
});

describe('K8S-04: old clusters send no kid', () => {
  const lenient = { require_kid: false };

  it.each([
    ['absent', undefined],
    ['empty', ''],
  ])('K8S-04: %s, it is refused by default', async (_name, kid) => {
    const answer = await server.token(freshAssertion().withHeader({ kid }).build());
    await expectRefused(server, answer, 'kid_missing', 'no kid, and the issuer has 1 key');
  });

  it.each([
    ['absent', undefined],
    ['empty', ''],
  ])('K8S-04: %s, it is no obstacle where the row says so and one key fits', async (_name, kid) => {
    const { workload, key } = await cluster(lenient);
    const assertion = workload.assertion(key).withHeader({ kid });
    await expectIssued(server, await server.token(assertion.build()));
    await expectRefused(
      server,
      await server.token(assertion.signedBy(ecKey('k').privateJwk).build()),
      'signature_invalid',
    );
  });

  it('K8S-04: it is refused where several keys fit', async () => {
    const key = ecKey('k1');
    const { workload } = await cluster({ ...lenient, jwks: JSON.stringify(keySetOf(key, ecKey('k2'))) }, key);
    const answer = await server.token(workload.assertion(key).withHeader({ kid: undefined }).build());
    await expectRefused(server, answer, 'key_ambiguous', 'no kid, and 2 keys fit');
  });

  it('K8S-04: a kid that is there is not recomputed as a proof', async () => {
    const { workload, key } = await cluster({}, ecKey('not-the-thumbprint'));
    await expectIssued(server, await workload.token(key));
  });
});

describe('K8S-05: the shared default account', () => {
  it('K8S-05: is allowed, with a warning to the admin and in the audit log', async () => {
    const subject = 'system:serviceaccount:prod:default';
    const warning = expect.stringContaining(`"${subject}" is the account of every pod in its namespace`);
    const { workload, key } = await cluster();
    const written = await server.graphql(
      'mutation ($params: AddWorkloadBindingRequest!) { _add_workload_binding(params: $params) { id warnings } }',
      { params: { trusted_issuer_id: workload.issuerId, client_id: workload.clientId, subject } },
    );
    expect(written.json.data).toMatchObject({ _add_workload_binding: { warnings: [warning] } });
    expect(evidenceOf(await server.auditOf(written))).toMatchObject({ warnings: [warning] });

    const assertion = workload
      .assertion(key)
      .with({ sub: subject, ...kubernetes({ namespace: 'prod', serviceaccount: { name: 'default', uid: UID } }) });
    expect(await expectIssued(server, await server.token(assertion.build()))).toMatchObject({ workload: { subject } });
  });
});

describe('K8S-08: API servers that each sign under an address of their own', () => {
  it('K8S-08: those of the row’s list are accepted, another one is refused with its name in the audit log', async () => {
    const key = ecKey('shared');
    const { workload } = await cluster(
      { issuer_url: 'https://192.0.2.11:6443', additional_issuer_urls: ['https://192.0.2.12:6443'] },
      key,
    );
    const from = (iss: string) => server.token(workload.assertion(key).with({ iss }).build());
    await expectIssued(server, await from('https://192.0.2.11:6443'));
    await expectIssued(server, await from('https://192.0.2.12:6443'));
    const evidence = await expectRefused(server, await from('https://192.0.2.13:6443'), 'issuer_not_trusted');
    expect(evidence).toMatchObject({ iss: 'https://192.0.2.13:6443' });
  });
});
