/**
 * Client secrets: made here, shown once, kept only as a salted hash. Knows no HTTP and no storage; the registry makes
 * them, client authentication checks them.
 */
import { createHash, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto';
import type { ClientSecret } from './client.ts';

/** How many secrets of one client may be valid at once: the current one and the one it replaces. */
export const MAX_CLIENT_SECRETS = 2;
/** How long the replaced secret stays valid, in seconds: a day in which every user of it can be changed over. */
export const SECRET_OVERLAP_SECONDS = 24 * 3600;

/** 256 random bits need no slow hash: nobody guesses them, and a slow one would be a lever for denial of service. */
const SECRET_BYTES = 32;
const SALT_BYTES = 16;

type HashedSecret = Pick<ClientSecret, 'salt' | 'hash'>;

/** Hashes that no secret has. They keep the work the same for clients with two, one and no secrets. */
const DUMMIES: readonly HashedSecret[] = Array.from({ length: MAX_CLIENT_SECRETS }, () => ({
  salt: randomBytes(SALT_BYTES),
  hash: randomBytes(32),
}));

/** Makes a secret: the text for the admin's eyes, and what is stored of it. `now` in seconds. */
export function newClientSecret(
  clientRowId: string,
  now: number,
): { readonly secret: string; readonly stored: ClientSecret } {
  const secret = randomBytes(SECRET_BYTES).toString('base64url');
  const salt = randomBytes(SALT_BYTES);
  return {
    secret,
    stored: { id: randomUUID(), clientRowId, salt, hash: hashOf(salt, secret), createdAt: now, expiresAt: null },
  };
}

/**
 * The secrets after `next` has been added: the newest of those still valid at `now` stays for the overlap (or its own
 * shorter rest), older ones go at once. So rotating twice ends a leaked secret immediately.
 */
export function rotatedSecrets(
  secrets: readonly ClientSecret[],
  next: ClientSecret,
  now: number,
): readonly ClientSecret[] {
  const [newest] = secrets
    .filter((secret) => isLive(secret, now))
    .toSorted((a, b) => Number(b.expiresAt === null) - Number(a.expiresAt === null) || b.createdAt - a.createdAt);
  if (newest === undefined) return [next];
  const end = now + SECRET_OVERLAP_SECONDS;
  return [{ ...newest, expiresAt: Math.min(newest.expiresAt ?? end, end) }, next];
}

/**
 * Whether `presented` is one of the client's secrets that are valid at `now`. The same amount of work whatever the
 * client has, and no comparison stops early: timing tells neither the secret nor whether there is one.
 */
export function isClientSecretValid(presented: string, secrets: readonly ClientSecret[], now: number): boolean {
  const live: readonly HashedSecret[] = secrets.filter((secret) => isLive(secret, now));
  let valid = false;
  for (const { salt, hash } of [...live, ...DUMMIES].slice(0, MAX_CLIENT_SECRETS)) {
    const computed = hashOf(salt, presented);
    const matches = computed.length === hash.length && timingSafeEqual(computed, hash);
    valid = matches || valid;
  }
  return valid;
}

function isLive(secret: ClientSecret, now: number): boolean {
  return secret.expiresAt === null || now < secret.expiresAt;
}

function hashOf(salt: Uint8Array, secret: string): Uint8Array {
  return createHash('sha256').update(salt).update(secret, 'utf8').digest();
}
