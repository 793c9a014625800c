/**
 * The envelope in which private keys are stored: AES-256-GCM (NIST SP 800-38D) under the key-encryption key. A copy of
 * the database alone signs nothing. The `kid` is authenticated with it, so that no row's key can be put in another's.
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { StorageError } from './storage-error.ts';

export const KEY_ENCRYPTION_KEY_BYTES = 32;

/** First byte of an envelope: version 1 is nonce (12 bytes), tag (16 bytes), ciphertext. */
const VERSION = 1;
const CIPHER = 'aes-256-gcm';
/** SP 800-38D §8.2.2: a random nonce has 96 bits; good for 2^32 envelopes, we make a few a year. */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEADER_BYTES = 1 + NONCE_BYTES + TAG_BYTES;

/** Seals `plaintext` for the row of `kid`. Throws a `StorageError` unless the key has 32 bytes. */
export function seal(keyEncryptionKey: Uint8Array, kid: string, plaintext: Uint8Array): Uint8Array {
  requireKeyLength(keyEncryptionKey);
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, keyEncryptionKey, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(Buffer.from(kid, 'utf8'));
  const ciphertext = Buffer.concat([cipher.update(plaintext), cipher.final()]);
  return new Uint8Array(Buffer.concat([Buffer.of(VERSION), nonce, cipher.getAuthTag(), ciphertext]));
}

/** Opens what `seal` made for the same `kid`. Throws a `StorageError` for another key, another kid or altered bytes. */
export function unseal(keyEncryptionKey: Uint8Array, kid: string, envelope: Uint8Array): Uint8Array {
  requireKeyLength(keyEncryptionKey);
  if (envelope[0] !== VERSION || envelope.length < HEADER_BYTES) {
    throw new StorageError(`signing key ${kid} is stored in a form that this version does not know`);
  }
  const nonce = envelope.subarray(1, 1 + NONCE_BYTES);
  const decipher = createDecipheriv(CIPHER, keyEncryptionKey, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(kid, 'utf8'));
  decipher.setAuthTag(envelope.subarray(1 + NONCE_BYTES, HEADER_BYTES));
  try {
    return new Uint8Array(Buffer.concat([decipher.update(envelope.subarray(HEADER_BYTES)), decipher.final()]));
  } catch (cause) {
    throw new StorageError(
      `signing key ${kid} cannot be opened: the key in COUNTERSIGN_KEY_FILE is not the one that sealed it, ` +
        'or the stored key was altered; restore the key file that belongs to this database',
      { cause },
    );
  }
}

function requireKeyLength(keyEncryptionKey: Uint8Array): void {
  if (keyEncryptionKey.length !== KEY_ENCRYPTION_KEY_BYTES) {
    throw new StorageError(
      `COUNTERSIGN_KEY_FILE: the key has ${keyEncryptionKey.length} bytes, it must have ${KEY_ENCRYPTION_KEY_BYTES}`,
    );
  }
}
