/**
 * A replica in a process of its own: on each line of hexadecimal key bytes it claims that key argv[3] times at once and
 * prints the request ids of the first claims that it was told of, null where its own was the first.
 */
import { createInterface } from 'node:readline';
import { openDatabase } from '../../src/storage/database.ts';
import { openStores } from '../../src/storage/open-stores.ts';
import { NOW } from '../fixtures/settable-clock.ts';

const [, , url = '', times = '1', name = 'child'] = process.argv;
const database = await openDatabase({ url });
const stores = openStores({ database, keyEncryptionKey: Buffer.alloc(32), clock: () => NOW });
process.stdout.write('ready\n');
for await (const line of createInterface({ input: process.stdin })) {
  const claims = Array.from({ length: Number(times) }, (_, index) =>
    stores.replayStore.claim({
      key: Buffer.from(line, 'hex'),
      expiresAt: NOW + 3660,
      claimedAt: NOW,
      requestId: `${name}-${index}`,
    }),
  );
  const answers = await Promise.all(claims);
  process.stdout.write(`${JSON.stringify(answers.map((first) => first?.requestId ?? null))}\n`);
}
await stores.close();
