import {
  allowInsecureRequests,
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  type Configuration,
  clientCredentialsGrant,
  discovery,
  PrivateKeyJwt,
  tokenIntrospection,
  tokenRevocation,
} from 'openid-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { P256 } from '../fixtures/keys.ts';
import { ASSERTION_TYPE } from '../fixtures/running-server.ts';
import { API, CLIENT_KID, type ReachableServer, startReachableServer } from './reachable-server.ts';

let reachable: ReachableServer;
let clientKey: CryptoKey;

beforeAll(async () => {
  reachable = await startReachableServer();
  clientKey = await crypto.subtle.importKey('jwk', P256, { name: 'ECDSA', namedCurve: 'P-256' }, false, ['sign']);
});
afterAll(() => reachable.server.close());

const discover = (clientId: string, authentication: ClientAuth, algorithm: 'oauth2' | 'oidc'): Promise<Configuration> =>
  discovery(new URL(reachable.issuer), clientId, undefined, authentication, {
    algorithm,
    execute: [allowInsecureRequests],
  });

/** The platform's assertion as client authentication, fresh on each request. */
const workload: ClientAuth = (_as, _client, body) => {
  body.set('client_assertion_type', ASSERTION_TYPE);
  body.set('client_assertion', reachable.assertion().build());
};

describe.each<[string, string, () => ClientAuth]>([
  ['a workload assertion', 'edge-worker', () => workload],
  ['client_secret_basic', 'with-secret', () => ClientSecretBasic(reachable.secrets['with-secret'])],
  ['client_secret_post', 'with-secret', () => ClientSecretPost(reachable.secrets['with-secret'])],
  ['private_key_jwt', 'with-key', () => PrivateKeyJwt({ key: clientKey, kid: CLIENT_KID })],
])('with %s', (_name, clientId, authentication) => {
  it.each(['oauth2', 'oidc'] as const)('discovers the server as %s and gets a token', async (algorithm) => {
    const config = await discover(clientId, authentication(), algorithm);
    const token = await clientCredentialsGrant(config, { scope: 'write', resource: API });
    expect(token).toMatchObject({ token_type: 'bearer', expires_in: 900, scope: 'write' });
    expect(token.expiresIn()).toBeGreaterThan(890);
  });

  it('introspects and revokes its own token', async () => {
    const config = await discover(clientId, authentication(), 'oauth2');
    const { access_token: token } = await clientCredentialsGrant(config);
    expect(await tokenIntrospection(config, token)).toMatchObject({ active: true, client_id: clientId });
    await tokenRevocation(config, token);
    expect(await tokenIntrospection(config, token)).toEqual({ active: false });
  });
});
