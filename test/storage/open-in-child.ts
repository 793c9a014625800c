/** Opens and migrates the database of argv[2] in one go; prints whether it is fit for use. */
import { openDatabase } from '../../src/storage/database.ts';

const [, , url = ''] = process.argv;
const database = await openDatabase({ url });
await database.ping();
process.stdout.write(`${database.isMigrated()}\n`);
database.close();
