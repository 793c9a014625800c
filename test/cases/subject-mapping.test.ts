/** Cases of the theme `subject-mapping`: the client follows from the issuer’s row and the exact subject. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SUBJECT } from '../fixtures/assertions.ts';
import { startIssuerServer } from '../fixtures/issuer-server.ts';
import { freshAssertion, type RunningServer, startServer } from '../fixtures/running-server.ts';
import { ecKey, keySetOf } from './issuer-key.ts';
import { keyFetchCount } from './key-fetch-count.ts';
import { expectIssued, expectRefused } from './outcome.ts';
import { type PinnedIssuer, pinIssuer } from './pinned-issuer.ts';

let server: RunningServer;

beforeAll(async () => {
  server = await startServer();
  await server.trustCluster({ client: { client_id: 'app-a' } });
});
afterAll(() => server.close());

describe('SUB-01: the subject is no client_id', () => {
  it.each([
    ['without', undefined],
    ['with', 'app-a'],
  ])('SUB-01: is accepted %s client_id', async (_name, clientId) => {
    const fields = clientId === undefined ? {} : { client_id: clientId };
    const claims = await expectIssued(server, await server.token(freshAssertion().build(), fields));
    expect(claims).toMatchObject({ sub: 'app-a', client_id: 'app-a', workload: { subject: SUBJECT } });
  });

  it('SUB-01: the subject as client_id names nobody', async () => {
    const answer = await server.token(freshAssertion().build(), { client_id: SUBJECT });
    await expectRefused(server, answer, 'client_mismatch', `client_id "${SUBJECT}" is not bound to "${SUBJECT}"`);
  });

  it('SUB-01: a subject that reads like another client’s id gives nothing of that client', async () => {
    await server.createClient({ client_id: 'app-c' });
    const issuer = await pinIssuer(server, 'https://sub-01.example.com', 'app-a', ['job']);
    const presented = () => server.token(issuer.assertion('app-c').build());
    await expectRefused(server, await presented(), 'subject_not_bound', 'no binding for subject "app-c"');
    await server.addBinding({ trusted_issuer_id: issuer.id, client_id: 'app-a', subject: 'app-c' });
    expect(await expectIssued(server, await presented())).toMatchObject({ sub: 'app-a' });
  });
});

const SUBJECTS = [
  'system:serviceaccount:a:b',
  'repo:org/repo:environment:prod',
  'spiffe://td.example/ns/a/sa/b',
  'project_path:g/sg/p:ref_type:branch:ref:feat/x',
  'repo:org/a,repo:org/b:ref:refs/heads/main',
];

describe('SUB-02: a subject is any text', () => {
  let issuer: PinnedIssuer;

  beforeAll(async () => {
    issuer = await pinIssuer(server, 'https://sub-02.example.com', 'app-a');
  });

  it.each(SUBJECTS)('SUB-02: %s makes the round trip byte for byte', async (subject) => {
    const { id } = await server.addBinding({ trusted_issuer_id: issuer.id, client_id: 'app-a', subject });
    const stored = await server.admin<{ subject: string }>(
      'query ($params: WorkloadBindingRequest!) { _workload_binding(params: $params) { subject } }',
      { id },
    );
    expect(stored).toEqual({ subject });
    const answer = await server.token(issuer.assertion(subject).build());
    expect(await expectIssued(server, answer)).toMatchObject({ workload: { subject } });
    expect(await server.auditOf(answer)).toMatchObject({ subject });
    for (const other of [`${subject} `, subject.toUpperCase(), subject.slice(0, -1)]) {
      await expectRefused(server, await server.token(issuer.assertion(other).build()), 'subject_not_bound');
    }
  });

  it('SUB-02: the short form keeps a list of them exactly, commas included', async () => {
    const { client } = await server.createClient({ client_id: 'short-form' });
    const { id } = await server.addIssuer({
      issuer_url: 'https://short-form.example.com',
      issuer_type: 'oidc',
      jwks: JSON.stringify(keySetOf(ecKey('k1'))),
      service_account_id: client.id,
      allowed_subjects: SUBJECTS,
    });
    const stored = await server.admin<{ allowed_subject_list: readonly string[] }>(
      'query ($params: TrustedIssuerRequest!) { _trusted_issuer(params: $params) { allowed_subject_list } }',
      { id },
    );
    expect(stored.allowed_subject_list).toEqual(SUBJECTS.toSorted());
  });
});

describe('SUB-03: there are no patterns, so none is badly anchored', () => {
  const [main, develop] = ['repo:org/app:ref:refs/heads/main', 'repo:org/app:ref:refs/heads/develop'];
  let issuer: PinnedIssuer;

  beforeAll(async () => {
    const subjects = [`${main}|${develop}`, main, develop];
    issuer = await pinIssuer(server, 'https://sub-03.example.com', 'app-a', subjects);
  });

  it.each(['repo:org/app:ref:refs/heads/main-attacker', 'evil-repo:org/app:ref:refs/heads/develop'])(
    'SUB-03: %s is refused',
    async (sub) => {
      const detail = `no binding for subject "${sub}"`;
      await expectRefused(server, await server.token(issuer.assertion(sub).build()), 'subject_not_bound', detail);
    },
  );

  it.each([main, develop])('SUB-03: %s itself is accepted', async (sub) => {
    await expectIssued(server, await server.token(issuer.assertion(sub).build()));
  });

  it('SUB-03: a pattern that is bound alone matches only itself, and the admin is told', async () => {
    const only = await pinIssuer(server, 'https://sub-03-only.example.com', 'app-a', [`${main}|${develop}`]);
    await expectRefused(server, await server.token(only.assertion(main).build()), 'subject_not_bound');
    const { json } = await server.graphql(
      'mutation ($params: AddWorkloadBindingRequest!) { _add_workload_binding(params: $params) { warnings } }',
      { params: { trusted_issuer_id: only.id, client_id: 'app-a', subject: 'repo:org/*' } },
    );
    expect(json.data).toMatchObject({
      _add_workload_binding: { warnings: ['"repo:org/*" has a *; subjects match exactly, it is not a wildcard'] },
    });
    await expectRefused(server, await server.token(only.assertion('repo:org/app').build()), 'subject_not_bound');
  });
});

describe('SUB-06: an issuer that merely contains a trusted one is a stranger', () => {
  beforeAll(async () => {
    await pinIssuer(server, 'https://oidc.example.com/id/x', 'app-a', [SUBJECT]);
    await pinIssuer(server, 'https://oidc\\.example\\.com/id/.*', 'app-a', [SUBJECT]);
  });

  it.each([
    'https://evil.example.net/?https://oidc.example.com/id/x',
    'https://oidc.example.com.evil.net/id/x',
    'https://oidc.example.com/id/xx',
    'https://oidc.example.com/id/y',
    'HTTPS://oidc.example.com/id/x',
  ])('SUB-06: %s is refused, and nothing is fetched', async (iss) => {
    const detail = `no trusted issuer is exactly "${iss}"`;
    await expectRefused(
      server,
      await server.token(freshAssertion().with({ iss }).build()),
      'issuer_not_trusted',
      detail,
    );
    expect(await keyFetchCount(server)).toBe(0);
  });

  it('SUB-06: an unknown issuer that can be reached never sees a connection', async () => {
    const evil = await startIssuerServer('http');
    const iss = `${evil.origin}/?https://oidc.example.com/id/x`;
    const assertion = freshAssertion().with({ iss }).withHeader({ kid: 'made-up' }).build();
    await expectRefused(server, await server.token(assertion), 'issuer_not_trusted');
    expect(evil.connections()).toBe(0);
    await evil.close();
  });
});
