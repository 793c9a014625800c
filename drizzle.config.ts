/** For `drizzle-kit generate`: `migrations/` follows from the schema. Applying them is `src/storage/migrations.ts`. */
import { defineConfig } from 'drizzle-kit';

export default defineConfig({
  dialect: 'sqlite',
  schema: './src/storage/schema.ts',
  out: './migrations',
});
