import { decodeJwt } from 'jose';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createHttpApp, type Routes } from '../../src/oauth/http-server.ts';
import { createLog } from '../../src/observe/log.ts';
import { createMetrics } from '../../src/observe/metrics.ts';
import { startAppServer } from '../../src/worker/app-server.ts';
import { AssertionBuilder, AUDIENCE } from '../fixtures/assertions.ts';
import { ED25519, P256, P384, P521, publicJwk, RSA_B } from '../fixtures/keys.ts';
import { ASSERTION_TYPE, freshAssertion, type RunningServer, startServer } from '../fixtures/running-server.ts';

const METADATA = '/.well-known/oauth-authorization-server';
const OPENID = '/.well-known/openid-configuration';
const JWKS = '/.well-known/jwks.json';
const CACHEABLE = 'public, max-age=300';
const ENDPOINTS = ['token_endpoint', 'introspection_endpoint', 'revocation_endpoint', 'jwks_uri'] as const;

let server: RunningServer;
let rows: Awaited<ReturnType<RunningServer['trustCluster']>>;

beforeAll(async () => {
  server = await startServer();
  rows = await server.trustCluster({ client: { with_client_secret: true } });
});
afterAll(() => server.close());

const metadata = async () => (await server.send('GET', METADATA)).json;
const secretOf = () => ({ client_id: 'edge-worker', client_secret: String(rows.clientSecret) });

const basicOf = ({ client_id, client_secret }: ReturnType<typeof secretOf>) =>
  `Basic ${Buffer.from(`${client_id}:${client_secret}`).toString('base64')}`;
const assertionFields = (assertion: AssertionBuilder) => ({
  client_assertion_type: ASSERTION_TYPE,
  client_assertion: assertion.build(),
});

describe('the metadata document', () => {
  it('is complete and true', async () => {
    const authentication = ['private_key_jwt', 'client_secret_basic', 'client_secret_post'];
    const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512'];
    expect(await metadata()).toEqual({
      issuer: AUDIENCE,
      token_endpoint: `${AUDIENCE}/oauth/token`,
      token_endpoint_auth_methods_supported: authentication,
      token_endpoint_auth_signing_alg_values_supported: algorithms,
      introspection_endpoint: `${AUDIENCE}/oauth/introspect`,
      introspection_endpoint_auth_methods_supported: authentication,
      introspection_endpoint_auth_signing_alg_values_supported: algorithms,
      revocation_endpoint: `${AUDIENCE}/oauth/revoke`,
      revocation_endpoint_auth_methods_supported: authentication,
      revocation_endpoint_auth_signing_alg_values_supported: algorithms,
      jwks_uri: `${AUDIENCE}${JWKS}`,
      grant_types_supported: [
        'client_credentials',
        'urn:ietf:params:oauth:grant-type:jwt-bearer',
        'urn:ietf:params:oauth:grant-type:token-exchange',
      ],
      response_types_supported: [],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['ES256', 'RS256'],
    });
  });

  it('L-02, L-14: is JSON, may be cached for as long as keys are published ahead, and can be asked for again', async () => {
    const { status, headers } = await server.send('GET', METADATA);
    expect(status).toBe(200);
    expect(headers['content-type']).toMatch(/^application\/json(;|$)/);
    expect(headers['cache-control']).toBe(CACHEABLE);
    const again = await server.send('GET', METADATA, { headers: { 'if-none-match': String(headers.etag) } });
    expect([again.status, again.text]).toEqual([304, '']);
  });

  it('L-07, L-08: has no empty list but the one that RFC 8414 requires', async () => {
    const empty = Object.entries(await metadata()).filter(
      ([, value]) => value === null || value === '' || (Array.isArray(value) && value.length === 0),
    );
    expect(empty).toEqual([['response_types_supported', []]]);
  });

  it('L-09, L-11: says nothing of what we do not do', async () => {
    const names = Object.keys(await metadata());
    const absent =
      /authorization_endpoint|registration|dpop|tls_client|mtls|signed_metadata|device|par_|ciba|scopes_supported/;
    expect(names.filter((name) => absent.test(name))).toEqual([]);
    expect(names).not.toContain('introspection_signing_alg_values_supported');
  });

  it('A-21: comes from the configuration, whatever the request says', async () => {
    const headers = { host: 'evil.example.com', 'x-forwarded-host': 'evil.example.com', 'x-forwarded-proto': 'http' };
    expect((await server.send('GET', METADATA, { headers })).json).toEqual(await metadata());
  });
});

