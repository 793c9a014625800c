/** `countersign migrate` and `countersign check`: a look at what `serve` would open, with and without changing it. */
import { inspectDeclaration } from '../app/declaration-inspection.ts';
import { type DatabaseInspection, inspectDatabase, openAppStores } from '../app/stores.ts';
import { systemClock } from '../clock.ts';
import type { Config } from '../config.ts';

/** Applies what is missing. A sentence for the terminal. */
export async function migrateDatabase(config: Config): Promise<string> {
  await using stores = await openAppStores(config, systemClock);
  await stores.ping();
  return `${config.databaseUrl} is up to date`;
}

/** Checks that a server with this configuration would start; makes and changes nothing. Lines for the terminal. */
export async function checkConfiguration(config: Config): Promise<readonly string[]> {
  const database = await inspectDatabase(config, systemClock);
  const declaration = await inspectDeclaration(config, systemClock, database);
  return [
    `issuer      ${config.issuer}`,
    `listen      ${config.listen.host}:${config.listen.port}`,
    `database    ${config.databaseUrl}, ${describeDatabase(database)}`,
    `admin API   ${config.adminSecret === null ? 'off: set COUNTERSIGN_ADMIN_SECRET_FILE to turn it on' : 'on'}`,
    ...declaration,
    'the configuration is good',
  ];
}

function describeDatabase(database: DatabaseInspection): string {
  if (database.state === 'absent') return 'not there yet: the first start makes it';
  const { length } = database.pendingMigrations;
  return length === 0 ? 'up to date' : `${length} migrations pending: the next start applies them`;
}
