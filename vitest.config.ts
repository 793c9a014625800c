import { defineConfig } from 'vitest/config';

export default defineConfig({
  // graphql ships a second build behind the "development" condition. Node never asks for it; with it here, the schema
  // would be made by one build and executed by another.
  ssr: { resolve: { conditions: ['node', 'module-sync', 'default'], externalConditions: ['node', 'module-sync'] } },
  test: {
    include: ['test/**/*.test.ts'],
    // Many tests wait for sockets, files and processes: more workers than the two cores that they must do with.
    maxWorkers: 3,
    testTimeout: 20_000,
    hookTimeout: 30_000,
  },
});
