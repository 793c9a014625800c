import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AccessTokenVerifier, createAccessTokenVerifier } from '../../src/resource/access-token-verifier.ts';
import {
  API,
  anAccessToken,
  ES256_KID,
  RS256_KID,
  RS512_KID,
  SERVER_JWKS,
  startKeyServer,
  WORKLOAD_CLAIM,
} from '../fixtures/access-tokens.ts';
import { type AssertionBuilder, aClusterAssertion, type Claims } from '../fixtures/assertions.ts';
import type { IssuerServer } from '../fixtures/issuer-server.ts';
import { ED25519, P256, P256_B, RSA_A, RSA_B } from '../fixtures/keys.ts';
import { NOW, settableClock } from '../fixtures/settable-clock.ts';

let server: IssuerServer;
let verifier: AccessTokenVerifier;
let valid: AssertionBuilder;

beforeAll(async () => {
  server = await startKeyServer();
  verifier = createAccessTokenVerifier({ issuer: server.origin, audience: API, clock: () => NOW });
  valid = anAccessToken(server.origin);
});
afterAll(() => server.close());

const encode = (text: string): string => Buffer.from(text).toString('base64url');

describe('a good access token', () => {
  it('says who is calling, for which organization, from which workload', async () => {
    const verdict = await verifier.verify(valid.build());
    expect(verdict).toEqual({
      ok: true,
      value: {
        clientId: 'edge-worker',
        scopes: ['read', 'write'],
        organizationId: 'org-1',
        workload: {
          issuer: WORKLOAD_CLAIM.issuer,
          subject: WORKLOAD_CLAIM.subject,
          namespace: 'edge-system',
          serviceAccount: 'edge-worker',
          serviceAccountUid: '11111111-1111-4111-8111-111111111111',
          pod: 'edge-worker-x7k2p',
          podUid: '22222222-2222-4222-8222-222222222222',
          node: 'node-1',
        },
        tokenId: valid.claims.jti,
        expiresAt: NOW + 900,
        claims: valid.claims,
      },
    });
  });

  it.each<[string, (token: AssertionBuilder) => AssertionBuilder]>([
    ['Q-08: of typ application/at+jwt', (token) => token.withHeader({ typ: 'application/at+jwt' })],
    ['Q-08: of typ AT+JWT', (token) => token.withHeader({ typ: 'AT+JWT' })],
    ['Q-10: for several APIs, ours among them', (token) => token.with({ aud: ['https://b.example.com', API] })],
    ['Q-10: for ours alone, in an array', (token) => token.with({ aud: [API] })],
    ['Q-12: signed with RS256', (token) => token.withHeader({ alg: 'RS256', kid: RS256_KID }).signedBy(RSA_A)],
    ['Q-11: that expired 59 s ago', (token) => token.with({ exp: NOW - 59 })],
    ['Q-11: issued 60 s ahead', (token) => token.with({ iat: NOW + 60 })],
    ['Q-11: valid from 60 s ahead', (token) => token.with({ nbf: NOW + 60 })],
    ['Q-11: with fractions of a second', (token) => token.with({ exp: NOW + 10.5, iat: NOW - 0.5 })],
    ['with claims that a binding added', (token) => token.with({ runner_id: 'edge/node-1' })],
  ])('%s is accepted', async (_what, change) => {
    expect(await verifier.verify(change(valid).build())).toMatchObject({ ok: true });
  });

  it('without scope, organization and workload has none of them', async () => {
    const bare = valid.without('scope', 'organization_id', 'workload').build();
    expect(await verifier.verify(bare)).toMatchObject({
      ok: true,
      value: { scopes: [], organizationId: null, workload: null },
    });
  });

  it('of a workload outside Kubernetes has no namespace, pod or node', async () => {
    const token = valid.with({ workload: { issuer: 'https://ci.example.com', subject: 'repo:a/b' } }).build();
    expect(await verifier.verify(token)).toMatchObject({
      ok: true,
      value: {
        workload: {
          issuer: 'https://ci.example.com',
          subject: 'repo:a/b',
          namespace: null,
          serviceAccount: null,
          serviceAccountUid: null,
          pod: null,
          podUid: null,
          node: null,
        },
      },
    });
  });
});

