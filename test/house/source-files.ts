/** The source tree as the house tests see it: every file with its text and the files it imports, types included. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

export type SourceFile = {
  /** Path below the root, with forward slashes. */
  readonly path: string;
  readonly text: string;
  /** Paths below the root. */
  readonly imports: readonly string[];
  /** Packages and node: modules. */
  readonly packages: readonly string[];
};

const IMPORT =
  /(?:^|\n)\s*(?:import|export)\b[^'";]*?from\s+'([^']+)'|(?:^|\n)\s*import\s+'([^']+)'|\bimport\('([^']+)'\)/g;

/** All TypeScript files of a folder. */
export function sourceFiles(folder: string): readonly SourceFile[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => readSource(join(folder, name)));
}

function readSource(path: string): SourceFile {
  const text = readFileSync(join(ROOT, path), 'utf8');
  const specifiers = [...text.matchAll(IMPORT)].map(([, from, bare, dynamic]) => from ?? bare ?? dynamic ?? '');
  const isRelative = (specifier: string) => specifier.startsWith('.');
  return {
    path: path.replaceAll('\\', '/'),
    text,
    imports: specifiers.filter(isRelative).map((specifier) => relative(ROOT, join(ROOT, dirname(path), specifier))),
    packages: specifiers.filter((specifier) => !isRelative(specifier)),
  };
}
