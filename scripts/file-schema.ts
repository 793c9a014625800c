/** `npm run schema:generate`: writes the JSON Schema of the declarative file, which a test compares with the code. */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { declarativeFileSchema } from '../src/declarative-file/file-schema.ts';

const target = fileURLToPath(new URL('../declarative-file.schema.json', import.meta.url));
writeFileSync(target, `${JSON.stringify(declarativeFileSchema(), null, 2)}\n`);
