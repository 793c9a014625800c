import { describe, expect, it } from 'vitest';
import {
  describeDiscoveryFailure,
  discoveryUrlOf,
  readDiscoveryDocument,
} from '../../src/key-source/discovery-document.ts';

const ISSUER = 'https://kubernetes.default.svc.cluster.local';
const FROM = `${ISSUER}/.well-known/openid-configuration`;
const ROW = { issuerUrl: ISSUER, additionalIssuerUrls: [] };
/** All that kube-apiserver publishes. */
const DOCUMENT = {
  issuer: ISSUER,
  jwks_uri: 'https://10.0.0.10:6443/openid/v1/jwks',
  response_types_supported: ['id_token'],
  subject_types_supported: ['public'],
  id_token_signing_alg_values_supported: ['RS256'],
};

describe('DSC-05: the address of the document', () => {
  it.each([
    ['https://idp.example.com', 'https://idp.example.com/.well-known/openid-configuration'],
    ['https://idp.example.com/', 'https://idp.example.com/.well-known/openid-configuration'],
    ['https://idp.example.com//', 'https://idp.example.com//.well-known/openid-configuration'],
    [
      'https://idp.example.com/v1/projects/p/locations/l/clusters/c',
      'https://idp.example.com/v1/projects/p/locations/l/clusters/c/.well-known/openid-configuration',
    ],
    [
      'https://eu.oic.prod-aks.azure.com/t/u/',
      'https://eu.oic.prod-aks.azure.com/t/u/.well-known/openid-configuration',
    ],
  ])('of %s is %s', (issuerUrl, url) => {
    expect(discoveryUrlOf({ issuerUrl, discoveryUrl: null })).toBe(url);
  });

  it('is the row’s discovery_url where it has one', () => {
    expect(discoveryUrlOf({ issuerUrl: ISSUER, discoveryUrl: 'https://mirror.test/doc' })).toBe(
      'https://mirror.test/doc',
    );
  });
});

describe('DSC-07: a minimal document', () => {
  it('needs only issuer and jwks_uri', () => {
    const expected = { ok: true, value: { issuer: ISSUER, jwksUri: DOCUMENT.jwks_uri } };
    expect(readDiscoveryDocument(DOCUMENT, ROW, FROM)).toEqual(expected);
    expect(readDiscoveryDocument({ issuer: ISSUER, jwks_uri: DOCUMENT.jwks_uri }, ROW, FROM)).toEqual(expected);
    expect(readDiscoveryDocument({ ...DOCUMENT, grant_types: 7, constructor: null }, ROW, FROM)).toEqual(expected);
  });

  it.each([
    ['a jwks_uri that is missing', { issuer: ISSUER }, 'discovery_malformed'],
    ['a jwks_uri that is null', { ...DOCUMENT, jwks_uri: null }, 'discovery_malformed'],
    ['a jwks_uri that is an array', { ...DOCUMENT, jwks_uri: [DOCUMENT.jwks_uri] }, 'discovery_malformed'],
    ['a jwks_uri that is relative', { ...DOCUMENT, jwks_uri: '/openid/v1/jwks' }, 'jwks_uri_invalid'],
    ['a jwks_uri that is empty', { ...DOCUMENT, jwks_uri: '' }, 'jwks_uri_invalid'],
    ['a jwks_uri of another scheme', { ...DOCUMENT, jwks_uri: 'file:///etc/keys' }, 'jwks_uri_invalid'],
    ['an endless jwks_uri', { ...DOCUMENT, jwks_uri: `https://x/${'x'.repeat(3000)}` }, 'jwks_uri_invalid'],
    ['an issuer that is missing', { jwks_uri: DOCUMENT.jwks_uri }, 'discovery_malformed'],
    ['an issuer that is an array', { ...DOCUMENT, issuer: [ISSUER] }, 'discovery_malformed'],
    ['an array as document', [DOCUMENT], 'discovery_malformed'],
    ['null as document', null, 'discovery_malformed'],
    ['a string as document', 'x', 'discovery_malformed'],
    [
      'a Kubernetes Status',
      { ...DOCUMENT, kind: 'Status', status: 'Failure', code: 403 },
      'discovery_is_kubernetes_status',
    ],
  ])('fails closed for %s', (_what, document, code) => {
    const read = readDiscoveryDocument(document, ROW, FROM);
    expect(read).toMatchObject({ ok: false, error: { code } });
    expect(read.ok ? '' : describeDiscoveryFailure(read.error)).toMatch(/^[^\n]{10,}$/);
  });
});

describe('DSC-01: the document’s issuer', () => {
  it.each([
    ['another host', 'https://evil.example.com'],
    ['a slash more', `${ISSUER}/`],
    ['other case', ISSUER.toUpperCase()],
    ['the default port', `${ISSUER}:443`],
    ['a space', `${ISSUER} `],
  ])('must be the row’s byte for byte: not with %s', (_what, presented) => {
    const read = readDiscoveryDocument({ ...DOCUMENT, issuer: presented }, ROW, FROM);
    expect(read).toEqual({
      ok: false,
      error: { code: 'discovery_issuer_mismatch', expected: [ISSUER], presented },
    });
    const sentence = read.ok ? '' : describeDiscoveryFailure(read.error);
    expect(sentence).toContain(JSON.stringify(ISSUER));
    expect(sentence).toContain(JSON.stringify(presented));
  });

  it('may be one of the row’s additional issuers', () => {
    const row = { issuerUrl: 'https://new.example.com', additionalIssuerUrls: [ISSUER] };
    expect(readDiscoveryDocument(DOCUMENT, row, FROM)).toMatchObject({ ok: true, value: { issuer: ISSUER } });
  });

  it('is quoted and bounded where it is shown', () => {
    const issuer = `\n\u001b[31m${'x'.repeat(5000)}`;
    const read = readDiscoveryDocument({ ...DOCUMENT, issuer }, ROW, FROM);
    const sentence = read.ok ? '' : describeDiscoveryFailure(read.error);
    expect(sentence).not.toMatch(/\p{Cc}/u);
    expect(sentence.length).toBeLessThan(600);
  });
});

describe('FET-07: an http jwks_uri', () => {
  const document = { ...DOCUMENT, jwks_uri: 'http://i.example.com/keys' };

  it('is refused in a document that came over https', () => {
    const read = readDiscoveryDocument(document, ROW, FROM);
    expect(read).toMatchObject({ error: { code: 'jwks_uri_invalid' } });
    expect(read.ok ? '' : describeDiscoveryFailure(read.error)).toContain('http:// instead of https://');
  });

  it('is left to the fetch’s rules in a document that came over http itself', () => {
    expect(readDiscoveryDocument(document, ROW, 'http://127.0.0.1/doc')).toMatchObject({ ok: true });
  });
});
