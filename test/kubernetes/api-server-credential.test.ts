/** The operator's credentials: own pod, token files and kubeconfigs, as real files. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createApiServerPost } from '../../src/key-source/api-server-post.ts';
import { createApiServerCredentials, credentialsInFolder } from '../../src/kubernetes/api-server-credential.ts';
import { type FakeApiServer, REVIEWER_CERT_PEM, REVIEWER_KEY_PEM, startApiServer } from '../fixtures/api-server.ts';
import { OTHER_CA_PEM, TEST_CA_PEM } from '../fixtures/issuer-server.ts';
import { settableClock } from '../fixtures/settable-clock.ts';

const CANARY = 'canary-secret-of-the-operator';
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'credentials-'));
  mkdirSync(join(folder, 'pod'));
  mkdirSync(join(folder, 'pki'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
const read = (name: string | null) =>
  createApiServerCredentials(credentialsInFolder(folder), join(folder, 'pod')).read(name);
const base64 = (text: string) => Buffer.from(text).toString('base64');
/** JSON is YAML. */
const kubeconfig = (user: object, cluster: object = {}, members: object = {}) =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'west',
    contexts: [
      { name: 'east', context: { cluster: 'c2', user: 'u2' } },
      { name: 'west', context: { cluster: 'c1', user: 'u1' } },
    ],
    clusters: [{ name: 'c1', cluster: { server: 'https://never.example.com', ...cluster } }],
    users: [
      { name: 'u2', user: { token: 'token-of-east' } },
      { name: 'u1', user },
    ],
    ...members,
  });

describe('the own pod', () => {
  it('has a token and a CA, trimmed', async () => {
    write('pod/token', ' a.b.c\n');
    write('pod/ca.crt', TEST_CA_PEM);
    expect(await read(null)).toEqual({
      ok: true,
      value: { bearerToken: 'a.b.c', clientCertificate: null, caPem: TEST_CA_PEM.trim() },
    });
  });

  it('may have no CA', async () => {
    write('pod/token', 'a.b.c');
    expect(await read(null)).toMatchObject({ ok: true, value: { caPem: null } });
  });

  it.each([
    ['is not there', null, /token can not be read \(ENOENT\): outside a pod, name a credential for this issuer$/],
    ['is empty', ' \n', /token is empty/],
    ['is two', `${CANARY}\n${CANARY}`, /token does not hold one token$/],
  ])('is no credential when its token %s', async (_what, text, error) => {
    if (text !== null) write('pod/token', text);
    expect(await read(null)).toEqual({ ok: false, error: expect.stringMatching(error) });
  });
});

describe('a file of the folder', () => {
  it('with nothing but a token is that token', async () => {
    write('west', 'a.b.c\n');
    expect(await read('west')).toEqual({
      ok: true,
      value: { bearerToken: 'a.b.c', clientCertificate: null, caPem: null },
    });
  });

  it('is read each time', async () => {
    write('west', 'first');
    await read('west');
    write('west', 'second');
    expect(await read('west')).toMatchObject({ value: { bearerToken: 'second' } });
  });

  it.each(['../west', 'pod/token', '..data', '.hidden', '', '/etc/passwd', `${'a'.repeat(64)}`])(
    'is none by the name %j',
    async (name) => {
      write('west', 'a.b.c');
      expect(await read(name)).toEqual({ ok: false, error: `no credential is named ${JSON.stringify(name)}` });
    },
  );

  it('is none without a folder', async () => {
    const credentials = createApiServerCredentials(credentialsInFolder(null));
    expect(await credentials.read('west')).toEqual({ ok: false, error: 'no credential is named "west"' });
  });

  it.each([
    ['missing', null, /west can not be read \(ENOENT\)$/],
    ['empty', '', /west is empty$/],
    ['YAML that breaks', `token: "${CANARY}`, /west is neither a token nor YAML \(line \d\)$/],
    ['YAML whose secret looks like an alias', `token: *${CANARY}`, /west is neither a token nor YAML \(line 1\)$/],
    ['a list', `- ${CANARY}`, /west is neither a token nor a kubeconfig$/],
    ['some other document', `{ "kind": "Secret", "token": "${CANARY}" }`, /west is neither a token nor a kubeconfig$/],
  ])('is no credential when it is %s', async (_what, text, error) => {
    if (text !== null) write('west', text);
    expect(await read('west')).toEqual({ ok: false, error: expect.stringMatching(error) });
  });
});

