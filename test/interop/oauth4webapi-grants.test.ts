/** The jwt-bearer grant and token exchange, as a library that knows nothing of us asks for them. */
import {
  type AuthorizationServer,
  allowInsecureRequests,
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  discoveryRequest,
  genericTokenEndpointRequest,
  None,
  PrivateKeyJwt,
  processDiscoveryResponse,
  processGenericTokenEndpointResponse,
  type TokenEndpointResponse,
  validateJwtAccessToken,
} from 'oauth4webapi';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SUBJECT } from '../fixtures/assertions.ts';
import { P256 } from '../fixtures/keys.ts';
import { ASSERTION_TYPE } from '../fixtures/running-server.ts';
import { API, CLIENT_KID, type ReachableServer, startReachableServer } from './reachable-server.ts';

const OPTIONS = { [allowInsecureRequests]: true };
const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token';
const JWT = 'urn:ietf:params:oauth:token-type:jwt';

let reachable: ReachableServer;
let as: AuthorizationServer;
let clientKey: CryptoKey;
let secret: string;

beforeAll(async () => {
  reachable = await startReachableServer();
  clientKey = await crypto.subtle.importKey('jwk', P256, { name: 'ECDSA', namedCurve: 'P-256' }, false, ['sign']);
  const issuer = new URL(reachable.issuer);
  as = await processDiscoveryResponse(issuer, await discoveryRequest(issuer, { ...OPTIONS, algorithm: 'oauth2' }));
  const rotated = await reachable.server.admin<{ client_secret: string }>(
    'mutation ($params: ClientRequest!) { _rotate_client_secret(params: $params) { client_secret } }',
    { id: reachable.idOf('edge-worker') },
  );
  secret = rotated.client_secret;
});
afterAll(() => reachable.server.close());

async function request(
  grantType: string,
  parameters: Readonly<Record<string, string>>,
  authentication: ClientAuth,
  clientId = 'edge-worker',
): Promise<TokenEndpointResponse> {
  const client = { client_id: clientId };
  const response = await genericTokenEndpointRequest(as, client, authentication, grantType, { ...parameters }, OPTIONS);
  return processGenericTokenEndpointResponse(as, client, response);
}

/** The library's word for no client authentication sends the client_id; a workload need not know its own. */
const anonymous: ClientAuth = () => {};
const withWorkload: ClientAuth = (_as, _client, body) => {
  body.set('client_assertion_type', ASSERTION_TYPE);
  body.set('client_assertion', reachable.assertion().build());
};

const AUTHENTICATIONS: readonly (readonly [string, () => ClientAuth])[] = [
  ['no client authentication', () => anonymous],
  ['a client_id alone', () => None()],
  ['client_secret_basic', () => ClientSecretBasic(secret)],
  ['client_secret_post', () => ClientSecretPost(secret)],
  ['a workload assertion', () => withWorkload],
];
const GRANTS: readonly (readonly [string, (proof: string) => Readonly<Record<string, string>>, string])[] = [
  [JWT_BEARER, (assertion) => ({ assertion }), 'invalid_grant'],
  [TOKEN_EXCHANGE, (proof) => ({ subject_token: proof, subject_token_type: JWT }), 'invalid_request'],
];

it('finds both grants in the metadata', () => {
  expect(as.grant_types_supported).toEqual(['client_credentials', JWT_BEARER, TOKEN_EXCHANGE]);
});

describe.each(GRANTS)('%s', (grantType, proof, refusal) => {
  it.each(AUTHENTICATIONS)('with %s gives a token that validates as RFC 9068 says', async (_name, authentication) => {
    const parameters = { ...proof(reachable.assertion().build()), scope: 'read', resource: API };
    const token = await request(grantType, parameters, authentication());
    expect(token).toMatchObject({ token_type: 'bearer', expires_in: 900, scope: 'read' });
    expect(token.issued_token_type).toBe(grantType === TOKEN_EXCHANGE ? ACCESS_TOKEN : undefined);
    const call = new Request(API, { headers: { authorization: `Bearer ${token.access_token}` } });
    expect(await validateJwtAccessToken(as, call, API, OPTIONS)).toMatchObject({
      iss: reachable.issuer,
      sub: 'edge-worker',
      client_id: 'edge-worker',
      aud: API,
      scope: 'read',
      workload: { subject: SUBJECT },
    });
  });

  it('takes the assertion of a client that has a key of its own, with and without private_key_jwt', async () => {
    const issuedFor = async (authentication: ClientAuth) => {
      const body = new URLSearchParams();
      await PrivateKeyJwt({ key: clientKey, kid: CLIENT_KID })(as, { client_id: 'with-key' }, body, new Headers());
      return request(grantType, proof(String(body.get('client_assertion'))), authentication, 'with-key');
    };
    for (const authentication of [anonymous, PrivateKeyJwt({ key: clientKey, kid: CLIENT_KID })]) {
      expect(await issuedFor(authentication)).toMatchObject({ token_type: 'bearer', scope: 'read write' });
    }
  });

  it('lets the library read our errors', async () => {
    await expect(request(grantType, proof('a.b.c'), anonymous)).rejects.toMatchObject({ status: 400, error: refusal });
    const otherClient = request(
      grantType,
      proof(reachable.assertion().build()),
      ClientSecretBasic(reachable.secrets['with-secret']),
      'with-secret',
    );
    await expect(otherClient).rejects.toMatchObject({ status: 400, error: refusal });
    const tooMuch = { ...proof(reachable.assertion().build()), scope: 'admin' };
    await expect(request(grantType, tooMuch, anonymous)).rejects.toMatchObject({ error: 'invalid_scope' });
    const elsewhere = { ...proof(reachable.assertion().build()), resource: 'https://evil.example' };
    await expect(request(grantType, elsewhere, anonymous)).rejects.toMatchObject({ error: 'invalid_target' });
  });
});

describe('token exchange', () => {
  it.each([ACCESS_TOKEN, JWT])('issues what is asked for as %s, for an API by its name', async (requested) => {
    const parameters = {
      subject_token: reachable.assertion().build(),
      subject_token_type: ACCESS_TOKEN,
      requested_token_type: requested,
      audience: 'api',
    };
    const token = await request(TOKEN_EXCHANGE, parameters, anonymous);
    expect(token).toMatchObject({ issued_token_type: requested, token_type: 'bearer' });
    const call = new Request(API, { headers: { authorization: `Bearer ${token.access_token}` } });
    expect(await validateJwtAccessToken(as, call, API, OPTIONS)).toMatchObject({ aud: API });
  });
});