describe('what is advertised', () => {
  it('L-12: is under our own issuer identifier, and answers', async () => {
    const document = await metadata();
    for (const name of ENDPOINTS) {
      const url = String(document[name]);
      expect(url.startsWith(`${AUDIENCE}/`)).toBe(true);
      const path = url.slice(AUDIENCE.length);
      const answer =
        name === 'jwks_uri' ? await server.send('GET', path) : await server.post(path, { ...secretOf(), token: 'x' });
      // The token endpoint misses its grant_type; all three have understood the form.
      expect([name, answer.status]).toEqual([name, name === 'token_endpoint' ? 400 : 200]);
    }
  });

  it.each<
    [
      string,
      () => { readonly fields?: Readonly<Record<string, string>>; readonly headers?: Readonly<Record<string, string>> },
    ]
  >([
    ['private_key_jwt', () => ({ fields: assertionFields(freshAssertion()) })],
    ['client_secret_basic', () => ({ headers: { authorization: basicOf(secretOf()) } })],
    ['client_secret_post', () => ({ fields: secretOf() })],
  ])('L-04, L-10: %s works at every endpoint', async (method, credentials) => {
    const document = await metadata();
    for (const endpoint of ['token', 'introspection', 'revocation'] as const) {
      expect(document[`${endpoint}_endpoint_auth_methods_supported`]).toContain(method);
      const path = String(document[`${endpoint}_endpoint`]).slice(AUDIENCE.length);
      const { fields, headers } = credentials();
      const answer = await server.post(path, { grant_type: 'client_credentials', token: 'x', ...fields }, headers);
      expect([endpoint, answer.status]).toEqual([endpoint, 200]);
    }
  });

  it.each<[string, () => Readonly<Record<string, string>>]>([
    ['none', () => ({ client_id: 'edge-worker' })],
    ['client_secret_jwt', () => assertionFields(freshAssertion().withHeader({ alg: 'HS256' }))],
    [
      'a SAML assertion',
      () => ({
        ...assertionFields(freshAssertion()),
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:saml2-bearer',
      }),
    ],
  ])('B-16: %s, which is not listed, fails', async (_name, credentials) => {
    const answer = await server.post('/oauth/token', { grant_type: 'client_credentials', ...credentials() });
    expect(answer).toMatchObject({ status: 400, json: { error: 'invalid_client' } });
  });

  describe('L-05: an assertion is accepted exactly if its algorithm is listed:', () => {
    const issuer = 'https://ci.example.com';
    const keys = { rsa: RSA_B, p256: P256, p384: P384, p521: P521, ed25519: ED25519 };

    beforeAll(async () => {
      // The set says nothing of algorithms, so that the header alone speaks of them.
      const jwks = { keys: Object.entries(keys).map(([kid, key]) => publicJwk(key, { kid })) };
      await server.addIssuer({
        issuer_url: issuer,
        issuer_type: 'oidc',
        jwks: JSON.stringify(jwks),
        service_account_id: rows.client.id,
        allowed_subjects: ['a workload'],
      });
    });

    it.each<[string, keyof typeof keys, string?]>([
      ['RS256', 'rsa'],
      ['RS384', 'rsa'],
      ['RS512', 'rsa'],
      ['PS256', 'rsa'],
      ['PS384', 'rsa'],
      ['PS512', 'rsa'],
      ['ES256', 'p256'],
      ['ES384', 'p384'],
      ['ES512', 'p521'],
      ['EdDSA', 'ed25519'],
      ['Ed25519', 'ed25519'],
      ['ES256K', 'p256', 'ES256'],
      ['HS256', 'rsa', 'RS256'],
      ['none', 'p256', 'ES256'],
    ])('%s', async (alg, kid, signedAs = alg) => {
      const claims = { ...freshAssertion().claims, iss: issuer, sub: 'a workload' };
      const headerText = JSON.stringify({ alg, kid });
      const answer = await server.token(
        new AssertionBuilder({ alg: signedAs }, claims, keys[kid]).build({ headerText }),
      );
      const listed = (await metadata()).token_endpoint_auth_signing_alg_values_supported as readonly string[];
      expect(answer.status).toBe(listed.includes(alg) ? 200 : 400);
    });
  });

  it.each<[string, () => Readonly<Record<string, string>> | null]>([
    ['client_credentials', secretOf],
    ['urn:ietf:params:oauth:grant-type:jwt-bearer', () => ({ assertion: freshAssertion().build() })],
    [
      'urn:ietf:params:oauth:grant-type:token-exchange',
      () => ({
        subject_token: freshAssertion().build(),
        subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
      }),
    ],
    ['authorization_code', () => null],
    ['password', () => null],
    ['refresh_token', () => null],
    ['implicit', () => null],
    ['urn:ietf:params:oauth:grant-type:device_code', () => null],
    ['urn:ietf:params:oauth:grant-type:saml2-bearer', () => null],
  ])('L-06: the grant %s is supported exactly if it is listed', async (grantType, proof) => {
    const { grant_types_supported: listed } = await metadata();
    expect((listed as readonly string[]).includes(grantType)).toBe(proof() !== null);
    const answer = await server.post('/oauth/token', { grant_type: grantType, ...(proof() ?? secretOf()) });
    expect(answer.json.error).toBe(proof() === null ? 'unsupported_grant_type' : undefined);
  });
});

