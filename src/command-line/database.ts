/** `countersign migrate` and `countersign check`: both open everything that `serve` opens, and exit. */
import { openAppStores } from '../app/stores.ts';
import { systemClock } from '../clock.ts';
import type { Config } from '../config.ts';
import { SigningKeyRing } from '../issuance/signing-key-ring.ts';

/** Applies what is missing. A sentence for the terminal. */
export async function migrateDatabase(config: Config): Promise<string> {
  await using stores = await openAppStores(config, systemClock);
  await stores.ping();
  return `${config.databaseUrl} is up to date`;
}

/** Checks that a server with this configuration would start. Lines for the terminal. */
export async function checkConfiguration(config: Config): Promise<readonly string[]> {
  await using stores = await openAppStores(config, systemClock);
  await stores.ping();
  const ring = await SigningKeyRing.open(stores.signingKeys, systemClock);
  const active = await ring.active();
  return [
    `issuer        ${config.issuer}`,
    `listen        ${config.listen.host}:${config.listen.port}`,
    `database      ${config.databaseUrl}`,
    `admin API     ${config.adminSecret === null ? 'off: set COUNTERSIGN_ADMIN_SECRET_FILE to turn it on' : 'on'}`,
    `signing keys  ${active.map(({ alg, kid }) => `${alg} ${kid}`).join(', ')}`,
    'the configuration is good',
  ];
}
