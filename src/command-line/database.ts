/** `countersign migrate` and `countersign check`: a look at what `serve` would open, with and without changing it. */
import { inspectDatabase, openAppStores } from '../app/stores.ts';
import { systemClock } from '../clock.ts';
import type { Config } from '../config.ts';

/** Applies what is missing. A sentence for the terminal. */
export async function migrateDatabase(config: Config): Promise<string> {
  await using stores = await openAppStores(config, systemClock);
  await stores.ping();
  return `${config.databaseUrl} is up to date`;
}

/** Checks that a server with this configuration would start; migrates nothing. Lines for the terminal. */
export async function checkConfiguration(config: Config): Promise<readonly string[]> {
  const { pendingMigrations } = await inspectDatabase(config);
  const pending = pendingMigrations.length === 0 ? 'up to date' : `${pendingMigrations.length} migrations pending`;
  return [
    `issuer      ${config.issuer}`,
    `listen      ${config.listen.host}:${config.listen.port}`,
    `database    ${config.databaseUrl}, ${pending}`,
    `admin API   ${config.adminSecret === null ? 'off: set COUNTERSIGN_ADMIN_SECRET_FILE to turn it on' : 'on'}`,
    'the configuration is good',
  ];
}
