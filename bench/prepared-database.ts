/**
 * A database as an installation of some size has it, made before the server opens it: the bench client, the cluster
 * that signs the assertions of the load, any number of further issuers, and replay claims that are still unexpired.
 */
import { generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto';
import { DEFAULT_ALGORITHMS } from '../src/assertion/jws-algorithm.ts';
import type { TrustedIssuer } from '../src/assertion/trusted-issuer.ts';
import type { WorkloadBinding } from '../src/assertion/workload-binding.ts';
import { systemClock } from '../src/clock.ts';
import { type Database, openDatabase } from '../src/storage/database.ts';
import { openStores } from '../src/storage/open-stores.ts';
import { CLUSTER_ISSUER } from '../test/fixtures/assertions.ts';
import { BINDING, CLIENT, CLUSTER } from '../test/fixtures/rows.ts';

export type Preparation = {
  /** The server's own issuer identifier: the audience that every issuer expects. */
  readonly ownIssuer: string;
  /** Trusted issuers in all, the cluster of the load included. */
  readonly issuers: number;
  readonly replayRows: number;
};

/** Longer than any run: the purger must not delete claims while the bench measures. */
const CLAIM_LIFETIME_SECONDS = 24 * 3600;

/** Makes the SQLite database `file`, migrated, with everything that `preparation` names. */
export async function prepareDatabase(file: string, preparation: Preparation): Promise<void> {
  const { ownIssuer, issuers, replayRows } = preparation;
  const database = await openDatabase({ url: `sqlite:${file}` });
  // Nobody misses a half-prepared database: no flush for each of the rows.
  database.client.pragma('synchronous = off');
  // Seals nothing here: the server makes its own signing keys.
  const stores = openStores({ database, keyEncryptionKey: randomBytes(32), clock: systemClock });
  try {
    const { registryStore } = stores;
    const now = systemClock();
    const age = { createdAt: now, updatedAt: now };
    await registryStore.insertClient({ ...CLIENT, ...age, clientId: 'bench' }, []);
    const cluster = {
      ...CLUSTER,
      ...age,
      keySourceUpdatedAt: now,
      issuerUrl: CLUSTER_ISSUER,
      expectedAud: [ownIssuer],
    };
    await registryStore.insertTrustedIssuer(cluster, [{ ...BINDING, ...age }]);
    for (let number = 1; number < issuers; number += 1) {
      const issuer = furtherIssuer(cluster, number);
      await registryStore.insertTrustedIssuer(issuer, [furtherBinding(issuer)]);
    }
    insertReplayClaims(database, replayRows, now);
  } finally {
    await stores.close();
  }
}

/** With a key of its own: one key in two issuers' sets would close both. */
function furtherIssuer(cluster: TrustedIssuer, number: number): TrustedIssuer {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid: `key-${number}`, alg: 'ES256', use: 'sig' };
  return {
    ...cluster,
    id: randomUUID(),
    name: `issuer ${number}`,
    issuerUrl: `https://issuer-${number}.example.com`,
    issuerType: 'oidc',
    algorithms: DEFAULT_ALGORITHMS,
    jwks: JSON.stringify({ keys: [jwk] }),
  };
}

function furtherBinding(issuer: TrustedIssuer): WorkloadBinding {
  return { ...BINDING, id: randomUUID(), trustedIssuerId: issuer.id, subject: `workload of ${issuer.name}` };
}

function insertReplayClaims({ client }: Database, rows: number, now: number): void {
  const insert = client.prepare(
    'insert into replay_claims (key, expires_at, claimed_at, request_id) values (?, ?, ?, ?)',
  );
  client.transaction(() => {
    for (let row = 0; row < rows; row += 1) {
      insert.run(randomBytes(32), now + CLAIM_LIFETIME_SECONDS + (row % 3600), now, randomUUID());
    }
  })();
}
