/** `countersign keys list|rotate`: our signing keys, straight in the database; running servers follow within seconds. */
import { randomUUID } from 'node:crypto';
import { openAppStores } from '../app/stores.ts';
import { systemClock } from '../clock.ts';
import type { Config } from '../config.ts';
import type { AccessTokenSigningAlg } from '../issuance/client.ts';
import { type SigningKey, signingKeyState } from '../issuance/signing-key.ts';
import { SigningKeyRing } from '../issuance/signing-key-ring.ts';

/** A line for every key that is still published. */
export async function listSigningKeys(config: Config): Promise<readonly string[]> {
  await using stores = await openAppStores(config, systemClock);
  const ring = await SigningKeyRing.open(stores.signingKeys, systemClock);
  return (await ring.published()).map(describeKey);
}

/** Rotates one algorithm's key, and describes the new one. */
export async function rotateSigningKey(
  config: Config,
  alg: AccessTokenSigningAlg,
  compromised: boolean,
): Promise<readonly string[]> {
  await using stores = await openAppStores(config, systemClock);
  const ring = await SigningKeyRing.open(stores.signingKeys, systemClock);
  const key = await ring.rotate(alg, compromised);
  await stores.auditLog.append({
    createdAt: systemClock(),
    requestId: randomUUID(),
    action: 'signing_key.rotated',
    outcome: 'changed',
    reason: null,
    actorType: 'system',
    actorId: 'command line',
    resourceType: 'signing_key',
    resourceId: key.kid,
    trustedIssuerId: null,
    subject: null,
    clientId: null,
    ipAddress: null,
    userAgent: null,
    evidence: { alg, compromised, active_from: key.activeFrom },
  });
  return [describeKey(key)];
}

function describeKey(key: SigningKey): string {
  const from = new Date(key.activeFrom * 1000).toISOString();
  return `${key.kid}  ${key.alg}  ${signingKeyState(key, systemClock()).padEnd(7)}  signs from ${from}`;
}
