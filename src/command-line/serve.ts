/** `countersign serve`: the server, from start to a drained end. */
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { type App, createApp } from '../app/app.ts';
import { dataFolder } from '../app/stores.ts';
import type { Config } from '../config.ts';
import { createLog, type Log } from '../observe/log.ts';
import { readOrMakeSecretFile } from '../secret-file.ts';
import { configOf } from './settings.ts';
import { serveInWorkers, workerRole } from './worker-processes.ts';

/** In-flight requests have this long after SIGTERM; Kubernetes kills after 30 s, our promise is 10. */
const DRAIN_DEADLINE_MS = 8_000;
/** A client that has not sent its headers by then is not going to; slow senders must not hold connections. */
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 20_000;
/** Longer than the idle timeout of common load balancers, so that they close first. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000;

/** The command: reads its configuration, serves in one process or several, and ends on SIGTERM or SIGINT. */
export async function runServer(options: Readonly<Record<string, unknown>>): Promise<void> {
  const base = configOf(options);
  const log = createLog(base.logLevel);
  const config = options.createAdminSecret === true ? await withAdminSecret(base, log) : base;
  const stop = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stop.abort());
  if (config.workers > 1 && workerRole() === 'primary') return serveInWorkers(config, log, stop.signal);
  return serve(config, log, stop.signal);
}

/** For a first start by hand: an admin secret beside the database, unless one is set. */
async function withAdminSecret(config: Config, log: Log): Promise<Config> {
  const folder = dataFolder(config);
  if (config.adminSecret !== null || folder === null) return config;
  const path = join(folder, 'admin-secret');
  const { text, isNew } = await readOrMakeSecretFile(path);
  if (workerRole() === 'primary') log.info({ admin_secret_file: path, is_new: isNew }, 'admin secret');
  return { ...config, adminSecret: text };
}

/** Serves until `signal` aborts, then drains. Resolves when everything is closed. */
export async function serve(config: Config, log: Log, signal: AbortSignal): Promise<void> {
  const app = await createApp(config, { log });
  try {
    const server = await listen(app, config);
    log.info({ issuer: config.issuer, listen: addressOf(server), admin_api: config.adminSecret !== null }, 'serving');
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    log.info({}, 'draining');
    await drain(server);
  } finally {
    await app.close();
  }
  log.info({}, 'stopped');
}

function listen(app: App, { listen: { host, port } }: Config): Promise<Server> {
  const server = createServer(
    {
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
      connectionsCheckingInterval: 2_000,
    },
    app.handler,
  );
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve(server);
    });
  });
}

function addressOf(server: Server): string {
  const address = server.address();
  return address === null || typeof address === 'string' ? String(address) : `${address.address}:${address.port}`;
}

/** Takes no new connections, lets requests under way end, and cuts what is left at the deadline. */
function drain(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const deadline = setTimeout(() => server.closeAllConnections(), DRAIN_DEADLINE_MS);
    server.close(() => {
      clearTimeout(deadline);
      resolve();
    });
    server.closeIdleConnections();
  });
}