describe('the key set', () => {
  it('L-15, L-14: is a JWK set that may be cached', async () => {
    const { status, headers, json } = await server.send('GET', JWKS);
    expect([status, headers['cache-control']]).toEqual([200, CACHEABLE]);
    expect(headers['content-type']).toMatch(/^application\/jwk-set\+json(;|$)/);
    const again = await server.send('GET', JWKS, { headers: { 'if-none-match': String(headers.etag) } });
    expect([again.status, again.text]).toEqual([304, '']);
    expect(Object.keys(json)).toEqual(['keys']);
  });

  it('L-16: has public keys alone, each with kid, use and alg, and none that is weak', async () => {
    const { json } = await server.send('GET', JWKS);
    const keys = json.keys as readonly Readonly<Record<string, string>>[];
    expect(keys.toSorted((a, b) => String(a.alg).localeCompare(String(b.alg)))).toEqual([
      {
        kty: 'EC',
        crv: 'P-256',
        x: expect.any(String),
        y: expect.any(String),
        kid: expect.any(String),
        alg: 'ES256',
        use: 'sig',
      },
      { kty: 'RSA', n: expect.any(String), e: 'AQAB', kid: expect.any(String), alg: 'RS256', use: 'sig' },
    ]);
    expect(new Set(keys.map(({ kid }) => kid)).size).toBe(2);
    for (const { n } of keys) if (n !== undefined) expect(Buffer.from(n, 'base64url').length * 8).toBe(2048);
  });
});

describe.each([METADATA, OPENID, JWKS])('%s', (path) => {
  it('L-14: answers HEAD as it answers GET, without the body', async () => {
    const [get, head] = [await server.send('GET', path), await server.send('HEAD', path)];
    expect([head.status, head.text]).toEqual([200, '']);
    for (const name of ['content-type', 'content-length', 'cache-control', 'etag']) {
      expect([name, head.headers[name]]).toEqual([name, get.headers[name]]);
    }
  });

  it.each(['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'])('refuses %s, saying what is allowed', async (method) => {
    const { status, headers } = await server.send(method, path);
    expect([status, headers.allow, headers['cache-control']]).toEqual([405, 'GET, HEAD', 'no-store']);
  });

  it('L-13: is no document for others: an unknown path below it is not found, and that is not cached', async () => {
    const { status, headers } = await server.send('GET', `${path}/another-tenant`);
    expect([status, headers['cache-control']]).toEqual([404, 'no-store']);
  });
});

