/**
 * Real failures of matching issuers, against the running server: an issuer is its exact string, at save time and in
 * every token, and the string leads to one row.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aClusterAssertion, CLUSTER_ISSUER, SUBJECT } from '../fixtures/assertions.ts';
import { type IssuerServer, startIssuerServer } from '../fixtures/issuer-server.ts';
import type { RunningServer } from '../fixtures/running-server.ts';
import { ecKey, keySetOf } from './issuer-key.ts';
import { expectIssued, expectRefused, expectUnavailable } from './outcome.ts';
import { startQuietServer } from './quiet-server.ts';
import { watchRequests } from './request-watch.ts';
import { issuerFields, refusedIssuer, TrustedWorkload, trustWorkload } from './trusted-workload.ts';

const WELL_KNOWN = '/.well-known/openid-configuration';

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

/** The workload of `known`, with another string in its tokens. */
function speakingFor(known: TrustedWorkload, iss: string): TrustedWorkload {
  return new TrustedWorkload(server, { id: known.issuerId, warnings: [] }, iss, known.clientId);
}

describe('ISS-01: a final slash differs between the issuer and its row', () => {
  it.each([
    ['a slash too many', '/slashless', '/', ''],
    ['a slash too few', '/slashed', '', '/'],
  ])('ISS-01: %s is refused at save time, naming both strings', async (_what, path, inRow, inDocument) => {
    const row = `${issuer.origin}${path}${inRow}`;
    const real = `${issuer.origin}${path}${inDocument}`;
    issuer.json(`${path}${WELL_KNOWN}`, { issuer: real, jwks_uri: `${issuer.origin}${path}/keys` });
    const asked = watchRequests(issuer);

    const refused = await refusedIssuer(server, { issuer_url: row, key_source_type: 'oidc_discovery' });

    expect(refused).toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: `issuer_url: the issuer calls itself "${real}", not "${row}": the final slash counts`,
    });
    expect(asked()).toEqual([`${path}${WELL_KNOWN}`]);
    const audit = await server.auditOf(refused);
    expect(audit).toMatchObject({ action: 'trusted_issuer.created', outcome: 'failed', reason: 'invalid_input' });
    expect(audit.metadata).toContain(JSON.stringify(row).slice(1, -1));
    expect(audit.metadata).toContain(JSON.stringify(real).slice(1, -1));
    // Nothing was stored: neither spelling is trusted.
    for (const iss of [row, real]) {
      await expectRefused(server, await server.token(aClusterAssertion().with({ iss }).build()), 'issuer_not_trusted');
    }
    expect(asked()).toHaveLength(1);
  });

  it.each([
    ['with a final slash', '/right-slashed', '/'],
    ['without one', '/right-slashless', ''],
  ])('ISS-01: an issuer %s works as it is, and the other spelling is nobody', async (_what, path, slash) => {
    const issuerUrl = `${issuer.origin}${path}${slash}`;
    const key = ecKey('k1');
    issuer.json(`${path}${WELL_KNOWN}`, { issuer: issuerUrl, jwks_uri: `${issuer.origin}${path}/keys` });
    issuer.json(`${path}/keys`, keySetOf(key));
    const workload = await trustWorkload(server, { issuer_url: issuerUrl, key_source_type: 'oidc_discovery' });
    expect(workload.warnings).toEqual([]);
    const asked = watchRequests(issuer);

    await expectIssued(server, await workload.token(key));
    expect(asked()).toEqual([`${path}${WELL_KNOWN}`, `${path}/keys`]);

    const other = slash === '' ? `${issuerUrl}/` : issuerUrl.slice(0, -1);
    const evidence = await expectRefused(
      server,
      await speakingFor(workload, other).token(key),
      'issuer_not_trusted',
      `no trusted issuer is exactly "${other}"`,
    );
    expect(evidence.iss).toBe(other);
    expect(asked()).toHaveLength(2);
  });

  it('ISS-01: a second row that differs by the final slash alone is refused, naming both', async () => {
    const key = ecKey('k1');
    const fields = { key_source_type: 'static_jwks', jwks: JSON.stringify(keySetOf(key)) };
    const first = await trustWorkload(server, { issuer_url: 'https://idp.example.com', ...fields });
    const refused = await refusedIssuer(server, {
      issuer_url: 'https://idp.example.com/',
      ...fields,
      jwks: JSON.stringify(keySetOf(ecKey('k1'))),
    });
    expect(refused).toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: `issuer_url: "https://idp.example.com/" and "https://idp.example.com" of trusted issuer ${first.issuerId} differ only by a trailing slash: register the one that tokens really have in iss`,
    });
    await expectIssued(server, await first.token(key));
  });
});

