/**
 * Real failures of fetching keys, against the running server: addresses that must never be reached, credentials that
 * must never be sent, answers that must never be read, and issuers that let everyone wait.
 */
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { type IssuerServer, OTHER_CA_PEM, startIssuerServer, TEST_CA_PEM } from '../fixtures/issuer-server.ts';
import type { RunningServer } from '../fixtures/running-server.ts';
import { startBlackHole } from './black-hole.ts';
import { ecKey, type IssuerKey, keySetOf } from './issuer-key.ts';
import { expectIssued, expectUnavailable } from './outcome.ts';
import { watchConnections } from './outgoing-connections.ts';
import { startQuietServer } from './quiet-server.ts';
import { holdRequests, until, watchRequests } from './request-watch.ts';
import { lookupsOf, resolveTo } from './resolver.ts';
import { type IssuerFields, refusedIssuer, type TrustedWorkload, trustWorkload } from './trusted-workload.ts';

vi.mock('node:dns/promises', () => import('./resolver.ts'));

const WELL_KNOWN = '/.well-known/openid-configuration';
const HOUR = 3600;

/** Its operator has opened the loopback network. */
let server: RunningServer;
/** Its operator has opened nothing. */
let strict: RunningServer;
let issuer: IssuerServer;
let plain: IssuerServer;
beforeAll(async () => {
  resolveTo('localhost', '127.0.0.1');
  server = await startQuietServer();
  strict = await startQuietServer({ privateNetworks: [] });
  issuer = await startIssuerServer();
  plain = await startIssuerServer('http');
});
afterAll(async () => {
  await Promise.all([server.close(), strict.close()]);
  await Promise.all([issuer.close(), plain.close()]);
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

let names = 0;
const unusedPath = () => {
  names += 1;
  return `/${names}`;
};

/** An issuer whose keys are at a given address. */
function trustAt(jwksUrl: string, fields: IssuerFields = {}, at: RunningServer = server): Promise<TrustedWorkload> {
  return trustWorkload(at, {
    issuer_url: `https://issuer${unusedPath().replace('/', '-')}.example.com`,
    key_source_type: 'static_jwks_url',
    jwks_url: jwksUrl,
    ...fields,
  });
}

/** An issuer with this document at the stand-in issuer. */
function trustDiscovered(jwksUri: string, fields: IssuerFields = {}): Promise<TrustedWorkload> {
  const path = unusedPath();
  issuer.json(`${path}${WELL_KNOWN}`, { issuer: `${issuer.origin}${path}`, jwks_uri: jwksUri });
  return trustWorkload(server, {
    issuer_url: `${issuer.origin}${path}`,
    key_source_type: 'oidc_discovery',
    ...fields,
  });
}

/** Publishes a key at the stand-in issuer; answers its address. */
function publish(key: IssuerKey, at: IssuerServer = issuer): { readonly path: string; readonly url: string } {
  const path = `${unusedPath()}/keys`;
  at.json(path, keySetOf(key));
  return { path, url: `${at.origin}${path}` };
}

/** What an admin is told of a key source that fails while it is written. */
const warningOf = (detail: string) => [`no keys can be had from this issuer right now: ${detail}`];

describe('FET-01: an address that an admin names knocks on doors inside', () => {
  it.each([
    'http://127.0.0.1:9/',
    'file:///etc/passwd',
    'ftp://127.0.0.1/keys',
    'gopher://127.0.0.1:25/_HELO',
    'data:application/json,{"keys":[]}',
    'https://user:secret@127.0.0.1/keys',
    '//127.0.0.1/keys',
    'https://',
  ])('FET-01: %s is refused while it is written', async (jwksUrl) => {
    const connections = watchConnections(strict);
    const refused = await refusedIssuer(strict, {
      issuer_url: 'https://issuer.example.com',
      key_source_type: 'static_jwks_url',
      jwks_url: jwksUrl,
      allow_private_network: false,
    });
    expect(refused).toMatchObject({ code: 'INVALID_ARGUMENT', message: expect.stringMatching(/^jwks_url: must /) });
    expect(connections()).toEqual([]);
  });

  /** With the port of a server that would answer, if anyone asked. */
  const INSIDE: readonly (readonly [string, string, string])[] = [
    ['https://127.0.0.1:PORT/', '127.0.0.1', 'loopback'],
    ['https://2130706433:PORT/', '127.0.0.1', 'loopback'],
    ['https://0x7f000001:PORT/', '127.0.0.1', 'loopback'],
    ['https://0177.0.0.1:PORT/', '127.0.0.1', 'loopback'],
    ['https://127.1:PORT/', '127.0.0.1', 'loopback'],
    ['https://localhost:PORT/', 'localhost resolves to 127.0.0.1, which', 'loopback'],
    ['https://[::1]:PORT/', '::1', 'loopback'],
    ['https://[::ffff:127.0.0.1]:PORT/', '::ffff:7f00:1', 'ipv4Mapped'],
    ['https://0.0.0.0:PORT/', '0.0.0.0', 'unspecified'],
    ['https://[::]:PORT/', '::', 'unspecified'],
    ['https://169.254.169.254/latest/', '169.254.169.254', 'linkLocal'],
    ['https://[::ffff:169.254.169.254]/', '::ffff:a9fe:a9fe', 'ipv4Mapped'],
    ['https://10.0.0.5/', '10.0.0.5', 'private'],
    ['https://192.168.1.1/', '192.168.1.1', 'private'],
    ['https://100.64.0.1/', '100.64.0.1', 'carrierGradeNat'],
    ['https://[fd00::1]/', 'fd00::1', 'uniqueLocal'],
    ['https://[fe80::1]/', 'fe80::1', 'linkLocal'],
    ['https://224.0.0.1/', '224.0.0.1', 'multicast'],
  ];

  it.each(INSIDE)(
    'FET-01: %s is never connected to, not even when the row consents',
    async (template, address, range) => {
      const jwksUrl = template.replace('PORT', String(issuer.port));
      const before = issuer.connections();
      const connections = watchConnections(strict);
      for (const allow_private_network of [false, true]) {
        const workload = await trustAt(jwksUrl, { allow_private_network }, strict);
        expect(workload.warnings).toHaveLength(1);
        expect(workload.warnings[0]).toContain(`: ${address} is refused (${range})`);
        // The caller learns nothing about the address: the answer is that of any issuer whose keys are away.
        await expectUnavailable(strict, await workload.token(ecKey('k1')), new RegExp(`is refused \\(${range}\\)`));
      }
      expect(connections()).toEqual([]);
      expect(issuer.connections()).toBe(before);
    },
  );

  it('FET-01: plain http with the row’s consent is for networks that the operator has opened, and no others', async () => {
    const key = ecKey('k1');
    const { url, path } = publish(key, plain);
    const closed = await trustAt(url, {}, strict);
    const detail = `key set at ${url}: plain http is only for allowed private networks, and 127.0.0.1 is not in one`;
    expect(closed.warnings).toEqual(warningOf(detail));
    await expectUnavailable(strict, await closed.token(key), detail);
    expect(plain.hits(path)).toBe(0);
    await expectIssued(server, await (await trustAt(url)).token(key));
  });

  it('FET-01: a private address needs the consent of the row as well', async () => {
    const key = ecKey('k1');
    const { url, path } = publish(key);
    const workload = await trustAt(url, { allow_private_network: false });
    const detail = `key set at ${url}: 127.0.0.1 is refused (loopback): to allow it, set allow_private_network on this issuer`;
    expect(workload.warnings).toEqual(warningOf(detail));
    await expectUnavailable(server, await workload.token(key), detail);
    expect(issuer.hits(path)).toBe(0);
    expect((await workload.update({ allow_private_network: true })).warnings).toEqual([]);
    await expectIssued(server, await workload.token(key));
  });

  it.each(['https://169.254.169.254/latest/', 'https://[fe80::1]/', 'https://168.63.129.16/', 'https://0.0.0.0/'])(
    'FET-01: %s stays shut although the operator has opened every network',
    async (jwksUrl) => {
      await using open = await startQuietServer({ privateNetworks: ['0.0.0.0/0', '::/0'] });
      const connections = watchConnections(open);
      const workload = await trustAt(jwksUrl, {}, open);
      await expectUnavailable(open, await workload.token(ecKey('k1')), /is refused \([a-zA-Z ]+\)$/);
      expect(connections()).toEqual([]);
    },
  );

  it.each(['https://10.0.0.5/keys', 'https://169.254.169.254/keys', 'https://[::1]/keys'])(
    'FET-01: %s is refused as the jwks_uri of a document too',
    async (jwksUri) => {
      const connections = watchConnections(server);
      const workload = await trustDiscovered(jwksUri);
      await expectUnavailable(server, await workload.token(ecKey('k1')), /^key set at .* is refused \(/);
      // The document, while the row was written and for the token, and nothing else.
      expect(connections()).toEqual(Array.from({ length: 2 }, () => `127.0.0.1:${issuer.port}`));
    },
  );
});

describe('FET-02: a name that leads inside', () => {
  it('FET-02: the address of the discovery document is vetted when it is fetched, and nothing is connected to', async () => {
    resolveTo('inside.example.com', '10.0.0.5');
    const connections = watchConnections(server);
    const workload = await trustWorkload(server, {
      issuer_url: 'https://inside.example.com',
      key_source_type: 'oidc_discovery',
      allow_private_network: false,
    });
    const detail =
      `discovery at https://inside.example.com${WELL_KNOWN}: inside.example.com resolves to 10.0.0.5, which is refused ` +
      '(private): to allow it, list its network in COUNTERSIGN_PRIVATE_NETWORKS and set allow_private_network';
    expect(workload.warnings).toEqual(warningOf(detail));
    await expectUnavailable(server, await workload.token(ecKey('k1')), detail);
    expect(connections()).toEqual([]);
  });

  it('FET-02: a name that was good while it was written and leads elsewhere now is not followed', async () => {
    const key = ecKey('k1');
    const host = 'rebind.example.com';
    const path = unusedPath();
    resolveTo(host, '127.0.0.1');
    // Certificates and names are not the point: over plain http nothing else stands in the way.
    const origin = `http://${host}:${plain.port}`;
    plain.json(`${path}${WELL_KNOWN}`, { issuer: `${origin}${path}`, jwks_uri: `${origin}${path}/keys` });
    plain.json(`${path}/keys`, keySetOf(key));
    const workload = await trustWorkload(server, {
      issuer_url: `${origin}${path}`,
      key_source_type: 'oidc_discovery',
    });
    expect(workload.warnings).toEqual([]);
    const lookups = lookupsOf(host);

    resolveTo(host, '10.0.0.5');
    const connections = watchConnections(server);
    const seconds = await expectUnavailable(
      server,
      await workload.token(key),
      /resolves to 10\.0\.0\.5, which is refused/,
    );
    // One bad address among good ones is enough.
    resolveTo(host, '127.0.0.1', '10.0.0.5');
    server.clock.advance(seconds);
    const again = await expectUnavailable(
      server,
      await workload.token(key),
      /resolves to 10\.0\.0\.5, which is refused/,
    );
    expect(connections()).toEqual([]);
    expect(lookupsOf(host)).toBe(lookups + 2);

    resolveTo(host, '127.0.0.1');
    server.clock.advance(again);
    await expectIssued(server, await workload.token(key));
    // Each fetch is pinned to the address that was vetted: looked up once, and not again by the connection.
    expect(lookupsOf(host)).toBe(lookups + 4);
    expect(connections()).toHaveLength(2);
  });
});

describe('FET-04: FET-05: credentials for the hosts that someone else names', () => {
  /** Everything that a fetch sends. */
  const HEADERS = ['accept', 'accept-encoding', 'connection', 'host', 'user-agent'];

  it('FET-04: a foreign jwks_uri gets no Authorization header, and nor does the discovery host', async () => {
    const evil = await startIssuerServer();
    const key = ecKey('k1');
    const { url, path } = publish(key, evil);
    const workload = await trustDiscovered(url);
    await expectIssued(server, await workload.token(key));
    expect(evil.hits(path)).toBe(2);
    for (const { headers } of [...evil.requests, ...issuer.requests.slice(-2)]) {
      expect(Object.keys(headers).toSorted()).toEqual(HEADERS);
    }
    await evil.close();
  });

  it('FET-04: a redirect is not followed, so that nothing can be sent to where it leads', async () => {
    const evil = await startIssuerServer();
    const path = unusedPath();
    issuer.route(path, (_request, response) => response.writeHead(302, { location: `${evil.origin}/k` }).end());
    const workload = await trustAt(`${issuer.origin}${path}`);
    await expectUnavailable(server, await workload.token(ecKey('k1')), /unexpected redirect \(status 302\)/);
    expect(evil.connections()).toBe(0);
    await evil.close();
  });

  it('FET-05: the address of a row gets nothing that the row did not hold', async () => {
    const attacker = await startIssuerServer();
    const key = ecKey('k1');
    const { url } = publish(key, attacker);
    const workload = await trustAt(url);
    await expectIssued(server, await workload.token(key));
    expect(attacker.requests).toHaveLength(2);
    for (const { headers } of attacker.requests) expect(Object.keys(headers).toSorted()).toEqual(HEADERS);
    await attacker.close();
  });

  it.each(['use_in_cluster_token', 'bearer_token_file', 'token_file'])(
    'FET-05: a row can’t even ask for the server’s own token (%s)',
    async (field) => {
      const refused = await refusedIssuer(server, {
        issuer_url: 'https://attacker.example.com',
        key_source_type: 'static_jwks_url',
        jwks_url: 'https://attacker.example.com/jwks',
        [field]: true,
      });
      expect(refused.message).toContain(field);
    },
  );
});

describe('FET-07: https discovery announces an http jwks_uri', () => {
  it('FET-07: fails closed with the reason, though the network is open to plain http', async () => {
    const key = ecKey('k1');
    const { url, path } = publish(key, plain);
    const before = plain.connections();
    const workload = await trustDiscovered(url);
    const detail = `discovery at ${workload.issuerUrl}${WELL_KNOWN}: jwks_uri is http:// instead of https://`;
    expect(workload.warnings).toEqual(warningOf(detail));
    await expectUnavailable(server, await workload.token(key), detail);
    expect(plain.hits(path)).toBe(0);
    expect(plain.connections()).toBe(before);
  });
});

describe('FET-09: a private certificate authority', () => {
  const UNKNOWN =
    /: TLS with 127\.0\.0\.1 failed \((UNABLE_TO_VERIFY_LEAF_SIGNATURE|UNABLE_TO_GET_ISSUER_CERT_LOCALLY)\): unknown certificate authority, put its certificate in ca_pem$/;

  it.each<[string, IssuerFields, RegExp]>([
    ['without ca_pem', { ca_pem: null }, UNKNOWN],
    ['with the wrong one', { ca_pem: OTHER_CA_PEM }, /: TLS with 127\.0\.0\.1 failed \([A-Z_]+\)/],
  ])('FET-09: %s the issuer is unusable and says why; with the right one it works', async (_what, fields, reason) => {
    const key = ecKey('k1');
    const { url, path } = publish(key);
    const workload = await trustAt(url, fields);
    expect(workload.warnings).toHaveLength(1);
    expect(workload.warnings[0]).toMatch(reason);
    await expectUnavailable(server, await workload.token(key), reason);
    expect(issuer.hits(path)).toBe(0);
    expect((await workload.update({ ca_pem: TEST_CA_PEM })).warnings).toEqual([]);
    await expectIssued(server, await workload.token(key));
  });

  it('FET-09: the CA of one issuer does not vouch for another', async () => {
    const [k1, k2] = [ecKey('k1'), ecKey('k2')];
    const right = await trustAt(publish(k1).url);
    const wrong = await trustAt(publish(k2).url, { ca_pem: OTHER_CA_PEM });
    await expectIssued(server, await right.token(k1));
    await expectUnavailable(server, await wrong.token(k2), /TLS with 127\.0\.0\.1 failed/);
    await expectIssued(server, await right.token(k1));
  });

  it.each(['not a certificate', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'])(
    'FET-09: a ca_pem that can’t be read is refused while it is written',
    async (caPem) => {
      const refused = await refusedIssuer(server, {
        issuer_url: 'https://ca.example.com',
        key_source_type: 'static_jwks_url',
        jwks_url: 'https://ca.example.com/keys',
        ca_pem: caPem,
      });
      expect(refused).toMatchObject({ code: 'INVALID_ARGUMENT', message: expect.stringMatching(/^ca_pem: /) });
    },
  );

  it('FET-09: there is no field that turns a check off', async () => {
    const fieldsOf = async (type: string) => {
      const { text } = await server.graphql(`{ __type(name: "${type}") { inputFields { name } } }`);
      const { data } = JSON.parse(text) as { data: { __type: { inputFields: readonly { name: string }[] } } };
      return data.__type.inputFields.map(({ name }) => name);
    };
    for (const type of ['AddTrustedIssuerRequest', 'UpdateTrustedIssuerRequest']) {
      const fields = await fieldsOf(type);
      expect(fields).toContain('ca_pem');
      expect(fields.filter((name) => /insecure|skip|verify|tls|check|in_cluster|bearer/.test(name))).toEqual([]);
    }
  });
});

describe('FET-10: the CA holds for discovery and for keys alike', () => {
  it('FET-10: two hosts with certificates of the row’s CA both answer', async () => {
    const keys = await startIssuerServer();
    resolveTo('keys.test', '127.0.0.1');
    const key = ecKey('k1');
    const { path } = publish(key, keys);
    const workload = await trustDiscovered(`https://keys.test:${keys.port}${path}`);
    expect(workload.warnings).toEqual([]);
    const asked = watchRequests(issuer);
    await expectIssued(server, await workload.token(key));
    expect(asked()).toHaveLength(1);
    expect(keys.hits(path)).toBe(2);

    const { warnings } = await workload.update({ ca_pem: OTHER_CA_PEM });
    expect(warnings[0]).toMatch(/: discovery at .* TLS with 127\.0\.0\.1 failed/);
    await expectUnavailable(server, await workload.token(key), /^discovery at .*: TLS with 127\.0\.0\.1 failed/);
    await keys.close();
  });
});

describe('FET-11: discovery answers 401 or 403 to anonymous callers', () => {
  const status = (code: number) => ({
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: 'Unauthorized',
    reason: 'Unauthorized',
    code,
  });

  it.each([401, 403])('FET-11: a Status with %i is a failure with a hint, and pasted keys mend it', async (code) => {
    const path = unusedPath();
    const key = ecKey('k1');
    issuer.route(`${path}${WELL_KNOWN}`, (_request, response) => {
      response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(status(code)));
    });
    const workload = await trustWorkload(server, {
      issuer_url: `${issuer.origin}${path}`,
      key_source_type: 'oidc_discovery',
    });
    const detail =
      `discovery at ${issuer.origin}${path}${WELL_KNOWN}: the server answered ${code}: anonymous callers may not read it. ` +
      'For a Kubernetes cluster bind the ClusterRole system:service-account-issuer-discovery to the group ' +
      'system:unauthenticated, or paste the keys (static_jwks)';
    expect(workload.warnings).toEqual(warningOf(detail));
    await expectUnavailable(server, await workload.token(key), detail);

    await workload.update({ key_source_type: 'static_jwks', jwks: JSON.stringify(keySetOf(key)) });
    const asked = watchRequests(issuer);
    await expectIssued(server, await workload.token(key));
    expect(asked()).toEqual([]);
  });

  it('FET-11: a Status is never read as a document, nor with status 200 and the members of one', async () => {
    const path = unusedPath();
    const { url } = publish(ecKey('k1'));
    issuer.json(`${path}${WELL_KNOWN}`, { ...status(401), issuer: `${issuer.origin}${path}`, jwks_uri: url });
    const workload = await trustWorkload(server, {
      issuer_url: `${issuer.origin}${path}`,
      key_source_type: 'oidc_discovery',
    });
    await expectUnavailable(
      server,
      await workload.token(ecKey('k1')),
      `discovery at ${issuer.origin}${path}${WELL_KNOWN}: not a discovery document: a Kubernetes Status object`,
    );
  });
});

describe('FET-12: a redirect and its page', () => {
  it.each([301, 302, 303, 307, 308])('FET-12: %i is a failed fetch, and the old keys stay in use', async (status) => {
    const key = ecKey('k1');
    const target = publish(key);
    const path = unusedPath();
    const redirect = () =>
      issuer.route(path, (_request, response) => {
        response
          .writeHead(status, { location: target.url, 'content-type': 'text/html' })
          .end('<html><a href="/">see other</a></html>');
      });
    redirect();
    const workload = await trustAt(`${issuer.origin}${path}`);
    const detail =
      `key set at ${issuer.origin}${path}: unexpected redirect (status ${status}): ` +
      'redirects are not followed, give the final address';
    expect(workload.warnings).toEqual(warningOf(detail));
    const seconds = await expectUnavailable(server, await workload.token(key), detail);

    issuer.json(path, keySetOf(key));
    server.clock.advance(seconds);
    await expectIssued(server, await workload.token(key));
    redirect();
    server.clock.advance(HOUR);
    await expectIssued(server, await workload.token(key));
    await until(async () => (await workload.keys())?.last_error === detail);
    await expectIssued(server, await workload.token(key));
    expect(issuer.hits(target.path)).toBe(0);
  });
});

describe('FET-14: an issuer that can’t be reached lets everyone wait', () => {
  it('FET-14: those who ask first share one wait of 3 seconds, and those who come later do not wait at all', async () => {
    const blackHole = await startBlackHole();
    const key = ecKey('k1');
    const other = ecKey('k2');
    const workload = await trustAt(`${blackHole.origin}/keys`, { is_active: false });
    const healthy = await trustAt(publish(other).url);
    const detail = `key set at ${blackHole.origin}/keys: no complete answer within 3 s (TLS handshake)`;

    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    // Switching it on looks at its keys, and waits as well.
    const switchedOn = workload.update({ is_active: true });
    await until(() => blackHole.connections() === 1);
    vi.advanceTimersByTime(3000);
    expect((await switchedOn).warnings).toHaveLength(1);

    let answered = 0;
    const first = Array.from({ length: 20 }, () => workload.token(key).finally(() => (answered += 1)));
    await until(() => blackHole.connections() === 2);
    // Nobody else waits with them.
    await expectIssued(server, await healthy.token(other));
    vi.advanceTimersByTime(2999);
    await expectIssued(server, await healthy.token(other));
    expect(answered).toBe(0);
    vi.advanceTimersByTime(1);
    let seconds = 0;
    for (const answer of await Promise.all(first)) seconds = await expectUnavailable(server, answer, detail);
    expect(blackHole.connections()).toBe(2);

    // No timer moves any more: what is answered now was not waited for.
    for (let times = 0; times < 20; times += 1) {
      expect(await expectUnavailable(server, await workload.token(key), detail)).toBe(seconds);
    }
    expect(blackHole.connections()).toBe(2);

    server.clock.advance(seconds);
    const next = workload.token(key);
    await until(() => blackHole.connections() === 3);
    vi.advanceTimersByTime(3000);
    // And longer than before.
    expect(await expectUnavailable(server, await next, detail)).toBeGreaterThanOrEqual(2);
    await blackHole.close();
  });

  it('FET-14: an answer that drips is cut off after 3 seconds in all, however lively it is', async () => {
    const path = unusedPath();
    issuer.json(path, keySetOf(ecKey('k1')));
    const workload = await trustAt(`${issuer.origin}${path}`);
    const slow = holdRequests(issuer, path);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const pending = workload.token(ecKey('k1'));
    await slow.arrived(1);
    const [response] = slow.waiting;
    if (response === undefined) throw new Error('no request');
    response.writeHead(200, { 'content-type': 'application/json' });
    for (let drops = 0; drops < 30; drops += 1) {
      await new Promise((resolve) => response.write(' ', resolve));
      vi.advanceTimersByTime(99);
    }
    expect(response.destroyed).toBe(false);
    vi.advanceTimersByTime(30);
    await expectUnavailable(
      server,
      await pending,
      /^key set at .*: no complete answer within 3 s \((reading|waiting for the answer)\)$/,
    );
    await until(() => response.destroyed);
  });

  it.each<[string, (path: string) => void]>([
    [
      'that says how large it is',
      (path) =>
        issuer.route(path, (_request, response) => response.writeHead(200, { 'content-length': 2 ** 21 }).write('{')),
    ],
    [
      'that does not say it',
      (path) =>
        issuer.route(path, (_request, response) => {
          response.on('error', () => {}).writeHead(200);
          response.end(Buffer.alloc(2 ** 21, ' '));
        }),
    ],
    [
      'that is small until it is unpacked',
      (path) =>
        issuer.route(path, (_request, response) => {
          response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(2 ** 24, ' ')));
        }),
    ],
  ])('FET-14: an answer of more than 1 MiB %s is not read', async (_what, serve) => {
    const path = unusedPath();
    serve(path);
    const workload = await trustAt(`${issuer.origin}${path}`);
    const detail = `key set at ${issuer.origin}${path}: the answer is larger than 1048576 bytes`;
    expect(workload.warnings).toEqual(warningOf(detail));
    await expectUnavailable(server, await workload.token(ecKey('k1')), detail);
  });
});
