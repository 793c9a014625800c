/** `countersign serve`: the server, from start to a drained end. */
import { join } from 'node:path';
import { type AppOptions, createApp } from '../app/app.ts';
import { listen } from '../app/listener.ts';
import { dataFolder, keyEncryptionKeyFile } from '../app/stores.ts';
import type { Config } from '../config.ts';
import { createLog, type Log } from '../observe/log.ts';
import { readOrMakeSecretFile } from '../secret-file.ts';
import { CommandFailure } from './command-failure.ts';
import { configOf } from './settings.ts';
import { leavePrimary, serveInWorkers, workerRole } from './worker-processes.ts';

/** The command: reads its configuration, serves in one process or several, and ends on SIGTERM or SIGINT. */
export async function runServer(options: Readonly<Record<string, unknown>>): Promise<void> {
  const base = configOf(options);
  const log = createLog(base.logLevel);
  const config = options.createAdminSecret === true ? await withAdminSecret(base, log) : base;
  const stop = new AbortController();
  // Not once: a terminal signals the whole group, and the primary its workers again. The second must not kill.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stop.abort());
  if (config.workers > 1 && workerRole() === 'primary') return serveInWorkers(config, log, stop.signal);
  await serve(config, log, stop.signal, { keepsDeclaration: workerRole() === 'primary' });
  leavePrimary();
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
export async function serve(
  config: Config,
  log: Log,
  signal: AbortSignal,
  options: Pick<AppOptions, 'keepsDeclaration'> = {},
): Promise<void> {
  const app = await createApp(config, { ...options, log });
  const reload = () => void app.reloadDeclaration();
  process.on('SIGHUP', reload);
  try {
    const listener = await listen(app.handler, config.listen).catch((error: NodeJS.ErrnoException) => {
      const { host, port } = config.listen;
      const mend = 'set COUNTERSIGN_LISTEN to an address and port that are free on this machine';
      throw new CommandFailure(`COUNTERSIGN_LISTEN ${host}:${port} can not be used (${error.code}): ${mend}`);
    });
    log.info(
      {
        issuer: config.issuer,
        listen: listener.address,
        database_url: config.databaseUrl,
        key_file: keyEncryptionKeyFile(config),
        admin_api: config.adminSecret !== null,
      },
      'serving',
    );
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    log.info({}, 'draining');
    await listener.drain();
  } finally {
    process.off('SIGHUP', reload);
    await app.close();
  }
  log.info({}, 'stopped');
}
