/** From a row to its keys over real connections: which addresses are asked, and what is made of the answers. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { TrustedIssuer } from '../../src/assertion/trusted-issuer.ts';
import { checkIssuer } from '../../src/key-source/issuer-check.ts';
import { type KeyLoad, loadIssuerKeys } from '../../src/key-source/key-source.ts';
import { createOutboundFetch } from '../../src/key-source/outbound-fetch.ts';
import { type IssuerServer, OTHER_CA_PEM, startIssuerServer } from '../fixtures/issuer-server.ts';
import { issuerRow } from './issuer-row.ts';
import { ecJwk, rsaJwk } from './public-jwk.ts';

const WELL_KNOWN = '/.well-known/openid-configuration';
const SET = { keys: [rsaJwk('k1')] };
const fetchJson = createOutboundFetch({
  privateNetworks: ['127.0.0.0/8'],
  lookup: async (host) => (host === 'public.test' ? ['203.0.114.1'] : ['127.0.0.1']),
  deadlineMs: 1000,
});

let server: IssuerServer;
/** The issuer by name; its document and keys are where Kubernetes has them. */
let issuerUrl: string;
beforeEach(async () => {
  server = await startIssuerServer();
  issuerUrl = `https://issuer.test:${server.port}`;
  server.json(WELL_KNOWN, { issuer: issuerUrl, jwks_uri: `${issuerUrl}/openid/v1/jwks` });
  server.json('/openid/v1/jwks', SET, { 'content-type': 'application/jwk-set+json' });
});
afterEach(() => server.close());

type Seen = Omit<KeyLoad, 'outcome'> & {
  readonly kids?: readonly (string | null)[];
  readonly code?: string;
  readonly detail?: string;
};

async function load(change: Partial<TrustedIssuer> = {}): Promise<Seen> {
  const { outcome, ...addresses } = await loadIssuerKeys(issuerRow({ issuerUrl, ...change }), fetchJson);
  return outcome.ok
    ? { ...addresses, kids: outcome.value.keys.map((key) => key.kid) }
    : { ...addresses, code: outcome.error.code, detail: outcome.error.detail };
}

