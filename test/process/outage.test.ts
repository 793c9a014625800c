import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, get, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { currentAssertion, type HttpAnswer, killAll, ServerProcess } from './command-line.ts';

let folder: string;
let server: ServerProcess;
/** Another process's connection, as far as SQLite can tell. */
let other: Database.Database;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'countersign-outage-'));
  server = await ServerProcess.start(folder);
  await server.trustCluster();
  other = new Database(join(folder, 'data/countersign.db'));
});
afterAll(async () => {
  killAll();
  await rm(folder, { recursive: true });
  other.close();
});

/** What a caller sees while we are the ones to blame. */
function expectUnavailable({ status, json, headers }: HttpAnswer): void {
  expect([status, json.error]).toEqual([503, 'temporarily_unavailable']);
  expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
  expect(headers.get('cache-control')).toBe('no-store');
  expect(headers.get('www-authenticate')).toBeNull();
}

async function expectHealth(path: '/healthz' | '/readyz', status: number): Promise<void> {
  const answer = await server.get(path);
  expect([path, answer.status, answer.headers.get('cache-control')]).toEqual([path, status, 'no-store']);
}

describe('while another process keeps the database locked', () => {
  beforeAll(() => void other.exec('begin exclusive'));
  afterAll(() => {
    if (other.inTransaction) other.exec('rollback');
  });

  it('the server is alive and not ready, and says both soon', async () => {
    const askedAt = performance.now();
    await expectHealth('/healthz', 200);
    await expectHealth('/readyz', 503);
    expect(performance.now() - askedAt).toBeLessThan(2_000);
  });

  it('A-19: a token request is told to come back, and liveness does not wait for it', async () => {
    const token = server.token(currentAssertion().build());
    // A probe gives up after three seconds (`k8s/countersign.yaml`), and three of those are a restart.
    for (let probe = 0; probe < 3; probe += 1) {
      const askedAt = performance.now();
      await expectHealth('/healthz', 200);
      expect(performance.now() - askedAt).toBeLessThan(2_000);
    }
    expectUnavailable(await token);
  });

  it('all is well once the lock is gone', async () => {
    other.exec('rollback');
    await expectHealth('/readyz', 200);
    expect((await server.token(currentAssertion().build())).status).toBe(200);
  });
});

describe('while the database has lost its tables', () => {
  const tables = ['registry_revision', 'replay_claims', 'audit_logs', 'signing_keys'];
  const rename = (from: string, to: string) => other.exec(`alter table ${from} rename to ${to}`);
  const assertion = currentAssertion().build();

  beforeAll(() => {
    for (const table of tables) rename(table, `lost_${table}`);
  });

  it('the server is alive and not ready', async () => {
    await expectHealth('/healthz', 200);
    await expectHealth('/readyz', 503);
  });

  it.each([
    ['a good assertion', () => assertion],
    ['an assertion of an unknown issuer', () => currentAssertion().with({ iss: 'https://evil.example.com' }).build()],
    ['an expired assertion', () => currentAssertion().with({ exp: 1_000_000 }).build()],
    ['no assertion at all', () => 'x'],
  ])('A-19: %s is told to come back, and never that it is bad', async (_name, presented) => {
    expectUnavailable(await server.token(presented()));
  });

  it('ROT-18: the keys stay there for those who verify', async () => {
    const { status, json, headers } = await server.get('/.well-known/jwks.json');
    expect([status, headers.get('cache-control')]).toEqual([200, 'public, max-age=300']);
    expect(json.keys).toHaveLength(2);
  });

  it('says what is wrong in its log, with the request id, and to nobody else', async () => {
    const answer = await server.token(currentAssertion().build());
    const requestId = answer.headers.get('x-request-id');
    await expect
      .poll(() => server.log.find((line) => line.request_id === requestId))
      .toMatchObject({
        level: 'error',
        message: 'fault',
        error: { message: expect.stringContaining('no such table') },
      });
    expect(JSON.stringify(answer.json)).not.toContain('table');
  });

  it('all is well once they are back, and the assertion was not used up', async () => {
    for (const table of tables) rename(`lost_${table}`, table);
    await expectHealth('/readyz', 200);
    expect((await server.token(assertion)).status).toBe(200);
  });
});

it('SIGTERM does not wait for idle connections', async () => {
  const agent = new Agent({ keepAlive: true });
  const answer = await new Promise<IncomingMessage>((resolve, reject) =>
    get(`${server.url}/healthz`, { agent }, resolve).on('error', reject),
  );
  await new Promise((resolve) => answer.resume().once('close', resolve));
  expect(Object.values(agent.freeSockets).flat()).toHaveLength(1);
  server.signal('SIGTERM');
  const signalledAt = performance.now();
  expect(await server.ended()).toBe(0);
  expect(performance.now() - signalledAt).toBeLessThan(2_000);
});