describe('refused', () => {
  it.each<[string, (token: AssertionBuilder) => AssertionBuilder, Readonly<Record<string, unknown>>]>([
    ['Q-08: no typ', (token) => token.withHeader({ typ: undefined }), { reason: 'typ_not_allowed', typ: '' }],
    ['Q-08: typ JWT', (token) => token.withHeader({ typ: 'JWT' }), { reason: 'typ_not_allowed', typ: 'JWT' }],
    [
      'Q-08: an introspection answer',
      (token) => token.withHeader({ typ: 'token-introspection+jwt' }),
      { reason: 'typ_not_allowed' },
    ],
    [
      'Q-08: a client assertion',
      (token) => token.withHeader({ typ: 'client-authentication+jwt' }),
      { reason: 'typ_not_allowed' },
    ],
    [
      'Q-08: a typ that only contains ours',
      (token) => token.withHeader({ typ: 'x-at+jwt' }),
      { reason: 'typ_not_allowed' },
    ],
    ['Q-08: a Kubernetes token', () => aClusterAssertion(), { reason: 'typ_not_allowed' }],
    [
      'Q-09: a look-alike issuer',
      (token) => token.with({ iss: `${String(token.claims.iss)}/` }),
      { reason: 'iss_mismatch' },
    ],
    ['Q-09: no issuer', (token) => token.without('iss'), { reason: 'iss_mismatch' }],
    ['Q-09: a list of issuers', (token) => token.with({ iss: [token.claims.iss] }), { reason: 'iss_mismatch' }],
    ['Q-09: a key from elsewhere', (token) => token.signedBy(P256_B), { reason: 'signature_invalid', kid: ES256_KID }],
    [
      'Q-09: a kid from elsewhere',
      (token) => token.withHeader({ kid: 'other' }).signedBy(P256_B),
      { reason: 'kid_unknown', kid: 'other' },
    ],
    [
      'Q-10: another API',
      (token) => token.with({ aud: 'https://b.example.com' }),
      { reason: 'aud_mismatch', presented: ['https://b.example.com'] },
    ],
    [
      'Q-10: an API that ours is the beginning of',
      (token) => token.with({ aud: `${API}/admin` }),
      { reason: 'aud_mismatch' },
    ],
    ['Q-10: no audience', (token) => token.without('aud'), { reason: 'claim_invalid', claim: 'aud' }],
    ['Q-10: an empty list of audiences', (token) => token.with({ aud: [] }), { reason: 'aud_mismatch' }],
    [
      'Q-10: an audience that is no string',
      (token) => token.with({ aud: [API, 7] }),
      { reason: 'claim_invalid', claim: 'aud' },
    ],
    ['Q-11: no exp', (token) => token.without('exp'), { reason: 'claim_invalid', claim: 'exp' }],
    [
      'Q-11: an exp that is a string',
      (token) => token.with({ exp: String(NOW + 900) }),
      { reason: 'claim_invalid', claim: 'exp' },
    ],
    [
      'Q-11: expired 60 s ago',
      (token) => token.with({ exp: NOW - 60 }),
      { reason: 'expired', exp: NOW - 60, now: NOW },
    ],
    ['Q-11: issued 61 s ahead', (token) => token.with({ iat: NOW + 61 }), { reason: 'not_yet_valid', claim: 'iat' }],
    [
      'Q-11: valid from 61 s ahead',
      (token) => token.with({ nbf: NOW + 61 }),
      { reason: 'not_yet_valid', claim: 'nbf' },
    ],
    ['Q-11: an nbf that is null', (token) => token.with({ nbf: null }), { reason: 'claim_invalid', claim: 'nbf' }],
    [
      'Q-12: alg RS256 over an EC key',
      (token) => token.withHeader({ alg: 'RS256' }).signedBy(RSA_B),
      { reason: 'signature_invalid' },
    ],
    [
      'Q-12: alg PS256 with our RSA key',
      (token) => token.withHeader({ alg: 'PS256', kid: RS256_KID }).signedBy(RSA_A),
      { reason: 'alg_not_allowed', alg: 'PS256' },
    ],
    ['Q-12: alg EdDSA', (token) => token.withHeader({ alg: 'EdDSA' }).signedBy(ED25519), { reason: 'alg_not_allowed' }],
    [
      'Q-12: alg RS256 with a key that is for RS512',
      (token) => token.withHeader({ alg: 'RS256', kid: RS512_KID }).signedBy(RSA_B),
      { reason: 'signature_invalid' },
    ],
    ['Q-12: no kid', (token) => token.withHeader({ kid: undefined }), { reason: 'token_malformed' }],
    ['Q-12: an empty kid', (token) => token.withHeader({ kid: '' }), { reason: 'token_malformed' }],
    ['Q-12: a kid that is a number', (token) => token.withHeader({ kid: 7 }), { reason: 'token_malformed' }],
    ['Q-12: a kid of 2 KiB', (token) => token.withHeader({ kid: 'k'.repeat(2048) }), { reason: 'token_malformed' }],
    ['Q-14: no client_id', (token) => token.without('client_id'), { reason: 'claim_invalid', claim: 'client_id' }],
    ['Q-14: no jti', (token) => token.without('jti'), { reason: 'claim_invalid', claim: 'jti' }],
    ['Q-14: no iat', (token) => token.without('iat'), { reason: 'claim_invalid', claim: 'iat' }],
    ['Q-14: no sub', (token) => token.without('sub'), { reason: 'claim_invalid', claim: 'sub' }],
    ['Q-14: a numeric sub', (token) => token.with({ sub: 7 }), { reason: 'claim_invalid', claim: 'sub' }],
    [
      'Q-15: a confirmation method nobody knows',
      (token) => token.with({ cnf: { foo: 1 } }),
      { reason: 'confirmation_unsupported' },
    ],
    [
      'Q-15: bound to a key, presented by a bearer',
      (token) => token.with({ cnf: { jkt: 'x' } }),
      { reason: 'confirmation_unsupported' },
    ],
    ['Q-15: a confirmation that is null', (token) => token.with({ cnf: null }), { reason: 'confirmation_unsupported' }],
    [
      'Q-16: a subject that is not the client',
      (token) => token.with({ sub: 'alice' }),
      { reason: 'subject_not_client', subject: 'alice' },
    ],
    ['a scope that is a list', (token) => token.with({ scope: ['read'] }), { reason: 'claim_invalid', claim: 'scope' }],
    [
      'a scope with two spaces',
      (token) => token.with({ scope: 'read  write' }),
      { reason: 'claim_invalid', claim: 'scope' },
    ],
    ['a scope with a quote', (token) => token.with({ scope: 'read"' }), { reason: 'claim_invalid', claim: 'scope' }],
    [
      'an organization that is a list',
      (token) => token.with({ organization_id: ['org-1'] }),
      { reason: 'claim_invalid', claim: 'organization_id' },
    ],
    [
      'a workload that is a string',
      (token) => token.with({ workload: 'pod' }),
      { reason: 'claim_invalid', claim: 'workload' },
    ],
    [
      'a workload without subject',
      (token) => token.with({ workload: { issuer: 'x' } }),
      { reason: 'claim_invalid', claim: 'workload' },
    ],
    [
      'a workload with a numeric pod',
      (token) => token.with({ workload: { ...WORKLOAD_CLAIM, pod: 1 } }),
      { reason: 'claim_invalid', claim: 'workload' },
    ],
  ])('%s', async (_what, change, refusal) => {
    expect(await verifier.verify(change(valid).build())).toMatchObject({ ok: false, error: refusal });
  });
});