describe('an issuer identifier', () => {
  let other: RunningServer;
  afterEach(() => other.close());

  it.each([
    ['without a path', 'https://as.example.com', '', 'https://as.example.com'],
    ['with a slash at its end', 'https://as.example.com/', '', 'https://as.example.com'],
    ['with a path', 'https://as.example.com/t1', '/t1', 'https://as.example.com/t1'],
    ['with a path and a slash at its end', 'https://as.example.com/t1/', '/t1', 'https://as.example.com/t1'],
    ['with a longer path', 'https://as.example.com/a/b', '/a/b', 'https://as.example.com/a/b'],
  ])('ISS-08, L-01, L-03: %s is the same string everywhere', async (_name, issuer, path, base) => {
    other = await startServer({ issuer });
    await other.trustCluster();
    // RFC 8414 §3.1 puts the well-known part before the path, OpenID Connect Discovery §4 puts it behind.
    for (const address of [`${METADATA}${path}`, `${path}${METADATA}`, `${OPENID}${path}`, `${path}${OPENID}`]) {
      const { status, json } = await other.send('GET', address);
      expect([address, status, json.issuer]).toEqual([address, 200, issuer]);
      expect(json.token_endpoint).toBe(`${base}/oauth/token`);
      expect(json.jwks_uri).toBe(`${base}${JWKS}`);
    }
    for (const prefix of ['', path]) {
      expect((await other.send('GET', `${prefix}${JWKS}`)).status).toBe(200);
      const answer = await other.post(`${prefix}/oauth/token`, {
        grant_type: 'client_credentials',
        ...assertionFields(freshAssertion().with({ aud: [issuer] })),
      });
      expect(answer.status, answer.text).toBe(200);
      const claims = decodeJwt(String(answer.json.access_token));
      expect([claims.iss, claims.aud]).toEqual([issuer, issuer]);
    }
    const spelling = issuer.endsWith('/') ? issuer.slice(0, -1) : `${issuer}/`;
    const answer = await other.token(
      freshAssertion()
        .with({ aud: [spelling] })
        .build(),
    );
    expect(answer.json.error).toBe('invalid_client');
    expect((await other.auditOf(answer)).reason).toBe('aud_mismatch');
    expect((await other.send('GET', `${METADATA}/another${path}`)).status).toBe(404);
  });
});

describe('ROT-18: an error in the place of a public document', () => {
  it.each([
    [JWKS, 'keySet'],
    [METADATA, 'metadata'],
  ] as const)('is never cached: %s', async (path, route) => {
    const lines: string[] = [];
    const unused = () => {
      throw new Error('not asked for in this test');
    };
    const routes: Routes = {
      token: unused,
      introspect: unused,
      revoke: unused,
      metadata: unused,
      keySet: unused,
      graphql: unused,
      readiness: async () => {},
      metrics: createMetrics(),
      log: createLog('info', (line) => lines.push(line)),
      issuerPath: '',
      [route]: (_request: unknown, response: { setHeader(name: string, value: string): void }) => {
        response.setHeader('Cache-Control', CACHEABLE);
        throw new Error('the database is away');
      },
    };
    const app = await startAppServer(createHttpApp(routes), { host: '127.0.0.1', port: 0 });
    try {
      const response = await fetch(`${app.url}${path}`);
      expect([response.status, response.headers.get('cache-control')]).toEqual([503, 'no-store']);
      expect(response.headers.get('retry-after')).toBe('5');
      expect(await response.text()).not.toContain('database');
      expect(lines.join()).toContain('the database is away');
    } finally {
      await app.close();
    }
  });
});
