/**
 * The sample protected API: `GET /hello` for holders of an access token, or of a token that the API minted itself, and
 * `GET /healthz` for the kubelet. It shows how an Express application uses `src/resource`, and knows nothing else of the
 * server.
 */
import express, { type Express } from 'express';
import {
  type AccessTokenVerifier,
  type OpaqueTokenPrincipal,
  type RequireBearerTokenOptions,
  requireBearerToken,
} from '../resource/bearer-middleware.ts';

export type HelloAppOptions = RequireBearerTokenOptions<OpaqueTokenPrincipal> & {
  readonly verifier: AccessTokenVerifier;
};

/**
 * The application, not yet listening. `/hello` answers `{ hello: client_id, workload }`, the latter as in the token, and
 * `{ hello: null, workload: null }` to the holder of a token of its own.
 */
export function createHelloApp(options: HelloAppOptions): Express {
  const app = express();
  app.disable('x-powered-by');
  app.get('/healthz', (_request, response) => {
    response.type('text/plain').send('ok\n');
  });
  const guard = requireBearerToken(options);
  app.get('/hello', guard, (request, response) => {
    const bearer = guard.bearerOf(request);
    const [hello, workload] =
      bearer.kind === 'access_token' ? [bearer.token.clientId, bearer.token.claims.workload ?? null] : [null, null];
    response.set('Cache-Control', 'no-store').json({ hello, workload });
  });
  return app;
}
