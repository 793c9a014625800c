/** Opens the database of argv[2] and, when told to, migrates it; prints which migrations this process has applied. */
import { once } from 'node:events';
import { writeSync } from 'node:fs';
import { openDatabase } from '../../src/storage/database.ts';

const [, , url = ''] = process.argv;
const database = await openDatabase({ url, migrate: false });
process.stdout.write('ready\n');
await once(process.stdin, 'data');
writeSync(1, 'migrating\n');
const applied = await database.migrate();
process.stdout.write(`${JSON.stringify({ applied, isMigrated: database.isMigrated() })}\n`);
database.close();
process.stdin.destroy();