describe('ISS-02: an issuer that works by leniency alone', () => {
  it.each([
    ['a slash that the row lacks', 'https://oidc.example.com/tenant/cluster', '/'],
    ['no slash where the row has one', 'https://oidc.example.com/tenant/other/', null],
    ['upper case', 'https://oidc.example.com/tenant/upper', 'HTTPS://OIDC.example.com/tenant/upper'],
    ['the default port', 'https://oidc.example.com/tenant/port', 'https://oidc.example.com:443/tenant/port'],
    ['an encoded character', 'https://oidc.example.com/tenant/a~b', 'https://oidc.example.com/tenant/a%7Eb'],
    ['a space', 'https://oidc.example.com/tenant/space', ' '],
  ])('ISS-02: %s in the token is refused from day one', async (_what, issuerUrl, change) => {
    const key = ecKey('k1');
    const workload = await trustWorkload(server, {
      issuer_url: issuerUrl,
      key_source_type: 'static_jwks',
      jwks: JSON.stringify(keySetOf(key)),
    });
    const presented = change === null ? issuerUrl.slice(0, -1) : change.length === 1 ? `${issuerUrl}${change}` : change;
    const connections = issuer.connections();

    const answer = await speakingFor(workload, presented).token(key);

    const evidence = await expectRefused(
      server,
      answer,
      'issuer_not_trusted',
      `no trusted issuer is exactly ${JSON.stringify(presented)}`,
    );
    expect(evidence.iss).toBe(presented);
    expect((await server.auditOf(answer)).trusted_issuer_id).toBeNull();
    expect(issuer.connections()).toBe(connections);
    await expectIssued(server, await workload.token(key));
  });
});

describe('ISS-04: an issuer with quotes in it and no scheme', () => {
  const ODD = '"cluster.hcp.example.com"';

  it.each(['static_jwks', 'static_jwks_url'])('ISS-04: is matched byte for byte with keys from %s', async (type) => {
    const issuerUrl = ODD.replace('cluster', type.replaceAll('_', '-'));
    const key = ecKey('k1');
    issuer.json(`/odd/${type}`, keySetOf(key));
    const workload = await trustWorkload(server, {
      issuer_url: issuerUrl,
      key_source_type: type,
      ...(type === 'static_jwks'
        ? { jwks: JSON.stringify(keySetOf(key)) }
        : { jwks_url: `${issuer.origin}/odd/${type}` }),
    });
    const claims = await expectIssued(server, await workload.token(key));
    expect(claims.workload).toMatchObject({ issuer: issuerUrl, subject: SUBJECT });

    const bare = issuerUrl.replaceAll('"', '');
    await expectRefused(
      server,
      await speakingFor(workload, bare).token(key),
      'issuer_not_trusted',
      `no trusted issuer is exactly "${bare}"`,
    );
  });

  it('ISS-04: an audience with quotes in it is matched byte for byte as well', async () => {
    const issuerUrl = '"oidc.hcp.example.com"';
    const key = ecKey('k1');
    const workload = await trustWorkload(server, {
      issuer_url: issuerUrl,
      issuer_type: 'oidc',
      key_source_type: 'static_jwks',
      jwks: JSON.stringify(keySetOf(key)),
      expected_aud: [issuerUrl],
    });
    const withAudience = (aud: string) =>
      server.token(
        workload
          .assertion(key)
          .with({ aud: [aud] })
          .build(),
      );
    await expectIssued(server, await withAudience(issuerUrl));
    const bare = 'oidc.hcp.example.com';
    await expectRefused(
      server,
      await withAudience(bare),
      'aud_mismatch',
      `aud is "${bare}", expected ${JSON.stringify(issuerUrl)}`,
    );
  });

  it('ISS-04: a cluster’s own name stays refused as audience, since every pod’s token for the API server has it', async () => {
    const refused = await refusedIssuer(server, {
      issuer_url: ODD,
      key_source_type: 'static_jwks',
      jwks: JSON.stringify(keySetOf(ecKey('k1'))),
      expected_aud: [ODD],
    });
    expect(refused.code).toBe('INVALID_ARGUMENT');
    expect(refused.message).toContain('is an audience of the Kubernetes API server');
  });

  it('ISS-04: discovery needs a URL, or a discovery_url beside the odd string', async () => {
    const issuerUrl = '"discovered.hcp.example.com"';
    const key = ecKey('k1');
    const refused = await refusedIssuer(server, { issuer_url: issuerUrl, key_source_type: 'oidc_discovery' });
    expect(refused).toMatchObject({ code: 'INVALID_ARGUMENT' });
    expect(refused.message).toMatch(/^issuer_url: must be an absolute https URL; or give discovery_url or jwks_url/);

    issuer.json('/odd/document', { issuer: issuerUrl, jwks_uri: `${issuer.origin}/odd/keys` });
    issuer.json('/odd/keys', keySetOf(key));
    const workload = await trustWorkload(server, {
      issuer_url: issuerUrl,
      key_source_type: 'oidc_discovery',
      discovery_url: `${issuer.origin}/odd/document`,
    });
    await expectIssued(server, await workload.token(key));
  });
});

