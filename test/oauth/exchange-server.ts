/**
 * The token and introspection endpoints on real HTTP over rows that a test may change between requests: for permissions
 * that two sides give each other, where the rows matter more than how an admin writes them.
 */
import type { DenyListEntry } from '../../src/assertion/deny-list.ts';
import type { TrustedIssuer } from '../../src/assertion/trusted-issuer.ts';
import type { WorkloadBinding } from '../../src/assertion/workload-binding.ts';
import { systemStopwatch } from '../../src/clock.ts';
import type { Client } from '../../src/issuance/client.ts';
import { SigningKeyRing } from '../../src/issuance/signing-key-ring.ts';
import { handleAuthenticated } from '../../src/oauth/authenticated-endpoint.ts';
import { createEngine } from '../../src/oauth/engine.ts';
import { createHttpApp } from '../../src/oauth/http-server.ts';
import { introspectionEndpoint } from '../../src/oauth/introspection-endpoint.ts';
import { tokenEndpoint } from '../../src/oauth/token-endpoint.ts';
import type { AuditEntry } from '../../src/observe/audit-log.ts';
import { createLog } from '../../src/observe/log.ts';
import { createMetrics } from '../../src/observe/metrics.ts';
import { startAppServer } from '../../src/worker/app-server.ts';
import { AUDIENCE } from '../fixtures/assertions.ts';
import { memoryAuditLog } from '../fixtures/memory-audit-log.ts';
import { memoryPorts } from '../fixtures/memory-ports.ts';
import { type SettableClock, settableClock } from '../fixtures/settable-clock.ts';
import { sqliteStores } from '../fixtures/sqlite-stores.ts';

/** The registered rows; a test changes them in place. */
export type ExchangeRows = {
  clients: Client[];
  issuers: TrustedIssuer[];
  bindings: WorkloadBinding[];
  denied: DenyListEntry[];
};

export type ExchangeAnswer = {
  readonly status: number;
  readonly text: string;
  readonly json: Readonly<Record<string, unknown>>;
  /** The record that the request left. */
  readonly audit: AuditEntry;
};

export type ExchangeServer = {
  readonly rows: ExchangeRows;
  readonly clock: SettableClock;
  readonly post: (path: string, fields: Readonly<Record<string, string>>) => Promise<ExchangeAnswer>;
  readonly revoke: (jti: string) => Promise<void>;
  readonly close: () => Promise<void>;
};

/** Starts it. */
export async function startExchangeServer(rows: ExchangeRows): Promise<ExchangeServer> {
  const clock = settableClock();
  const stores = await sqliteStores({}, clock);
  const memory = memoryPorts(rows);
  const clients = {
    ...memory.clients,
    findByClientId: async (clientId: string) => rows.clients.find((client) => client.clientId === clientId) ?? null,
    findSecrets: async () => [],
  };
  const signingKeys = await SigningKeyRing.open(stores.signingKeys, clock);
  const auditLog = memoryAuditLog();
  const log = createLog('silent');
  const metrics = createMetrics();
  const deps = { clock, stopwatch: systemStopwatch, auditLog, metrics, log };
  const authentication = { verification: memory, clients };
  const tokenStatus = { ...memory, clients, revokedTokens: stores.revokedTokens };
  const token = tokenEndpoint(
    { ownIssuer: AUDIENCE, authentication, tokenStatus, signingKeys },
    createEngine(AUDIENCE, signingKeys),
  );
  const introspection = introspectionEndpoint(AUDIENCE, signingKeys, tokenStatus, authentication);
  const unused = () => {
    throw new Error('not asked for in this test');
  };
  const app = await startAppServer(
    createHttpApp({
      token: (request, response) => handleAuthenticated(token, deps, request, response),
      introspect: (request, response) => handleAuthenticated(introspection, deps, request, response),
      revoke: unused,
      metadata: unused,
      keySet: unused,
      graphql: unused,
      readiness: async () => {},
      metrics,
      log,
      issuerPath: '',
    }),
    { host: '127.0.0.1', port: 0 },
  );
  return {
    rows,
    clock,
    async post(path, fields) {
      const response = await fetch(`${app.url}${path}`, { method: 'POST', body: new URLSearchParams(fields) });
      const text = await response.text();
      const requestId = response.headers.get('x-request-id');
      const audit = auditLog.records.find((record) => record.requestId === requestId);
      if (audit === undefined) throw new Error(`no audit record: ${text}`);
      return { status: response.status, text, json: JSON.parse(text), audit };
    },
    revoke: (jti) => stores.revokedTokens.revoke({ jti, expiresAt: clock() + 3600, revokedAt: clock() }),
    async close() {
      await app.close();
      await stores.close();
    },
  };
}
