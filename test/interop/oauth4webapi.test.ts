import {
  type AuthorizationServer,
  allowInsecureRequests,
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  clientCredentialsGrantRequest,
  discoveryRequest,
  introspectionRequest,
  PrivateKeyJwt,
  processClientCredentialsResponse,
  processDiscoveryResponse,
  processIntrospectionResponse,
  processRevocationResponse,
  ResponseBodyError,
  revocationRequest,
  type TokenEndpointResponse,
  validateJwtAccessToken,
} from 'oauth4webapi';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { P256 } from '../fixtures/keys.ts';
import { ASSERTION_TYPE } from '../fixtures/running-server.ts';
import { API, CLIENT_KID, type ReachableServer, startReachableServer } from './reachable-server.ts';

const OPTIONS = { [allowInsecureRequests]: true };

let reachable: ReachableServer;
let as: AuthorizationServer;
let clientKey: CryptoKey;

beforeAll(async () => {
  reachable = await startReachableServer();
  clientKey = await crypto.subtle.importKey('jwk', P256, { name: 'ECDSA', namedCurve: 'P-256' }, false, ['sign']);
  const issuer = new URL(reachable.issuer);
  as = await processDiscoveryResponse(issuer, await discoveryRequest(issuer, { ...OPTIONS, algorithm: 'oauth2' }));
});
afterAll(() => reachable.server.close());

/** What the library has no word for: the platform's assertion, which vouches for the client. */
const withWorkload =
  (assertion: string): ClientAuth =>
  (_as, _client, body) => {
    body.set('client_assertion_type', ASSERTION_TYPE);
    body.set('client_assertion', assertion);
  };

/** Ways to authenticate, by the client that uses them. */
const METHODS: readonly (readonly [string, string, () => ClientAuth])[] = [
  ['a workload assertion', 'edge-worker', () => withWorkload(reachable.assertion().build())],
  ['client_secret_basic', 'with-secret', () => ClientSecretBasic(reachable.secrets['with-secret'])],
  ['client_secret_post', 'with-secret', () => ClientSecretPost(reachable.secrets['with-secret'])],
  ['private_key_jwt', 'with-key', () => PrivateKeyJwt({ key: clientKey, kid: CLIENT_KID })],
];

async function requestToken(
  clientId: string,
  authentication: ClientAuth,
  parameters: Readonly<Record<string, string>> = {},
): Promise<TokenEndpointResponse> {
  const client = { client_id: clientId };
  const response = await clientCredentialsGrantRequest(as, client, authentication, { ...parameters }, OPTIONS);
  return processClientCredentialsResponse(as, client, response);
}

it('finds the server by OpenID Connect discovery as well, with the same words', async () => {
  const issuer = new URL(reachable.issuer);
  const response = await discoveryRequest(issuer, { ...OPTIONS, algorithm: 'oidc' });
  expect(await processDiscoveryResponse(issuer, response)).toEqual(as);
});

describe.each(METHODS)('with %s', (_name, clientId, authentication) => {
  it('gets a token that it validates as RFC 9068 says', async () => {
    const token = await requestToken(clientId, authentication(), { scope: 'read', resource: API });
    expect(token).toMatchObject({ token_type: 'bearer', expires_in: 900, scope: 'read' });
    const request = new Request(API, { headers: { authorization: `Bearer ${token.access_token}` } });
    const claims = await validateJwtAccessToken(as, request, API, OPTIONS);
    expect(claims).toMatchObject({
      iss: reachable.issuer,
      sub: clientId,
      client_id: clientId,
      aud: API,
      scope: 'read',
    });
  });

  it('introspects and revokes its own token', async () => {
    const client = { client_id: clientId };
    const { access_token: token } = await requestToken(clientId, authentication());
    const introspect = async () =>
      processIntrospectionResponse(
        as,
        client,
        await introspectionRequest(as, client, authentication(), token, OPTIONS),
      );
    expect(await introspect()).toMatchObject({ active: true, client_id: clientId, iss: reachable.issuer });
    await processRevocationResponse(await revocationRequest(as, client, authentication(), token, OPTIONS));
    expect(await introspect()).toEqual({ active: false });
  });

  it('reads our errors', async () => {
    const refused = requestToken(clientId, authentication(), { scope: 'admin' });
    await expect(refused).rejects.toThrow(ResponseBodyError);
    await expect(refused).rejects.toMatchObject({ status: 400, error: 'invalid_scope' });
  });
});

it('the protected API introspects a token meant for it', async () => {
  const { access_token: token } = await requestToken('edge-worker', withWorkload(reachable.assertion().build()), {
    resource: API,
  });
  const client = { client_id: 'api' };
  const authentication = ClientSecretBasic(reachable.secrets.api);
  const response = await introspectionRequest(as, client, authentication, token, OPTIONS);
  expect(await processIntrospectionResponse(as, client, response)).toMatchObject({ active: true, aud: API });
});

it('reads the one answer to a bad assertion', async () => {
  const refused = requestToken('edge-worker', withWorkload('a.b.c'));
  await expect(refused).rejects.toMatchObject({ status: 400, error: 'invalid_client' });
});

it('reads the challenge to a bad secret in the header', async () => {
  const refused = requestToken('with-secret', ClientSecretBasic('another secret'));
  await expect(refused).rejects.toMatchObject({
    status: 401,
    cause: [{ scheme: 'basic', parameters: { realm: 'countersign' } }],
  });
});