describe('ISS-06: a cluster changes its issuer while old tokens live', () => {
  const NEW = 'https://kubernetes.default.svc.new.example.com';

  it('ISS-06: one row trusts both strings during the overlap, and the old one no longer at once', async () => {
    const key = ecKey('same-key');
    const workload = await trustWorkload(server, {
      issuer_url: NEW,
      additional_issuer_urls: ['api'],
      key_source_type: 'static_jwks',
      jwks: JSON.stringify(keySetOf(key)),
    });
    const old = speakingFor(workload, 'api');
    expect((await expectIssued(server, await workload.token(key))).client_id).toBe(workload.clientId);
    const answer = await old.token(key);
    expect((await expectIssued(server, answer)).client_id).toBe(workload.clientId);
    expect((await server.auditOf(answer)).trusted_issuer_id).toBe(workload.issuerId);

    await workload.update({ additional_issuer_urls: [] });
    await expectRefused(server, await old.token(key), 'issuer_not_trusted', 'no trusted issuer is exactly "api"');
    await expectIssued(server, await workload.token(key));
  });

  it('ISS-06: the discovery document may name either string, as it shows the first --service-account-issuer alone', async () => {
    const before = `${issuer.origin}/cluster-before`;
    const after = `${issuer.origin}/cluster-after`;
    const key = ecKey('same-key');
    const publish = (name: string) =>
      issuer.json('/cluster/document', { issuer: name, jwks_uri: `${issuer.origin}/cluster/keys` });
    issuer.json('/cluster/keys', keySetOf(key));
    publish(before);
    const workload = await trustWorkload(server, {
      issuer_url: before,
      additional_issuer_urls: [after],
      key_source_type: 'oidc_discovery',
      discovery_url: `${issuer.origin}/cluster/document`,
    });
    await expectIssued(server, await workload.token(key));
    publish(after);
    server.clock.advance(3600);
    await expectIssued(server, await workload.token(key));
    await expectIssued(server, await speakingFor(workload, after).token(key));
    expect((await workload.keys())?.last_error).toBeNull();
  });

  it('ISS-06: two rows with one key are both closed instead, and say so to the admin', async () => {
    const key = ecKey('same-key');
    const fields = { key_source_type: 'static_jwks', jwks: JSON.stringify(keySetOf(key)) };
    const first = await trustWorkload(server, { issuer_url: 'api-of-another-cluster', ...fields });
    const second = await trustWorkload(server, { issuer_url: 'https://another-cluster.example.com', ...fields });
    await expectIssued(server, await first.token(key));
    // From the moment on that both sets are known to this process.
    for (const [workload, other] of [
      [second, first],
      [first, second],
    ] as const) {
      await expectUnavailable(
        server,
        await workload.token(key),
        new RegExp(
          `^signing key [\\w-]{43} is published by several trusted issuers: "stand-in issuer" \\(${workload.issuerId}\\), "stand-in issuer" \\(${other.issuerId}\\)$`,
        ),
      );
    }
    await first.update({ is_active: false });
    await expectRefused(server, await first.token(key), 'issuer_disabled');
    await expectIssued(server, await second.token(key));
  });
});

