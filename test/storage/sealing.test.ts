import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { SigningKey } from '../../src/issuance/signing-key.ts';
import { openDatabase } from '../../src/storage/database.ts';
import { seal, unseal } from '../../src/storage/sealing.ts';
import { createSigningKeyStore } from '../../src/storage/signing-key-store.ts';
import { StorageError } from '../../src/storage/storage-error.ts';
import { NOW } from '../fixtures/settable-clock.ts';
import { temporaryFolder } from './temporary-folder.ts';

const folder = temporaryFolder();
const KEY = randomBytes(32);
const SECRET = new Uint8Array(randomBytes(138));
const ENVELOPE = seal(KEY, 'kid-1', SECRET);

/** The envelope with one bit of one byte turned. */
function altered(offset: number): Uint8Array {
  const copy = Uint8Array.from(ENVELOPE);
  copy[offset] = (copy[offset] ?? 0) ^ 1;
  return copy;
}

describe('a sealed private key', () => {
  it('opens with the key and kid that sealed it', () => {
    expect(unseal(KEY, 'kid-1', ENVELOPE)).toEqual(SECRET);
    expect(unseal(KEY, '', seal(KEY, '', new Uint8Array(0)))).toEqual(new Uint8Array(0));
  });

  it('is version 1, a nonce of its own, a tag and as many bytes as it holds', () => {
    expect(ENVELOPE[0]).toBe(1);
    expect(ENVELOPE).toHaveLength(1 + 12 + 16 + SECRET.length);
    expect(seal(KEY, 'kid-1', SECRET).subarray(1, 13)).not.toEqual(ENVELOPE.subarray(1, 13));
    expect(Buffer.from(ENVELOPE).includes(Buffer.from(SECRET.subarray(0, 16)))).toBe(false);
  });

  it.each<[string, Uint8Array, string, Uint8Array]>([
    ['another key', randomBytes(32), 'kid-1', ENVELOPE],
    ['another kid', KEY, 'kid-2', ENVELOPE],
    ['an altered nonce', KEY, 'kid-1', altered(1)],
    ['an altered tag', KEY, 'kid-1', altered(13)],
    ['an altered ciphertext', KEY, 'kid-1', altered(29)],
    ['an altered end', KEY, 'kid-1', altered(ENVELOPE.length - 1)],
    ['a missing end', KEY, 'kid-1', ENVELOPE.subarray(0, -1)],
    ['an end too many', KEY, 'kid-1', Uint8Array.of(...ENVELOPE, 0)],
  ])('does not open with %s, and says what to do about it', (_, key, kid, envelope) => {
    const open = () => unseal(key, kid, envelope);
    expect(open).toThrow(StorageError);
    expect(open).toThrow(`signing key ${kid} cannot be opened: the key in COUNTERSIGN_KEY_FILE is not the one`);
  });

  it.each<[string, Uint8Array]>([
    ['of another version', altered(0)],
    ['that is cut off', ENVELOPE.subarray(0, 20)],
    ['that is empty', new Uint8Array(0)],
  ])('%s is said to be of an unknown form', (_, envelope) => {
    expect(() => unseal(KEY, 'kid-1', envelope)).toThrow('in a form that this version does not know');
  });

  it.each([0, 16, 31, 33])('is not made with a key of %i bytes', (length) => {
    expect(() => seal(randomBytes(length), 'kid-1', SECRET)).toThrow('COUNTERSIGN_KEY_FILE');
    expect(() => unseal(randomBytes(length), 'kid-1', ENVELOPE)).toThrow('it must have 32');
  });
});

describe('the signing key table', () => {
  const signingKey: SigningKey = {
    kid: 'kid-1',
    alg: 'ES256',
    publicJwk: { kty: 'EC' },
    privateKeyDer: SECRET,
    createdAt: NOW,
    activeFrom: NOW,
    activeUntil: null,
    removeAt: null,
  };

  it('holds no private key in clear, in the file or its log', async () => {
    const path = folder.file();
    const database = await openDatabase({ url: `sqlite:${path}` });
    await createSigningKeyStore(database, KEY).insertFirst(signingKey);
    const bytes = Buffer.concat([readFileSync(path), readFileSync(`${path}-wal`)]);
    expect(bytes.includes('kid-1')).toBe(true);
    expect(bytes.includes(Buffer.from(SECRET.subarray(0, 16)))).toBe(false);
    database.close();
  });

  it('names the setting when it is opened with another key file', async () => {
    const database = await openDatabase({ url: 'sqlite::memory:' });
    await createSigningKeyStore(database, KEY).insertFirst(signingKey);
    const withAnother = createSigningKeyStore(database, randomBytes(32));
    await expect(withAnother.list(NOW)).rejects.toThrow('COUNTERSIGN_KEY_FILE');
    database.close();
  });
});