describe('Q-12: refused for its form', () => {
  const parts = (): readonly [string, string, string] => {
    const [header = '', claims = '', signature = ''] = valid.build().split('.');
    return [header, claims, signature];
  };

  it.each(['crit', 'b64', 'zip', 'jku', 'jwk', 'x5u', 'x5c', 'enc', 'cty'])('a header with %s', async (member) => {
    const token = valid.withHeader({ [member]: member === 'b64' ? true : ['exp'] }).build();
    expect(await verifier.verify(token)).toMatchObject({
      error: { reason: 'token_malformed', detail: `header: ${member} is not accepted` },
    });
  });

  it.each(['none', 'None', 'NONE', 'nOnE', 'HS256', 'es256', 'ES384', ''])('alg %j', async (alg) => {
    const [, claims, signature] = parts();
    const header = encode(JSON.stringify({ ...valid.header, alg }));
    for (const token of [`${header}.${claims}.${signature}`, `${header}.${claims}.`]) {
      expect((await verifier.verify(token)).ok).toBe(false);
    }
    expect(await verifier.verify(`${header}.${claims}.${signature}`)).toMatchObject({
      error: { reason: 'alg_not_allowed', alg },
    });
  });

  it('an HMAC keyed with the public key', async () => {
    const header = encode(JSON.stringify({ ...valid.header, alg: 'HS256' }));
    const input = `${header}.${parts()[1]}`;
    for (const secret of [JSON.stringify(SERVER_JWKS.keys[0]), JSON.stringify(SERVER_JWKS)]) {
      const mac = createHmac('sha256', secret).update(input).digest('base64url');
      expect(await verifier.verify(`${input}.${mac}`)).toMatchObject({ error: { reason: 'alg_not_allowed' } });
    }
  });

  it.each<[string, (token: string) => string]>([
    ['two parts', (token) => token.split('.').slice(0, 2).join('.')],
    ['four parts', (token) => `${token}.x`],
    ['five parts (JWE)', (token) => `${token}.x.y`],
    ['an empty header', (token) => token.replace(/^[^.]+/, '')],
    ['an empty claims part', (token) => token.replace(/\.[^.]+\./, '..')],
    ['an empty signature', (token) => token.replace(/[^.]+$/, '')],
    ['padding', (token) => `${token}=`],
    ['a newline after it', (token) => `${token}\n`],
    ['a space inside', (token) => token.replace('.', ' .')],
    ['standard base64 characters', (token) => token.replace(/\.[^.]+$/, '.+/+/')],
    ['another spelling of the last character', otherSpelling],
    ['20 KiB', (token) => `${token}${'A'.repeat(20_000)}`],
    ['JSON serialization', (token) => JSON.stringify({ payload: token })],
    ['nothing in it', () => ''],
    ['garbage', () => 'garbage'],
  ])('a token with %s', async (_what, change) => {
    expect(await verifier.verify(change(valid.build()))).toMatchObject({ error: { reason: 'token_malformed' } });
  });

  it.each<[string, { headerText?: string; claimsText?: string }]>([
    ['a header that is an array', { headerText: '[]' }],
    ['a header that is no JSON', { headerText: '{' }],
    ['a header with two alg', { headerText: `{"alg":"none","alg":"ES256","typ":"at+jwt","kid":"${ES256_KID}"}` }],
    ['claims that are an array', { claimsText: '[]' }],
    ['claims that are null', { claimsText: 'null' }],
    ['claims with a byte order mark', { claimsText: '\uFEFF{}' }],
    ['claims with two sub', { claimsText: '{"sub":"a","sub":"edge-worker"}' }],
    ['claims with iss and ISS', { claimsText: '{"iss":"a","ISS":"b"}' }],
    ['claims nested a thousand deep', { claimsText: `${'{"a":'.repeat(1000)}1${'}'.repeat(1000)}` }],
  ])('a signed token with %s', async (_what, raw) => {
    expect(await verifier.verify(valid.build(raw))).toMatchObject({ error: { reason: 'token_malformed' } });
  });

  it('any change of one character of the signature', async () => {
    const [header, claims, signature] = parts();
    for (const index of [0, 20, 43, 60, 84]) {
      const changed = signature[index] === 'A' ? 'B' : 'A';
      const token = `${header}.${claims}.${signature.slice(0, index)}${changed}${signature.slice(index + 1)}`;
      expect(await verifier.verify(token)).toMatchObject({ error: { reason: 'signature_invalid' } });
    }
  });

  it('an ECDSA signature of zeros, or in DER', async () => {
    const [header, claims] = parts();
    for (const signature of [Buffer.alloc(64), Buffer.from('3006020101020101', 'hex')]) {
      const token = `${header}.${claims}.${signature.toString('base64url')}`;
      expect(await verifier.verify(token)).toMatchObject({ error: { reason: 'signature_invalid' } });
    }
  });
});