describe('a kubeconfig', () => {
  it.each<[string, object, object]>([
    ['a token', { token: 'a.b.c' }, { bearerToken: 'a.b.c' }],
    ['a token file beside it', { tokenFile: 'pki/token' }, { bearerToken: 'token-in-file' }],
    ['a token and its file: the file', { token: 'a.b.c', tokenFile: 'pki/token' }, { bearerToken: 'token-in-file' }],
    [
      'a certificate in it',
      { 'client-certificate-data': base64(REVIEWER_CERT_PEM), 'client-key-data': base64(REVIEWER_KEY_PEM) },
      { clientCertificate: { certPem: REVIEWER_CERT_PEM.trim(), keyPem: REVIEWER_KEY_PEM.trim() } },
    ],
    [
      'a certificate beside it',
      { 'client-certificate': 'pki/cert.pem', 'client-key': './pki/key.pem' },
      { clientCertificate: { certPem: REVIEWER_CERT_PEM.trim(), keyPem: REVIEWER_KEY_PEM.trim() } },
    ],
    [
      'a certificate in it and one beside it: the one in it',
      {
        'client-certificate': 'nowhere',
        'client-certificate-data': base64(REVIEWER_CERT_PEM),
        'client-key': 'pki/key.pem',
      },
      { clientCertificate: { certPem: REVIEWER_CERT_PEM.trim(), keyPem: REVIEWER_KEY_PEM.trim() } },
    ],
  ])('may have %s', async (_what, user, expected) => {
    write('pki/token', 'token-in-file\n');
    write('pki/cert.pem', REVIEWER_CERT_PEM);
    write('pki/key.pem', REVIEWER_KEY_PEM);
    write('west', kubeconfig(user));
    expect(await read('west')).toEqual({
      ok: true,
      value: { bearerToken: null, clientCertificate: null, caPem: null, ...expected },
    });
  });

  it.each([
    ['in it', { 'certificate-authority-data': base64(TEST_CA_PEM) }],
    ['beside it', { 'certificate-authority': 'pki/ca.crt' }],
  ])('brings the CA %s', async (_where, cluster) => {
    write('pki/ca.crt', TEST_CA_PEM);
    write('west', kubeconfig({ token: 'a.b.c' }, cluster));
    expect(await read('west')).toMatchObject({ value: { caPem: TEST_CA_PEM.trim() } });
  });

  it('may be YAML as kubectl writes it', async () => {
    write(
      'west',
      [
        'apiVersion: v1',
        'clusters: []',
        'contexts:',
        '- context: { cluster: c1, user: u1 }',
        '  name: west',
        'current-context: west',
        'kind: Config',
        'preferences: {}',
        'users:',
        '- name: u1',
        '  user:',
        '    token: a.b.c',
      ].join('\n'),
    );
    expect(await read('west')).toMatchObject({ value: { bearerToken: 'a.b.c' } });
  });

  it('is read by the context that is named, where one is', async () => {
    write('west', kubeconfig({ token: 'a.b.c' }));
    const credentials = createApiServerCredentials(() => ({ path: join(folder, 'west'), context: 'east' }));
    expect(await credentials.read('any')).toMatchObject({ value: { bearerToken: 'token-of-east' } });
  });

  it.each<[string, object, object, object, RegExp]>([
    [
      'exec',
      { exec: { command: CANARY } },
      {},
      {},
      /user "u1" has exec, which is not supported \(it would run a program\): give it a token or a client certificate$/,
    ],
    ['exec beside a token', { token: 'a', exec: { command: CANARY } }, {}, {}, /has exec/],
    ['an auth provider', { 'auth-provider': { name: 'oidc' } }, {}, {}, /has auth-provider, which is not supported/],
    ['a password', { username: 'admin', password: CANARY }, {}, {}, /has username, which is not supported/],
    ['impersonation', { token: 'a', as: 'admin' }, {}, {}, /has as, which is not supported \(impersonation\)/],
    ['impersonated groups', { token: 'a', 'as-groups': ['g'] }, {}, {}, /has as-groups, which is not supported/],
    ['nothing', {}, {}, {}, /user "u1" has neither a token nor a client certificate$/],
    [
      'a certificate without its key',
      { 'client-certificate-data': base64(REVIEWER_CERT_PEM) },
      {},
      {},
      /has only one of client certificate and client key$/,
    ],
    [
      'a key without its certificate',
      { token: 'a', 'client-key-data': base64(REVIEWER_KEY_PEM) },
      {},
      {},
      /has only one of/,
    ],
    [
      'the certificate of another key',
      { 'client-certificate-data': base64(OTHER_CA_PEM), 'client-key-data': base64(REVIEWER_KEY_PEM) },
      {},
      {},
      /west has a client key that is not that of its client certificate$/,
    ],
    [
      'an unreadable certificate',
      { 'client-certificate-data': base64(CANARY), 'client-key-data': base64(REVIEWER_KEY_PEM) },
      {},
      {},
      /west has a client certificate or client key that can not be read as PEM$/,
    ],
    ['a token of two lines', { token: `a\n${CANARY}` }, {}, {}, /west names something that is no token$/],
    [
      'a token file that is not there',
      { tokenFile: 'pki/nowhere' },
      {},
      {},
      /pki\/nowhere can not be read \(ENOENT\)$/,
    ],
    [
      'a CA file that is not there',
      { token: 'a' },
      { 'certificate-authority': 'gone' },
      {},
      /gone can not be read \(ENOENT\)$/,
    ],
    ['no current context', { token: 'a' }, {}, { 'current-context': '' }, /west has no current-context$/],
    ['a context that is not there', { token: 'a' }, {}, { 'current-context': 'north' }, /west has no context "north"$/],
    ['no users', { token: 'a' }, {}, { users: [] }, /west has no user for context "west"$/],
  ])('is refused with %s', async (_what, user, cluster, members, error) => {
    write('west', kubeconfig(user, cluster, members));
    const credential = await read('west');
    expect(credential).toEqual({ ok: false, error: expect.stringMatching(error) });
    expect(JSON.stringify(credential)).not.toContain(CANARY);
  });
});

describe('a client certificate', () => {
  let api: FakeApiServer;
  beforeEach(async () => {
    api = await startApiServer(settableClock());
  });
  afterEach(() => api.close());

  it('makes us known to the API server, without any token', async () => {
    write(
      'west',
      kubeconfig({ 'client-certificate-data': base64(REVIEWER_CERT_PEM), 'client-key-data': base64(REVIEWER_KEY_PEM) }),
    );
    const credential = await read('west');
    if (!credential.ok) throw new Error(credential.error);
    const post = createApiServerPost({ privateNetworks: ['127.0.0.0/8'] });
    const url = `${api.url}/apis/authentication.k8s.io/v1/tokenreviews`;
    const request = {
      ...credential.value,
      body: { kind: 'TokenReview', spec: { token: api.token().build() } },
      caPem: TEST_CA_PEM,
      allowPrivateNetwork: true,
      deadlineMs: 3000,
    };
    expect(await post(url, request)).toMatchObject({ ok: true, value: { status: 201 } });
    expect(api.reviews).toMatchObject([{ authorization: undefined, certificateUser: 'reviewer' }]);
    expect(await post(url, { ...request, clientCertificate: null })).toMatchObject({ value: { status: 401 } });
  });
});