describe('discovery', () => {
  it('finds the keys by two requests, each asking for what it wants', async () => {
    expect(await load()).toEqual({
      discoveryUrl: `${issuerUrl}${WELL_KNOWN}`,
      discoveredIssuer: issuerUrl,
      jwksUrl: `${issuerUrl}/openid/v1/jwks`,
      kids: ['k1'],
    });
    expect(server.requests.map(({ path, headers }) => [path, headers.accept])).toEqual([
      [WELL_KNOWN, 'application/json, application/jwk-set+json;q=0.5'],
      ['/openid/v1/jwks', 'application/jwk-set+json, application/json'],
    ]);
  });

  it('DSC-01: is read at discovery_url, and must still name the row’s issuer', async () => {
    const issuer = 'https://kubernetes-api.internal.example.com:8443';
    const discoveryUrl = `${server.origin}/k8s/main${WELL_KNOWN}`;
    server.json(`/k8s/main${WELL_KNOWN}`, { issuer, jwks_uri: `${server.origin}/openid/v1/jwks` });
    expect(await load({ issuerUrl: issuer, discoveryUrl })).toMatchObject({ kids: ['k1'], discoveryUrl });

    const refused = await load({ issuerUrl: `${issuer}/`, discoveryUrl });
    expect(refused).toMatchObject({ code: 'discovery_issuer_mismatch', jwksUrl: null });
    expect(refused.detail).toContain(`"${issuer}", not of "${issuer}/"`);
    expect(server.hits('/openid/v1/jwks')).toBe(1);
  });

  it('DSC-02: can be read under a short name; a wrong issuer there still fails closed', async () => {
    const issuer = 'https://kubernetes.default.svc.cluster.local';
    const discoveryUrl = `https://kubernetes.default:${server.port}${WELL_KNOWN}`;
    const jwksUri = `https://kubernetes.default:${server.port}/openid/v1/jwks`;
    server.json(WELL_KNOWN, { issuer, jwks_uri: jwksUri });
    expect(await load({ issuerUrl: issuer, discoveryUrl })).toMatchObject({ kids: ['k1'] });
    server.json(WELL_KNOWN, { issuer: 'https://kubernetes.default', jwks_uri: jwksUri });
    expect(await load({ issuerUrl: issuer, discoveryUrl })).toMatchObject({ code: 'discovery_issuer_mismatch' });
  });

  it('DSC-03: with a jwks_uri that does not answer ends in time; jwks_url overrides it, without discovery', async () => {
    server.route('/unreachable', () => {});
    server.json(WELL_KNOWN, { issuer: issuerUrl, jwks_uri: `${issuerUrl}/unreachable` });
    const started = performance.now();
    expect(await load()).toMatchObject({ code: 'timeout', jwksUrl: `${issuerUrl}/unreachable` });
    expect(performance.now() - started).toBeLessThan(3000);
    const before = server.requests.length;
    expect(await load({ jwksUrl: `${issuerUrl}/openid/v1/jwks` })).toEqual({
      discoveryUrl: null,
      discoveredIssuer: null,
      jwksUrl: `${issuerUrl}/openid/v1/jwks`,
      kids: ['k1'],
    });
    expect(server.requests.slice(before).map((request) => request.path)).toEqual(['/openid/v1/jwks']);
  });

  it('DSC-05: of an issuer with a path is exactly one request, below that path', async () => {
    const path = '/v1/projects/p/locations/l/clusters/c';
    server.json(`${path}${WELL_KNOWN}`, { issuer: `${issuerUrl}${path}`, jwks_uri: `${issuerUrl}/openid/v1/jwks` });
    expect(await load({ issuerUrl: `${issuerUrl}${path}` })).toMatchObject({ kids: ['k1'] });
    expect(server.requests.map((request) => request.path)).toEqual([`${path}${WELL_KNOWN}`, '/openid/v1/jwks']);
  });

  it('DSC-07: fails closed, with the reason, for a jwks_uri that is no URL', async () => {
    server.json(WELL_KNOWN, { issuer: issuerUrl, jwks_uri: ['https://x'] });
    const refused = await load();
    expect(refused).toMatchObject({ code: 'discovery_malformed' });
    expect(refused.detail).toBe(
      `discovery at ${issuerUrl}${WELL_KNOWN}: not a discovery document: no string "jwks_uri"`,
    );
  });

  it('DSC-09: fails for a jwks_uri whose address is not in the certificate; an override by name works', async () => {
    const named = await startIssuerServer('named');
    named.json('/openid/v1/jwks', SET);
    server.json(WELL_KNOWN, { issuer: issuerUrl, jwks_uri: `${named.origin}/openid/v1/jwks` });
    const refused = await load();
    expect(refused).toMatchObject({ code: 'tls_failed', jwksUrl: `${named.origin}/openid/v1/jwks` });
    expect(refused.detail).toContain('ERR_TLS_CERT_ALTNAME_INVALID');
    const jwksUrl = `https://api.example.com:${named.port}/openid/v1/jwks`;
    expect(await load({ jwksUrl })).toMatchObject({ kids: ['k1'] });
    await named.close();
  });

  it.each(['https://127.0.0.2/keys', 'https://169.254.169.254/keys', 'https://10.0.0.5/keys', 'https://[::1]/keys'])(
    'FET-01: a jwks_uri of %s is vetted like any other address',
    async (jwksUri) => {
      const strict = createOutboundFetch({ privateNetworks: ['127.0.0.1/32'], lookup: async () => ['127.0.0.1'] });
      server.json(WELL_KNOWN, { issuer: issuerUrl, jwks_uri: jwksUri });
      expect((await loadIssuerKeys(issuerRow({ issuerUrl }), strict)).outcome).toMatchObject({
        error: { code: 'address_refused' },
      });
    },
  );

  it('FET-02: the discovery address itself is vetted', async () => {
    const rebound = createOutboundFetch({ privateNetworks: [], lookup: async () => ['10.0.0.5'] });
    const row = issuerRow({ issuerUrl: 'https://rebind.example.com' });
    const { outcome } = await loadIssuerKeys(row, rebound);
    expect(outcome).toMatchObject({ error: { code: 'address_refused' } });
    expect(outcome.ok ? '' : outcome.error.detail).toContain('rebind.example.com resolves to 10.0.0.5');
  });

  it('FET-07: an http jwks_uri is refused although plain http is open to that network', async () => {
    const plain = await startIssuerServer('http');
    server.json(WELL_KNOWN, { issuer: issuerUrl, jwks_uri: `${plain.origin}/keys` });
    expect(await load()).toMatchObject({ code: 'jwks_uri_invalid', detail: expect.stringContaining('http://') });
    expect(plain.connections()).toBe(0);
    await plain.close();
  });

  it('works over plain http within an allowed private network', async () => {
    const plain = await startIssuerServer('http');
    plain.json(WELL_KNOWN, { issuer: plain.origin, jwks_uri: `${plain.origin}/keys` });
    plain.json('/keys', SET);
    expect(await load({ issuerUrl: plain.origin, caPem: null })).toMatchObject({ kids: ['k1'] });
    await plain.close();
  });

  it('FET-10: the row’s CA holds for discovery and keys alike', async () => {
    const keys = await startIssuerServer();
    keys.json('/jwks', SET);
    server.json(WELL_KNOWN, { issuer: issuerUrl, jwks_uri: `https://keys.test:${keys.port}/jwks` });
    expect(await load()).toMatchObject({ kids: ['k1'] });
    expect(await load({ caPem: OTHER_CA_PEM })).toMatchObject({ code: 'tls_failed', jwksUrl: null });
    await keys.close();
  });

  it.each([401, 403])('FET-11: a Status with %i is a failure with a hint', async (status) => {
    server.route(WELL_KNOWN, (_request, response) => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(`{"kind":"Status","apiVersion":"v1","status":"Failure","code":${status}}`);
    });
    const refused = await load();
    expect(refused).toMatchObject({ code: 'unexpected_status', jwksUrl: null });
    expect(refused.detail).toContain('system:service-account-issuer-discovery');
  });

  it('FET-11: a Status is never taken for a document, not even with status 200', async () => {
    server.json(WELL_KNOWN, { kind: 'Status', status: 'Failure', code: 401, issuer: issuerUrl, jwks_uri: issuerUrl });
    expect(await load()).toMatchObject({ code: 'discovery_is_kubernetes_status' });
  });

  it('FET-05: FET-04: no host ever gets credentials, whoever names it', async () => {
    const evil = await startIssuerServer();
    evil.json('/k', SET);
    server.json(WELL_KNOWN, { issuer: issuerUrl, jwks_uri: `https://keys.test:${evil.port}/k` });
    await load();
    await load({ jwksUrl: `https://keys.test:${evil.port}/k` });
    expect(evil.hits('/k')).toBe(2);
    for (const { headers } of [...evil.requests, ...server.requests]) {
      expect(Object.keys(headers)).not.toEqual(expect.arrayContaining(['authorization']));
      expect(Object.keys(headers)).not.toEqual(expect.arrayContaining(['cookie']));
    }
    await evil.close();
  });
});

