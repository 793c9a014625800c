/**
 * Everything that a server leaves behind or says when it refuses: log lines, metrics, the database's files and error
 * answers. And the search in all of it for what must not be there.
 */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Answer, RunningServer } from '../fixtures/running-server.ts';

export type Trace = { readonly place: string; readonly bytes: Buffer };

/** What must not be found, by what it is called in a failure. */
export type Secrets = ReadonlyMap<string, string | Buffer>;

/** So much of a longer secret is as bad as all of it: records are cut at some length. */
const TELLING_LENGTH = 64;

/** What is left by now. `folder` has the database's files and nothing else of interest. */
export async function collectTraces(
  server: RunningServer,
  folder: string,
  answers: readonly Answer[],
): Promise<readonly Trace[]> {
  const names = (await readdir(folder)).filter((name) => name.startsWith('countersign.db'));
  const files = names.map(async (name) => ({ place: name, bytes: await readFile(join(folder, name)) }));
  const metrics = await server.send('GET', '/metrics');
  const errors = answers.filter(({ status, json }) => status >= 400 || 'errors' in json);
  return [
    ...(await Promise.all(files)),
    { place: 'the log', bytes: Buffer.from(server.logLines.join('')) },
    { place: '/metrics', bytes: Buffer.from(metrics.text) },
    ...errors.map(({ text }) => ({ place: `an error answer: ${text.slice(0, 80)}`, bytes: Buffer.from(text) })),
    { place: 'a header of an answer', bytes: Buffer.from(JSON.stringify(answers.map(({ headers }) => headers))) },
  ];
}

/** Where which secret is, one line each. */
export function findSecrets(traces: readonly Trace[], secrets: Secrets): readonly string[] {
  return traces.flatMap(({ place, bytes }) =>
    [...secrets].filter(([, secret]) => holds(bytes, secret)).map(([name]) => `${name} in ${place}`),
  );
}

function holds(bytes: Buffer, secret: string | Buffer): boolean {
  return bytes.includes(Buffer.from(secret).subarray(0, TELLING_LENGTH));
}
