/**
 * The Express application: which path is answered by what, and what a fault looks like from outside. Knows no rule and
 * no store; `app.ts` hands it finished endpoints.
 */
import express, { type Express, type NextFunction, type Request, type Response } from 'express';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import { temporarilyUnavailable } from './oauth-error.ts';
import { assignRequestId, requestIdOf } from './request-origin.ts';
import { sendOAuthError } from './send-error.ts';

export type Handler = (request: Request, response: Response) => void | Promise<void>;

export type Routes = {
  readonly token: Handler;
  readonly introspect: Handler;
  readonly revoke: Handler;
  readonly metadata: Handler;
  readonly keySet: Handler;
  readonly graphql: Handler;
  /** Resolves when a token could be issued now; rejects with the reason when not. */
  readonly readiness: () => Promise<void>;
  readonly metrics: Metrics;
  readonly log: Log;
  /** Path part of the issuer identifier, where RFC 8414 §3.1 inserts it; empty at the root. */
  readonly issuerPath: string;
};

/** Seconds after which a caller may try again when something of ours is away. */
const RETRY_AFTER_SECONDS = 5;

/** Builds the application. */
export function createHttpApp(routes: Routes): Express {
  const app = express();
  app.disable('x-powered-by');
  app.set('query parser', false);
  app.set('etag', 'strong');
  app.use(assignRequestId);
  const { issuerPath } = routes;
  // Below the issuer's path, and at the root for proxies that take the path off.
  const bases = [...new Set(['', issuerPath])];
  for (const base of bases) {
    for (const [path, handler] of [
      ['/oauth/token', routes.token],
      ['/oauth/introspect', routes.introspect],
      ['/oauth/revoke', routes.revoke],
    ] as const) {
      app.route(`${base}${path}`).post(handler).all(onlyMethods('POST'));
    }
    app.route(`${base}/.well-known/jwks.json`).get(routes.keySet).all(onlyMethods('GET, HEAD'));
    app.all(`${base}/graphql`, routes.graphql);
  }
  for (const path of metadataPaths(issuerPath)) app.route(path).get(routes.metadata).all(onlyMethods('GET, HEAD'));
  app.route('/healthz').get(alive).all(onlyMethods('GET, HEAD'));
  app.route('/readyz').get(ready(routes)).all(onlyMethods('GET, HEAD'));
  app.route('/metrics').get(expose(routes.metrics)).all(onlyMethods('GET, HEAD'));
  app.use(notFound);
  app.use(answerFault(routes));
  return app;
}

/** RFC 8414 §3.1 inserts the well-known part before the issuer's path; OpenID Connect Discovery §4 appends it. */
function metadataPaths(issuerPath: string): readonly string[] {
  const names = ['oauth-authorization-server', 'openid-configuration'];
  return [
    ...new Set(names.flatMap((name) => [`/.well-known/${name}${issuerPath}`, `${issuerPath}/.well-known/${name}`])),
  ];
}

function onlyMethods(allow: string): Handler {
  return (_request, response) =>
    sendOAuthError(response, { status: 405, error: 'invalid_request', description: 'method not allowed', allow });
}

/** Liveness asks nothing of the database: a restart would not bring it back. */
function alive(_request: Request, response: Response): void {
  response.setHeader('Cache-Control', 'no-store');
  response.json({ status: 'ok' });
}

function ready({ readiness, log }: Routes): Handler {
  return async (_request, response) => {
    response.setHeader('Cache-Control', 'no-store');
    try {
      await readiness();
      response.json({ status: 'ready' });
    } catch (error) {
      log.warn({ request_id: requestIdOf(response), error }, 'not ready');
      response.status(503).json({ status: 'not ready' });
    }
  };
}

function expose(metrics: Metrics): Handler {
  return async (_request, response) => {
    const { text, contentType } = await metrics.expose();
    response.setHeader('Cache-Control', 'no-store');
    response.setHeader('Content-Type', contentType);
    response.end(text);
  };
}

function notFound(_request: Request, response: Response): void {
  response.setHeader('Cache-Control', 'no-store');
  response.status(404).json({ error: 'not_found' });
}

/** A fault is ours: nobody's credentials are called bad for it, and nobody outside learns what it was. */
function answerFault({ log, metrics }: Routes) {
  // Express knows an error handler by its four parameters.
  return (error: unknown, request: Request, response: Response, next: NextFunction): void => {
    const fields = { request_id: requestIdOf(response), path: request.path, error };
    if (request.destroyed && !request.complete) {
      log.debug(fields, 'the caller went away');
      return;
    }
    log.error(fields, 'fault');
    metrics.faulted();
    if (response.headersSent) {
      next(error);
      return;
    }
    sendOAuthError(response, temporarilyUnavailable(RETRY_AFTER_SECONDS));
  };
}
