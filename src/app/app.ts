/** The composition root: builds every part of the server from its configuration. The only room that knows them all. */
import type { RequestListener } from 'node:http';
import { createAdminHandler } from '../admin/graphql-server.ts';
import { explainAssertion } from '../assertion/explain-assertion.ts';
import { type Clock, type Stopwatch, systemClock, systemStopwatch } from '../clock.ts';
import type { Config } from '../config.ts';
import { SigningKeyRing } from '../issuance/signing-key-ring.ts';
import type { AuthenticationPorts } from '../oauth/authenticate-client.ts';
import { handleAuthenticated } from '../oauth/authenticated-endpoint.ts';
import type { EndpointDeps } from '../oauth/endpoint-deps.ts';
import { createEngine } from '../oauth/engine.ts';
import { createHttpApp } from '../oauth/http-server.ts';
import { introspectionEndpoint } from '../oauth/introspection-endpoint.ts';
import { keySetDocument, metadataDocument } from '../oauth/public-documents.ts';
import { revocationEndpoint } from '../oauth/revocation-endpoint.ts';
import { tokenEndpoint } from '../oauth/token-endpoint.ts';
import type { Log } from '../observe/log.ts';
import { createMetrics } from '../observe/metrics.ts';
import { createRegistry } from '../registry/registry.ts';
import { isLoopbackHost } from '../setting-values.ts';
import { keepDeclaration } from './declaration-keeper.ts';
import { openAppStores } from './stores.ts';
import { createVerification } from './verification.ts';

export type App = {
  readonly handler: RequestListener;
  /** Reads the declarative file again now; does nothing where this process keeps none. */
  reloadDeclaration(): Promise<void>;
  /** Waits for writes under way and closes the database. For after the last request. */
  close(): Promise<void>;
};

export type AppOptions = {
  readonly log: Log;
  readonly clock?: Clock;
  readonly stopwatch?: Stopwatch;
  /** False in a worker process, whose primary keeps the declarative file in force for all. */
  readonly keepsDeclaration?: boolean;
  /** False where keys are fetched only when a request needs them: for tests that count what one request causes. */
  readonly fetchesKeysAhead?: boolean;
};

/**
 * Builds the server's application: database open and migrated, signing keys there, the declarative file in force,
 * nothing listening yet.
 */
export async function createApp(config: Config, options: AppOptions): Promise<App> {
  const { log, clock = systemClock, stopwatch = systemStopwatch } = options;
  const { keepsDeclaration = true, fetchesKeysAhead = true } = options;
  const metrics = createMetrics();
  const stores = await openAppStores(config, clock);
  const verification = createVerification(config, stores, clock, { log, metrics });
  const signingKeys = await SigningKeyRing.open(stores.signingKeys, clock);
  const { issuer } = config;

  const deps: EndpointDeps = {
    clock,
    stopwatch,
    auditLog: stores.auditLog,
    metrics,
    log,
  };
  const authentication: AuthenticationPorts = { verification: verification.ports, clients: stores.clients };
  const token = tokenEndpoint(
    { ownIssuer: issuer, authentication, tokenStatus: stores, signingKeys },
    createEngine(issuer, signingKeys),
  );
  const introspect = introspectionEndpoint(issuer, signingKeys, stores, authentication);
  const revoke = revocationEndpoint(issuer, signingKeys, stores.revokedTokens, authentication);
  const registry = createRegistry({
    store: stores.registryStore,
    auditLog: stores.auditLog,
    clock,
    ownIssuer: issuer,
    async keySourceProbe(trustedIssuer) {
      const { discoveredIssuer, failure, keys } = await verification.issuerKeys.check(trustedIssuer);
      const sharedWith = await verification.issuerKeys.otherHolders(trustedIssuer.id, keys);
      return {
        discoveredIssuer,
        problem: failure?.detail ?? null,
        sharedWith: sharedWith.map(({ id, name }) => `${JSON.stringify(name)} (${id})`),
      };
    },
  });
  const keeper = keepsDeclaration
    ? await keepDeclaration(config, {
        registry,
        clock,
        log,
        onRead: (outcome) => metrics.declarationRead(outcome, clock()),
      })
    : null;
  const graphql = createAdminHandler({
    adminSecret: config.adminSecret,
    registry,
    auditLog: stores.auditLog,
    clock,
    log,
    graphiql: isLoopbackHost(config.listen.host) && isLoopbackHost(new URL(issuer).hostname),
    explainAssertion: (assertion, requestId) =>
      explainAssertion(verification.ports, { assertion, clientId: null, requestId, now: clock() }),
    checkTrustedIssuer: (trustedIssuer) => verification.issuerKeys.check(trustedIssuer),
    keyState: (trustedIssuerId) => verification.issuerKeys.state(trustedIssuerId),
    reviewState: (trustedIssuerId) => verification.onlineReviews.state(trustedIssuerId),
    listSigningKeys: () => signingKeys.published(),
    rotateSigningKey: ({ alg, compromised }) => signingKeys.rotate(alg, compromised),
  });

  const handler = createHttpApp({
    token: (request, response) => handleAuthenticated(token, deps, request, response),
    introspect: (request, response) => handleAuthenticated(introspect, deps, request, response),
    revoke: (request, response) => handleAuthenticated(revoke, deps, request, response),
    metadata: metadataDocument(issuer),
    keySet: keySetDocument(signingKeys),
    graphql,
    readiness: () => stores.ping(),
    metrics,
    log,
    issuerPath: new URL(issuer).pathname.replace(/\/$/, ''),
  });
  if (fetchesKeysAhead) verification.issuerKeys.start();
  const stopPurging = stores.startPurging(
    (rows) => metrics.replayPurged(rows),
    (error) => log.error({ error }, 'fault'),
  );
  return {
    handler,
    reloadDeclaration: async () => keeper?.reload(),
    async close() {
      await keeper?.[Symbol.asyncDispose]();
      await stopPurging();
      await verification[Symbol.asyncDispose]();
      await stores[Symbol.asyncDispose]();
    },
  };
}
