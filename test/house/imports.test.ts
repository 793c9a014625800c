import { describe, expect, it } from 'vitest';
import { type SourceFile, sourceFiles } from './source-files.ts';

const FILES = sourceFiles('src');

/** Arrows go one way: a room may import from itself and from these. `types` are allowed as much as code is. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  assertion: ['result'],
  kubernetes: ['assertion', 'clock', 'result'],
  issuance: ['assertion', 'clock', 'result'],
  observe: [],
  'key-source': ['assertion', 'clock', 'result'],
  registry: ['assertion', 'issuance', 'kubernetes', 'observe', 'clock', 'result'],
  'declarative-file': ['assertion', 'registry', 'result'],
  storage: ['assertion', 'issuance', 'registry', 'observe', 'clock', 'result'],
  oauth: ['assertion', 'issuance', 'observe', 'clock', 'result'],
  admin: ['assertion', 'issuance', 'registry', 'key-source', 'observe', 'clock', 'result'],
  client: ['clock', 'result'],
  resource: ['assertion', 'issuance', 'client', 'clock', 'result'],
  worker: ['client', 'resource', 'clock', 'result'],
  clock: [],
  result: [],
  'secret-file': [],
  config: ['declarative-file', 'observe', 'result', 'setting-values'],
  'setting-values': ['observe'],
  'worker-config': ['config', 'result', 'setting-values'],
  manifests: ['setting-values', 'result'],
  app: [
    'assertion',
    'kubernetes',
    'issuance',
    'observe',
    'key-source',
    'registry',
    'declarative-file',
    'storage',
    'oauth',
    'admin',
    'clock',
    'config',
    'setting-values',
    'result',
    'secret-file',
  ],
  'command-line': [
    'app',
    'assertion',
    'issuance',
    'registry',
    'key-source',
    'storage',
    'observe',
    'worker',
    'manifests',
    'clock',
    'config',
    'worker-config',
    'result',
    'secret-file',
  ],
  main: ['command-line'],
};

/** Libraries that one room alone may know. */
const HOME_OF: Readonly<Record<string, readonly string[]>> = {
  express: ['oauth', 'resource', 'worker'],
  'oidc-provider': ['oauth'],
  'drizzle-orm': ['storage'],
  'better-sqlite3': ['storage'],
  'graphql-yoga': ['admin'],
  '@graphql-yoga/render-graphiql': ['admin'],
  graphql: ['admin'],
  'js-yaml': ['declarative-file', 'kubernetes'],
  pino: ['observe'],
  'prom-client': ['observe'],
  commander: ['main', 'command-line'],
  oauth4webapi: ['client'],
};

/** A room is a folder of src, or a file beside them. */
function roomOf(path: string): string {
  const [, first = ''] = path.split('/');
  return first.replace(/\.ts$/, '');
}

const edges = FILES.flatMap((file) => file.imports.map((target) => ({ from: file.path, to: target })));

describe('imports', () => {
  it('go only from a room to those below it', () => {
    const wrong = edges.filter(({ from, to }) => {
      const [source, target] = [roomOf(from), roomOf(to)];
      return source !== target && !(MAY_IMPORT[source] ?? []).includes(target);
    });
    expect(wrong).toEqual([]);
  });

  it('have no cycles, type imports included', () => {
    const targets = new Map(FILES.map((file) => [file.path, file.imports]));
    const done = new Set<string>();
    const cycles: string[] = [];
    const visit = (path: string, trail: readonly string[]) => {
      if (trail.includes(path)) cycles.push([...trail.slice(trail.indexOf(path)), path].join(' → '));
      if (trail.includes(path) || done.has(path)) return;
      for (const target of targets.get(path) ?? []) visit(target, [...trail, path]);
      done.add(path);
    };
    for (const { path } of FILES) visit(path, []);
    expect(cycles).toEqual([]);
  });

  it('name files that exist', () => {
    const paths = new Set(FILES.map(({ path }) => path));
    expect(edges.filter(({ to }) => !paths.has(to))).toEqual([]);
  });

  it.each(Object.entries(HOME_OF))('%s is known in %j alone', (library, rooms) => {
    const users = FILES.filter(({ packages }) =>
      packages.some((name) => name === library || name.startsWith(`${library}/`)),
    );
    expect(users.map(({ path }) => path).filter((path) => !rooms.includes(roomOf(path)))).toEqual([]);
  });

  it('every room is on the plan', () => {
    expect([...new Set(FILES.map(({ path }) => roomOf(path)))].filter((room) => !(room in MAY_IMPORT))).toEqual([]);
  });
});

/** What only one file may do. Client, resource and worker run in other people's processes and have their own. */
const inServer = (file: SourceFile) => !['client', 'resource', 'worker'].includes(roomOf(file.path));
const filesWith = (pattern: RegExp) => FILES.filter(({ text }) => pattern.test(text)).map(({ path }) => path);

describe('only one file', () => {
  it('reads the environment', () => {
    expect(filesWith(/process\.env\b/)).toEqual(['src/config.ts']);
  });

  it('tells the time', () => {
    const clocks = FILES.filter(inServer).filter(({ text }) =>
      /Date\.now\(|new Date\(\)|performance\.now\(/.test(text),
    );
    expect(clocks.map(({ path }) => path)).toEqual(['src/clock.ts']);
  });

  it('opens outbound connections', () => {
    const outbound = FILES.filter(inServer).filter(
      ({ text, packages }) =>
        packages.includes('node:https') || packages.includes('undici') || /(?<![\w.])fetch\(/.test(text),
    );
    expect(outbound.map(({ path }) => path)).toEqual(['src/key-source/outbound-fetch.ts']);
  });

  it('writes OAuth error bodies', () => {
    expect(filesWith(/error_description:/).filter((path) => path.startsWith('src/oauth/'))).toEqual([
      'src/oauth/send-error.ts',
    ]);
  });
});

describe('files', () => {
  it('have no drawers without a subject', () => {
    expect(FILES.filter(({ path }) => /(^|\/)(utils?|helpers?|common|misc|types|index)(\/|\.ts$)/.test(path))).toEqual(
      [],
    );
  });

  it('are small enough to read at once', () => {
    expect(FILES.filter(({ text }) => text.split('\n').length > 300).map(({ path }) => path)).toEqual([]);
  });

  it('open by saying what they own', () => {
    expect(FILES.filter(({ text }) => !/^(#!.*\n)?\/\*\*/.test(text)).map(({ path }) => path)).toEqual([]);
  });
});
