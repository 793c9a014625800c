import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { currentAssertion, killAll, runCommand, ServerProcess } from './command-line.ts';

let folder: string;
let server: ServerProcess;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'countersign-workers-'));
  server = await ServerProcess.start(folder, [], { COUNTERSIGN_WORKERS: '2' });
  await untilStarted(2);
  await server.trustCluster();
});
afterAll(async () => {
  killAll();
  await rm(folder, { recursive: true });
});

/** Until so many workers have said that they serve, since the beginning. */
async function untilStarted(workers: number): Promise<void> {
  const serving = () => server.log.filter(({ message }) => message === 'serving');
  await vi.waitFor(() => expect(serving()).toHaveLength(workers), { timeout: 15_000 });
}

/** Process ids of the workers, as the kernel of Linux has them. */
async function workers(): Promise<readonly number[]> {
  const children = await readFile(`/proc/${server.pid}/task/${server.pid}/children`, 'utf8');
  return children.trim().split(' ').map(Number);
}

const statusOf = async (assertion: string) => (await server.token(assertion)).status;

it('two workers serve one address, and one assertion gives one token', async () => {
  const addresses = server.log.filter(({ message }) => message === 'serving').map(({ listen }) => listen);
  expect(addresses).toEqual([new URL(server.url).host, new URL(server.url).host]);
  const assertion = currentAssertion().build();
  const statuses = await Promise.all(Array.from({ length: 20 }, () => statusOf(assertion)));
  expect(statuses.filter((status) => status === 200)).toHaveLength(1);
  expect(statuses.filter((status) => status === 400)).toHaveLength(19);
});

it('one first key of each algorithm was made', async () => {
  const { json } = await server.get('/.well-known/jwks.json');
  const algorithms = (json.keys as readonly { alg: string }[]).map(({ alg }) => alg);
  expect(algorithms.toSorted()).toEqual(['ES256', 'RS256']);
});

describe.skipIf(!existsSync('/proc/self/task'))('a worker that dies', () => {
  it('is replaced, and the other one serves meanwhile', async () => {
    const [first = 0, second = 0] = await workers();
    process.kill(first, 'SIGKILL');
    await expect.poll(workers).toEqual([second]);
    expect(await statusOf(currentAssertion().build())).toBe(200);
    await untilStarted(3);
    expect(server.log).toContainEqual(
      expect.objectContaining({ level: 'error', message: 'worker process ended, another one starts', pid: first }),
    );
  });

  it('leaves its replacement to serve alone if it must', async () => {
    const [second = 0, third = 0] = await workers();
    process.kill(second, 'SIGKILL');
    await expect.poll(workers).toEqual([third]);
    expect(await statusOf(currentAssertion().build())).toBe(200);
  });
});

it('an address in use ends workers and primary with 2, and is not tried for ever', async () => {
  const address = new URL(server.url).host;
  const second = await runCommand(folder, ['serve', '--listen', address, '--workers', '2']);
  expect(second.code).toBe(2);
  expect(second.stderr).toContain(
    `COUNTERSIGN_LISTEN ${address} can not be used (EADDRINUSE): set COUNTERSIGN_LISTEN to`,
  );
});

it('SIGTERM ends them all with 0', async () => {
  const signalledAt = performance.now();
  server.signal('SIGTERM');
  expect(await server.ended()).toBe(0);
  expect(performance.now() - signalledAt).toBeLessThan(5_000);
  await expect(server.get('/healthz')).rejects.toThrow();
});
