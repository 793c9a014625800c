/**
 * Real failures of discovery, against the running server: where the document is read, what of it counts, and what a
 * workload and an admin see when it leads nowhere.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { type IssuerServer, startIssuerServer } from '../fixtures/issuer-server.ts';
import { RSA_A } from '../fixtures/keys.ts';
import type { RunningServer } from '../fixtures/running-server.ts';
import { type BlackHole, startBlackHole } from './black-hole.ts';
import { ecKey, issuerKey, keySetOf } from './issuer-key.ts';
import { expectIssued, expectRefused, expectUnavailable } from './outcome.ts';
import { startQuietServer } from './quiet-server.ts';
import { until, watchRequests } from './request-watch.ts';
import { lookupsOf, resolveTo } from './resolver.ts';
import { trustWorkload } from './trusted-workload.ts';

vi.mock('node:dns/promises', () => import('./resolver.ts'));

const WELL_KNOWN = '/.well-known/openid-configuration';
const SUPPORTED = {
  response_types_supported: ['id_token'],
  subject_types_supported: ['public'],
  id_token_signing_alg_values_supported: ['RS256'],
};

let server: RunningServer;
let issuer: IssuerServer;
beforeAll(async () => {
  server = await startQuietServer();
  issuer = await startIssuerServer();
});
afterAll(async () => {
  await server.close();
  await issuer.close();
});
afterEach(() => void vi.useRealTimers());

describe('DSC-01: the issuer’s name and the address of its document differ', () => {
  const NAME = 'https://kubernetes-api.internal.example.com:8443';
  const path = `/k8s/main${WELL_KNOWN}`;

  it('DSC-01: the document is read at discovery_url alone, and the tokens carry the name', async () => {
    const key = ecKey('k1');
    issuer.json(path, { issuer: NAME, jwks_uri: `${issuer.origin}/k8s/main/keys` });
    issuer.json('/k8s/main/keys', keySetOf(key));
    const workload = await trustWorkload(server, {
      issuer_url: NAME,
      key_source_type: 'oidc_discovery',
      discovery_url: `${issuer.origin}${path}`,
    });
    expect(workload.warnings).toEqual([]);
    const asked = watchRequests(issuer);
    const claims = await expectIssued(server, await workload.token(key));
    expect(claims.workload).toMatchObject({ issuer: NAME });
    expect(asked()).toEqual([path, '/k8s/main/keys']);
    expect(lookupsOf('kubernetes-api.internal.example.com')).toBe(0);
  });

  it.each([
    ['the address it was fetched from', () => issuer.origin],
    ['another name', () => 'https://evil.example.com'],
    ['the name in upper case', () => 'https://KUBERNETES-API.other.example.com:8443'],
  ])(
    'DSC-01: a document that names %s makes the issuer unusable, and the admin sees both strings',
    async (_what, named) => {
      const name = 'https://kubernetes-api.other.example.com:8443';
      const key = ecKey('k1');
      const discoveryUrl = `${issuer.origin}/other${WELL_KNOWN}`;
      issuer.json(`/other${WELL_KNOWN}`, { issuer: named(), jwks_uri: `${issuer.origin}/other/keys` });
      issuer.json('/other/keys', keySetOf(key));
      const workload = await trustWorkload(server, {
        issuer_url: name,
        key_source_type: 'oidc_discovery',
        discovery_url: discoveryUrl,
      });
      const detail = `discovery at ${discoveryUrl}: the document is of issuer "${named()}", not of "${name}"`;
      expect(workload.warnings).toEqual([`no keys can be had from this issuer right now: ${detail}`]);
      const asked = watchRequests(issuer);
      await expectUnavailable(server, await workload.token(key), detail);
      expect(asked()).toEqual([`/other${WELL_KNOWN}`]);
      expect((await workload.keys())?.last_error).toBe(detail);
      const check = await server.admin(
        `query ($params: TrustedIssuerRequest!) { _check_trusted_issuer(params: $params) {
        passed discovery_url discovered_issuer jwks_url failure { code detail } } }`,
        { id: workload.issuerId },
      );
      expect(check).toEqual({
        passed: false,
        discovery_url: discoveryUrl,
        discovered_issuer: named(),
        jwks_url: null,
        failure: { code: 'discovery_issuer_mismatch', detail },
      });
      await workload.remove();
    },
  );
});

describe('DSC-02: an in-cluster short name is used for the fetch', () => {
  const NAME = 'https://kubernetes.default.svc.cluster.local';

  it('DSC-02: the short name works for the fetch, and a document that takes it for the issuer fails closed', async () => {
    resolveTo('kubernetes.default', '127.0.0.1');
    const host = `https://kubernetes.default:${issuer.port}`;
    const key = ecKey('k1');
    issuer.json('/openid/v1/jwks', keySetOf(key));
    issuer.json(WELL_KNOWN, { issuer: NAME, jwks_uri: `${host}/openid/v1/jwks` });
    const workload = await trustWorkload(server, {
      issuer_url: NAME,
      key_source_type: 'oidc_discovery',
      discovery_url: `${host}${WELL_KNOWN}`,
    });
    const asked = watchRequests(issuer);
    await expectIssued(server, await workload.token(key));
    expect(asked()).toEqual([WELL_KNOWN, '/openid/v1/jwks']);
    expect(issuer.requests.at(-1)?.headers.host).toBe(`kubernetes.default:${issuer.port}`);

    // Another address, so that what was fetched so far is forgotten.
    const wrong = `/wrong${WELL_KNOWN}`;
    issuer.json(wrong, { issuer: 'https://kubernetes.default', jwks_uri: `${host}/openid/v1/jwks` });
    const { warnings } = await workload.update({ discovery_url: `${host}${wrong}` });
    const detail = `discovery at ${host}${wrong}: the document is of issuer "https://kubernetes.default", not of "${NAME}"`;
    expect(warnings).toEqual([`no keys can be had from this issuer right now: ${detail}`]);
    await expectUnavailable(server, await workload.token(key), detail);
  });
});

describe('DSC-03: the jwks_uri of the document is unreachable', () => {
  let blackHole: BlackHole;
  beforeAll(async () => {
    blackHole = await startBlackHole();
  });
  afterAll(() => blackHole.close());

  it.each([
    ['does not resolve', 'https://ip-192-0-2-41.internal.example.com:443/openid/v1/jwks', 'ENOTFOUND'],
    ['refuses the connection', 'https://127.0.0.1:9/openid/v1/jwks', 'ECONNREFUSED'],
  ])(
    'DSC-03: a host that %s is a bounded failure, and an explicit jwks_url mends it',
    async (_what, jwksUri, cause) => {
      const path = `/id/${cause}`;
      const key = ecKey('k1');
      issuer.json(`${path}${WELL_KNOWN}`, { issuer: `${issuer.origin}${path}`, jwks_uri: jwksUri });
      issuer.json(`${path}/keys`, keySetOf(key));
      const workload = await trustWorkload(server, {
        issuer_url: `${issuer.origin}${path}`,
        key_source_type: 'oidc_discovery',
      });
      const detail = new RegExp(`^key set at ${jwksUri.replace(':443', '')}: .*${cause}`);
      expect(workload.warnings).toHaveLength(1);
      const asked = watchRequests(issuer);
      await expectUnavailable(server, await workload.token(key), detail);
      // The host is never rewritten by guess.
      expect(asked()).toEqual([`${path}${WELL_KNOWN}`]);

      expect((await workload.update({ jwks_url: `${issuer.origin}${path}/keys` })).warnings).toEqual([]);
      const afterwards = watchRequests(issuer);
      await expectIssued(server, await workload.token(key));
      expect(afterwards()).toEqual([`${path}/keys`]);
    },
  );

  it('DSC-03: a host without a route is given up after 3 seconds', async () => {
    const path = '/id/black-hole';
    const key = ecKey('k1');
    issuer.json(`${path}${WELL_KNOWN}`, { issuer: `${issuer.origin}${path}`, jwks_uri: `${blackHole.origin}/keys` });
    issuer.json(`${path}/keys`, keySetOf(key));
    const workload = await trustWorkload(server, {
      issuer_url: `${issuer.origin}${path}`,
      key_source_type: 'oidc_discovery',
      is_active: false,
    });
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    // Switching it on looks at its keys, and waits for the black hole too.
    const switchedOn = workload.update({ is_active: true });
    await until(() => blackHole.connections() === 1);
    vi.advanceTimersByTime(3000);
    expect((await switchedOn).warnings).toHaveLength(1);

    let isAnswered = false;
    const pending = workload.token(key).finally(() => {
      isAnswered = true;
    });
    await until(() => blackHole.connections() === 2);
    vi.advanceTimersByTime(2999);
    // A whole other request goes through, and this one still waits.
    expect((await server.send('GET', '/healthz')).status).toBe(200);
    expect(isAnswered).toBe(false);
    vi.advanceTimersByTime(1);
    await expectUnavailable(
      server,
      await pending,
      `key set at ${blackHole.origin}/keys: no complete answer within 3 s (TLS handshake)`,
    );
    vi.useRealTimers();

    await workload.update({ jwks_url: `${issuer.origin}${path}/keys` });
    await expectIssued(server, await workload.token(key));
  });
});

describe('DSC-04: a pasted key set is not the one that signs', () => {
  it('DSC-04: the caller sees one refusal, the admin which key was missing in which set, and nothing is fetched', async () => {
    const connections = issuer.connections();
    const workload = await trustWorkload(server, {
      issuer_url: `${issuer.origin}/id/ABCD`,
      key_source_type: 'static_jwks',
      jwks: JSON.stringify(keySetOf(ecKey('local'))),
    });
    const evidence = await expectRefused(
      server,
      await workload.token(issuerKey('provider-key-1', 'RS256', RSA_A)),
      'kid_unknown',
      'kid "provider-key-1" is not in the static key set stored at 2026-11-30T12:00:00.000Z (1 key: "local")',
    );
    expect(evidence).toMatchObject({
      kid: 'provider-key-1',
      alg: 'RS256',
      hint: expect.stringContaining('another cluster'),
    });
    expect(issuer.connections()).toBe(connections);
  });
});

describe('DSC-05: the issuer has a path', () => {
  it.each([
    ['without a final slash', '/v1/projects/p/locations/l/clusters/c', ''],
    ['with one', '/v1/projects/p/locations/l/clusters/d', '/'],
  ])('DSC-05: %s, the document is exactly one request below that path', async (_what, path, slash) => {
    const issuerUrl = `${issuer.origin}${path}${slash}`;
    const key = ecKey('k1');
    issuer.json(`${path}${WELL_KNOWN}`, { issuer: issuerUrl, jwks_uri: `${issuer.origin}${path}/jwks` });
    issuer.json(`${path}/jwks`, keySetOf(key));
    // A trap: whoever drops the path finds another issuer's document.
    issuer.json(WELL_KNOWN, { issuer: issuer.origin, jwks_uri: `${issuer.origin}/trap` });
    const whileSaved = watchRequests(issuer);
    const workload = await trustWorkload(server, { issuer_url: issuerUrl, key_source_type: 'oidc_discovery' });
    expect(whileSaved()).toEqual([`${path}${WELL_KNOWN}`, `${path}/jwks`]);
    const asked = watchRequests(issuer);
    await expectIssued(server, await workload.token(key));
    expect(asked()).toEqual([`${path}${WELL_KNOWN}`, `${path}/jwks`]);
  });

  it('DSC-05: a document that is not below the path is not looked for anywhere else', async () => {
    const path = '/v1/projects/p/missing';
    const workload = await trustWorkload(server, {
      issuer_url: `${issuer.origin}${path}`,
      key_source_type: 'oidc_discovery',
    });
    const asked = watchRequests(issuer);
    await expectUnavailable(
      server,
      await workload.token(ecKey('k1')),
      `discovery at ${issuer.origin}${path}${WELL_KNOWN}: the server answered 404`,
    );
    expect(asked()).toEqual([`${path}${WELL_KNOWN}`]);
  });
});

describe('DSC-07: a minimal discovery document', () => {
  it.each([
    ['what Kubernetes publishes', SUPPORTED],
    ['nothing but the two members that count', {}],
    ['unknown members', { ...SUPPORTED, authorization_endpoint: 7, keys: 'x', 'https://x/': [null] }],
  ])('DSC-07: with %s is enough', async (what, others) => {
    const path = `/minimal/${what.length}`;
    const key = ecKey('k1');
    issuer.json(`${path}${WELL_KNOWN}`, {
      issuer: `${issuer.origin}${path}`,
      jwks_uri: `${issuer.origin}${path}/openid/v1/jwks`,
      ...others,
    });
    issuer.json(`${path}/openid/v1/jwks`, keySetOf(key));
    const workload = await trustWorkload(server, {
      issuer_url: `${issuer.origin}${path}`,
      key_source_type: 'oidc_discovery',
    });
    expect(workload.warnings).toEqual([]);
    await expectIssued(server, await workload.token(key));
  });

  const MALFORMED = 'not a discovery document: no string "jwks_uri"';
  it.each<[string, Readonly<Record<string, unknown>>, string]>([
    ['missing', {}, MALFORMED],
    ['null', { jwks_uri: null }, MALFORMED],
    ['an array', { jwks_uri: ['https://idp.example.com/keys'] }, MALFORMED],
    ['an object', { jwks_uri: { href: 'https://idp.example.com/keys' } }, MALFORMED],
    ['a number', { jwks_uri: 443 }, MALFORMED],
    ['empty', { jwks_uri: '' }, 'jwks_uri is not an absolute URL'],
    ['relative', { jwks_uri: '/openid/v1/jwks' }, 'jwks_uri is not an absolute URL'],
    ['without a scheme', { jwks_uri: 'idp.example.com/keys' }, 'jwks_uri is not an absolute URL'],
    ['of another scheme', { jwks_uri: 'file:///etc/passwd' }, 'jwks_uri is file:// instead of https://'],
  ])('DSC-07: with a jwks_uri that is %s fails closed, with the reason', async (what, members, problem) => {
    const path = `/broken/${what.replaceAll(' ', '-')}`;
    issuer.json(`${path}${WELL_KNOWN}`, { issuer: `${issuer.origin}${path}`, ...SUPPORTED, ...members });
    const workload = await trustWorkload(server, {
      issuer_url: `${issuer.origin}${path}`,
      key_source_type: 'oidc_discovery',
    });
    const detail = `discovery at ${issuer.origin}${path}${WELL_KNOWN}: ${problem}`;
    expect(workload.warnings).toEqual([`no keys can be had from this issuer right now: ${detail}`]);
    const asked = watchRequests(issuer);
    await expectUnavailable(server, await workload.token(ecKey('k1')), detail);
    expect(asked()).toEqual([`${path}${WELL_KNOWN}`]);
  });

  it.each<[string, unknown, string]>([
    ['an array', [{ issuer: 'x' }], 'not a discovery document: not a JSON object'],
    ['null', null, 'not a discovery document: not a JSON object'],
    [
      'a document without issuer',
      { jwks_uri: 'https://idp.example.com/k' },
      'not a discovery document: no string "issuer"',
    ],
  ])('DSC-07: %s is no document', async (what, document, problem) => {
    const path = `/no-document/${what.replaceAll(' ', '-')}`;
    issuer.json(`${path}${WELL_KNOWN}`, document);
    const workload = await trustWorkload(server, {
      issuer_url: `${issuer.origin}${path}`,
      key_source_type: 'oidc_discovery',
    });
    await expectUnavailable(
      server,
      await workload.token(ecKey('k1')),
      `discovery at ${issuer.origin}${path}${WELL_KNOWN}: ${problem}`,
    );
  });
});

describe('DSC-09: the jwks_uri is an address that the certificate does not name', () => {
  it('DSC-09: fails closed with the TLS error in the audit record; jwks_url by name mends it', async () => {
    const named = await startIssuerServer('named');
    resolveTo('api.example.com', '127.0.0.1');
    const path = '/id/node-ip';
    const key = ecKey('k1');
    named.json('/openid/v1/jwks', keySetOf(key));
    issuer.json(`${path}${WELL_KNOWN}`, {
      issuer: `${issuer.origin}${path}`,
      jwks_uri: `${named.origin}/openid/v1/jwks`,
    });
    const workload = await trustWorkload(server, {
      issuer_url: `${issuer.origin}${path}`,
      key_source_type: 'oidc_discovery',
    });
    const detail =
      `key set at ${named.origin}/openid/v1/jwks: TLS with 127.0.0.1 failed (ERR_TLS_CERT_ALTNAME_INVALID): ` +
      'the certificate is for other names, give a jwks_url or discovery_url with one of those';
    expect(workload.warnings).toEqual([`no keys can be had from this issuer right now: ${detail}`]);
    await expectUnavailable(server, await workload.token(key), detail);
    // No request was made over a connection that could not be trusted.
    expect(named.requests).toEqual([]);

    const jwksUrl = `https://api.example.com:${named.port}/openid/v1/jwks`;
    expect((await workload.update({ jwks_url: jwksUrl })).warnings).toEqual([]);
    await expectIssued(server, await workload.token(key));
    expect(named.requests.map(({ headers }) => headers.host)).toEqual(
      Array.from({ length: 2 }, () => `api.example.com:${named.port}`),
    );
    await named.close();
  });
});