/** 64 bytes leave four unused bits in the last character: the same bytes, spelt differently. */
function otherSpelling(token: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  return `${token.slice(0, -1)}${alphabet[alphabet.indexOf(token.slice(-1)) + 1]}`;
}

describe('an API of one organization', () => {
  const forOrganization = (claims: Claims) =>
    createAccessTokenVerifier({
      issuer: server.origin,
      audience: API,
      organizationId: 'org-1',
      clock: () => NOW,
    }).verify(valid.with(claims).build());

  it('accepts its own', async () => {
    expect(await forOrganization({})).toMatchObject({ ok: true, value: { organizationId: 'org-1' } });
  });

  it.each([
    ['another', { organization_id: 'org-2' }, 'org-2'],
    ['none', { organization_id: undefined }, null],
  ])('refuses a client of %s', async (_what, claims, presented) => {
    expect(await forOrganization(claims)).toEqual({
      ok: false,
      error: { reason: 'organization_mismatch', presented },
    });
  });
});

describe('a token of another issuer', () => {
  it('causes no look-up of keys', async () => {
    const fresh = await startKeyServer();
    const own = createAccessTokenVerifier({ issuer: fresh.origin, audience: API, clock: settableClock() });
    await own.verify(anAccessToken('https://as.example.com').signedBy(P256).build());
    expect(fresh.requests).toHaveLength(0);
    await fresh.close();
  });
});

describe('settings that cannot be used', () => {
  it.each([
    ['an issuer over plain http', { issuer: 'http://as.example.com', audience: API }],
    [
      'keys over plain http',
      { issuer: 'https://as.example.com', jwksUri: 'http://as.example.com/jwks', audience: API },
    ],
    ['an issuer that is no URL', { issuer: 'as', audience: API }],
    ['no audience', { issuer: 'https://as.example.com', audience: '' }],
  ])('%s: a TypeError at once', (_what, options) => {
    expect(() => createAccessTokenVerifier(options)).toThrow(TypeError);
  });
});
