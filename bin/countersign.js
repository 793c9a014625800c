#!/usr/bin/env node
// Starts the command line on the runtime it needs; from an installed package that is the built one.
import { existsSync } from 'node:fs';

if (Number(process.versions.node.split('.')[0]) < 24) {
  process.stderr.write(
    `countersign needs Node.js 24, this is ${process.versions.node}: run it through npm, which brings one\n`,
  );
  process.exit(2);
}
const built = new URL('../dist/main.js', import.meta.url);
await import(existsSync(built) ? built.href : '../src/main.ts');