describe('an address of a key set', () => {
  const at = (path: string): Partial<TrustedIssuer> => ({
    keySourceType: 'static_jwks_url',
    jwksUrl: `https://keys.test:${server.port}${path}`,
  });

  it('is the only one that is asked', async () => {
    expect(await load(at('/openid/v1/jwks'))).toMatchObject({ kids: ['k1'], discoveryUrl: null });
    expect(server.requests.map((request) => request.path)).toEqual(['/openid/v1/jwks']);
  });

  it('JWK-11: gets an Accept that kube-apiserver does not answer with 406', async () => {
    server.route('/strict', ({ headers }, response) => {
      const isWelcome = /application\/jwk-set\+json|\*\/\*/.test(headers.accept ?? '');
      response.writeHead(isWelcome ? 200 : 406, { 'content-type': 'application/jwk-set+json' });
      response.end(JSON.stringify(SET));
    });
    expect(await load(at('/strict'))).toMatchObject({ kids: ['k1'] });
  });

  it.each([
    'application/jwk-set+json; charset=utf-8',
    'application/json;charset=UTF-8',
    'application/jwk+json',
    'text/plain; charset=utf-8',
  ])('JWK-11: takes %s: parsing decides', async (contentType) => {
    server.json('/typed', SET, { 'content-type': contentType });
    expect(await load(at('/typed'))).toMatchObject({ kids: ['k1'] });
  });

  it('JWK-01: one key of an unknown type does not spoil the others', async () => {
    server.json('/mixed', { keys: [{ kty: 'AKP', alg: 'ML-DSA-65', kid: 'pq', pub: 'AAAA' }, rsaJwk('r1')] });
    expect(await load(at('/mixed'))).toMatchObject({ kids: ['r1'] });
  });

  it('ROT-13: with anything but a key set is a failure', async () => {
    const cases: [number, string, string][] = [
      [500, '{"message":"error"}', 'unexpected_status'],
      [204, '', 'unexpected_status'],
      [200, '{"error":"x"}', 'jwk_set_unusable'],
      [200, '<html>..', 'not_json'],
      [200, '{"keys":{}}', 'jwk_set_unusable'],
      [200, '{"keys":[]}', 'jwk_set_unusable'],
      [200, '{"keys":[{"kty":"oct","k":"AAAA"}]}', 'jwk_set_unusable'],
      [200, '', 'not_json'],
      [200, 'null', 'jwk_set_unusable'],
    ];
    for (const [status, body, code] of cases) {
      server.route('/broken', (_request, response) => response.writeHead(status).end(body));
      expect(await load(at('/broken')), `${status} ${body}`).toMatchObject({ code });
    }
  });

  it('FET-12: that redirects is a failure; its page is not read', async () => {
    server.route('/moved', (_request, response) =>
      response.writeHead(303, { location: `${issuerUrl}/openid/v1/jwks` }).end('<html>see other</html>'),
    );
    expect(await load(at('/moved'))).toMatchObject({
      code: 'unexpected_redirect',
      detail: expect.stringContaining('unexpected redirect (status 303)'),
    });
  });

  it('is shown without its query, where people put secrets', async () => {
    const failed = await load(at('/nothing?token=secret'));
    expect(failed.detail).toBe(`key set at https://keys.test:${server.port}/nothing: the server answered 404`);
  });

  it('is needed', async () => {
    expect(await load({ keySourceType: 'static_jwks_url' })).toMatchObject({ code: 'key_source_incomplete' });
  });

  it('keeps a hostile set’s names short and printable in the reason', async () => {
    server.json('/hostile', { keys: [{ kty: 'oct', kid: `\u001b[2J${'x'.repeat(100_000)}` }] });
    const failed = await load(at('/hostile'));
    expect(failed.detail?.length).toBeLessThan(1100);
    expect(failed.detail).not.toMatch(/\p{Cc}/u);
  });
});

