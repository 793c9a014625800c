/**
 * The whole server under the address that its metadata names, on today's time: what a client library meets that knows
 * nothing but the issuer identifier. One client of each kind is registered.
 */
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AssertionBuilder } from '../fixtures/assertions.ts';
import { P256, publicJwk } from '../fixtures/keys.ts';
import { freshAssertion, type RunningServer, startServer } from '../fixtures/running-server.ts';
import { settableClock } from '../fixtures/settable-clock.ts';

/** The protected API that every client may ask for. */
export const API = 'https://api.example.com';
/** `kid` of the key with which the client `with-key` signs for itself. */
export const CLIENT_KID = 'client-key-1';

export type ReachableServer = {
  readonly server: RunningServer;
  readonly issuer: string;
  /** Secrets of the clients `with-secret` and `api`; the latter is the protected API and may introspect. */
  readonly secrets: Readonly<Record<'with-secret' | 'api', string>>;
  /** The row id of a client. */
  readonly idOf: (clientId: string) => string;
  /** An assertion of the workload that is bound to the client `edge-worker`, unused, for our issuer identifier. */
  readonly assertion: () => AssertionBuilder;
};

/** Starts it. The clock stands at today's second, so that libraries which read the machine's clock agree with it. */
export async function startReachableServer(): Promise<ReachableServer> {
  const port = await freePort();
  const issuer = `http://127.0.0.1:${port}`;
  const clock = settableClock(Math.floor(Date.now() / 1000));
  const server = await startServer({ issuer, listen: { host: '127.0.0.1', port } }, clock);
  const shared = { allowed_resources: [API] };
  const { client } = await server.trustCluster({ client: shared });
  const ids = new Map([[client.client_id, client.id]]);
  const create = async (params: Readonly<Record<string, unknown>>) => {
    const created = await server.createClient(params);
    ids.set(created.client.client_id, created.client.id);
    return created.client_secret ?? '';
  };
  const withSecret = await create({ ...shared, client_id: 'with-secret', with_client_secret: true });
  const api = await create({
    client_id: 'api',
    allowed_scopes: [],
    resource_identifiers: [API],
    with_client_secret: true,
  });
  const key = publicJwk(P256, { kid: CLIENT_KID, alg: 'ES256', use: 'sig' });
  await create({ ...shared, client_id: 'with-key', jwks: JSON.stringify({ keys: [key] }) });
  return {
    server,
    issuer,
    secrets: { 'with-secret': withSecret, api },
    idOf: (clientId) => ids.get(clientId) ?? '',
    assertion() {
      const now = clock();
      return freshAssertion().with({ aud: [issuer], iat: now, nbf: now, exp: now + 3600 });
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}
