/**
 * The sample protected API: `GET /hello` for holders of an access token, `GET /healthz` for the kubelet. It shows how
 * an Express application uses `src/resource`, and knows nothing else of the server.
 */
import express, { type Express } from 'express';
import type { AccessTokenVerifier } from '../resource/access-token-verifier.ts';
import { accessTokenOf, type BearerPolicy, requireAccessToken } from '../resource/bearer-middleware.ts';

export type HelloAppOptions = BearerPolicy & { readonly verifier: AccessTokenVerifier };

/** The application, not yet listening. `/hello` answers `{ hello: client_id, workload }`, the latter as in the token. */
export function createHelloApp(options: HelloAppOptions): Express {
  const app = express();
  app.disable('x-powered-by');
  app.get('/healthz', (_request, response) => {
    response.type('text/plain').send('ok\n');
  });
  app.get('/hello', requireAccessToken(options), (request, response) => {
    const { clientId, claims } = accessTokenOf(request);
    response.set('Cache-Control', 'no-store').json({ hello: clientId, workload: claims.workload ?? null });
  });
  return app;
}