describe('pasted keys', () => {
  it('DSC-04: ROT-16: are read from the row, and nothing is asked of anybody', async () => {
    const jwks = JSON.stringify({ keys: [ecJwk('local')] });
    const pasted = await load({ keySourceType: 'static_jwks', jwks, jwksUrl: `${issuerUrl}/openid/v1/jwks` });
    expect(pasted).toEqual({ discoveryUrl: null, discoveredIssuer: null, jwksUrl: null, kids: ['local'] });
    expect(server.connections()).toBe(0);
  });
});

describe('other key sources', () => {
  it.each([
    ['spiffe_bundle_endpoint', 'key source type spiffe_bundle_endpoint is not supported'],
    ['token_review', 'there are no keys: the cluster is asked about each token'],
  ] as const)('%s has none, and nothing is asked', async (keySourceType, detail) => {
    expect(await load({ keySourceType })).toMatchObject({ code: 'key_source_unsupported', detail });
    expect(server.connections()).toBe(0);
  });
});

describe('an admin’s check', () => {
  it('reports everything that came back', async () => {
    server.json(
      '/openid/v1/jwks',
      { keys: [rsaJwk('k1'), { ...ecJwk('k2'), use: 'enc' }, { kty: 'AKP', kid: 'pq' }, ecJwk('k3', 'P-384')] },
      { 'cache-control': 'max-age=3600' },
    );
    expect(await checkIssuer(issuerRow({ issuerUrl }), fetchJson)).toEqual({
      passed: true,
      discoveryUrl: `${issuerUrl}${WELL_KNOWN}`,
      discoveredIssuer: issuerUrl,
      jwksUrl: `${issuerUrl}/openid/v1/jwks`,
      keys: [
        {
          kid: 'k1',
          algorithms: ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
          thumbprint: expect.stringMatching(/^[\w-]{43}$/),
        },
        { kid: 'k3', algorithms: ['ES384'], thumbprint: expect.stringMatching(/^[\w-]{43}$/) },
      ],
      skipped: [
        { kid: 'k2', reason: 'use is not "sig"' },
        { kid: 'pq', reason: 'unsupported key type AKP' },
      ],
      maxAgeSeconds: 3600,
      failure: null,
    });
  });

  it('says how far it came and why it stopped', async () => {
    server.json('/openid/v1/jwks', { keys: [] });
    expect(await checkIssuer(issuerRow({ issuerUrl }), fetchJson)).toEqual({
      passed: false,
      discoveryUrl: `${issuerUrl}${WELL_KNOWN}`,
      discoveredIssuer: issuerUrl,
      jwksUrl: `${issuerUrl}/openid/v1/jwks`,
      keys: [],
      skipped: [],
      maxAgeSeconds: null,
      failure: { code: 'jwk_set_unusable', detail: `key set at ${issuerUrl}/openid/v1/jwks: the JWK set is empty` },
    });
  });
});