describe('ISS-08: our own metadata and our own iss claim', () => {
  it.each([
    'https://as.example.com',
    'https://as.example.com/',
    'https://as.example.com/tenant',
    'https://as.example.com/tenant/',
  ])('ISS-08: are one constant where the issuer is %s, and so is the audience that we accept', async (ownIssuer) => {
    await using ours = await startQuietServer({ issuer: ownIssuer });
    const key = ecKey('k1');
    const workload = await trustWorkload(ours, {
      issuer_url: CLUSTER_ISSUER,
      key_source_type: 'static_jwks',
      jwks: JSON.stringify(keySetOf(key)),
    });
    const path = new URL(ownIssuer).pathname.replace(/\/$/, '');
    for (const document of [
      `/.well-known/oauth-authorization-server${path}`,
      `${path}/.well-known/openid-configuration`,
    ]) {
      expect((await ours.send('GET', document)).json.issuer).toBe(ownIssuer);
    }
    const ask = (aud: string) => ours.token(workload.assertion(key).with({ aud }).build());
    const claims = await expectIssued(ours, await ask(ownIssuer));
    expect(claims).toMatchObject({ iss: ownIssuer, aud: ownIssuer });

    const other = ownIssuer.endsWith('/') ? ownIssuer.slice(0, -1) : `${ownIssuer}/`;
    await expectRefused(ours, await ask(other), 'aud_mismatch', `aud is "${other}", expected "${ownIssuer}"`);
  });
});

describe('ISS-09: many clusters share the identical default issuer', () => {
  it('ISS-09: a second row with the same string is refused, and the other cluster’s tokens are nobody’s', async () => {
    const a = ecKey('shared-kid');
    const b = ecKey('shared-kid');
    const ofB = { issuer_url: CLUSTER_ISSUER, key_source_type: 'static_jwks', jwks: JSON.stringify(keySetOf(b)) };
    const clusterA = await trustWorkload(server, { ...ofB, jwks: JSON.stringify(keySetOf(a)) });

    const taken = `"${CLUSTER_ISSUER}" is registered already, by trusted issuer ${clusterA.issuerId}`;
    expect(await refusedIssuer(server, ofB)).toMatchObject({
      code: 'ALREADY_EXISTS',
      message: `issuer_url: ${taken}`,
    });
    const asAdditional = issuerFields({
      ...ofB,
      issuer_url: 'https://cluster-b.example.com',
      additional_issuer_urls: [CLUSTER_ISSUER],
    });
    expect(await refusedIssuer(server, asAdditional)).toMatchObject({
      code: 'ALREADY_EXISTS',
      message: `additional_issuer_urls.0: ${taken}`,
    });

    await expectRefused(
      server,
      await clusterA.token(b),
      'signature_invalid',
      'the signature does not fit the key "shared-kid" (ES256)',
    );
    await expectRefused(server, await clusterA.token(ecKey('kid-of-b')), 'kid_unknown');
    const answer = await clusterA.token(a);
    expect((await expectIssued(server, answer)).client_id).toBe(clusterA.clientId);
    expect((await server.auditOf(answer)).trusted_issuer_id).toBe(clusterA.issuerId);
  });

  it('ISS-09: cluster B under a string of its own never speaks for cluster A’s client, though the subjects are equal', async () => {
    const a = ecKey('1');
    const b = ecKey('1');
    const row = (issuer_url: string, key: typeof a) =>
      trustWorkload(server, { issuer_url, key_source_type: 'static_jwks', jwks: JSON.stringify(keySetOf(key)) });
    const clusterA = await row('https://a.clusters.example.com', a);
    const clusterB = await row('https://b.clusters.example.com', b);

    // One subject, two rows: the row decides.
    expect((await expectIssued(server, await clusterA.token(a))).client_id).toBe(clusterA.clientId);
    expect((await expectIssued(server, await clusterB.token(b))).client_id).toBe(clusterB.clientId);
    const asA = await server.token(clusterB.assertion(b).build(), { client_id: clusterA.clientId });
    await expectRefused(
      server,
      asA,
      'client_mismatch',
      `client_id "${clusterA.clientId}" is not bound to "${SUBJECT}"`,
    );
    expect((await server.auditOf(asA)).trusted_issuer_id).toBe(clusterB.issuerId);
    await expectRefused(server, await clusterA.token(b), 'signature_invalid');
  });

  it('ISS-09: equal jti of two clusters are two uses, since the replay key carries the row', async () => {
    const keys = [ecKey('1'), ecKey('1')] as const;
    const jti = 'the-same-jti';
    for (const [index, key] of keys.entries()) {
      const workload = await trustWorkload(server, {
        issuer_url: `https://jti-${index}.clusters.example.com`,
        key_source_type: 'static_jwks',
        jwks: JSON.stringify(keySetOf(key)),
      });
      await expectIssued(server, await server.token(workload.assertion(key).with({ jti }).build()));
      await expectRefused(server, await server.token(workload.assertion(key).with({ jti }).build()), 'replayed');
    }
  });
});
