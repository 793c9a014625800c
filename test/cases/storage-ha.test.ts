/** Cases of the theme `storage-ha` as far as they are about SQLite: load, locks, and a process that is killed. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Answer, freshAssertion, startServer } from '../fixtures/running-server.ts';
import { settableClock } from '../fixtures/settable-clock.ts';
import { currentAssertion, killAll, ServerProcess } from '../process/command-line.ts';
import { expectRefused } from './outcome.ts';
import { pinIssuer } from './pinned-issuer.ts';
import { startTwoReplicas, type TwoReplicas } from './two-replicas.ts';

let replicas: TwoReplicas;

beforeAll(async () => {
  replicas = await startTwoReplicas();
  await replicas.one.trustCluster();
});
afterAll(() => replicas.close());

/** Requests with assertions of their own, by turns to both replicas, all at once. */
function presentAtOnce(count: number): Promise<readonly Answer[]> {
  const { one, two } = replicas;
  const assertions = Array.from({ length: count }, () => freshAssertion().build());
  return Promise.all(assertions.map((assertion, index) => (index % 2 === 0 ? one : two).token(assertion)));
}

const statusesOf = (answers: readonly Answer[]) => [...new Set(answers.map(({ status }) => status))];

describe('DBS-01: token requests, admin writes and the purge at once', () => {
  it('DBS-01: all succeed', async () => {
    const { one, database } = replicas;
    const expired = database.prepare(
      "insert into replay_claims (key, expires_at, claimed_at, request_id) values (randomblob(32), 1, 1, 'old')",
    );
    database.transaction(() => {
      for (let row = 0; row < 2000; row += 1) expired.run();
    })();
    // Its first round of purging begins with its start.
    const third = startServer({ databaseUrl: `sqlite:${database.name}` }, one.clock);
    const writes = Promise.all(
      Array.from({ length: 10 }, (_, index) => pinIssuer(one, `https://${index}.example.com`, 'edge-worker', ['job'])),
    );
    const answers = await presentAtOnce(50);
    expect(statusesOf(answers)).toEqual([200]);
    await writes;
    const server = await third;
    const left = database.prepare("select count(*) from replay_claims where request_id = 'old'").pluck();
    await expect.poll(() => left.get()).toBe(0);
    await server.close();
    const faults = [one, replicas.two, server].flatMap(({ logLines }) =>
      logLines.filter((line) => line.includes('fault')),
    );
    expect(faults).toEqual([]);
  });
});

describe('DBS-03: a database that can not be written to', () => {
  it('DBS-03: readiness fails while that is so, liveness does not, and both are well again without a restart', async () => {
    const { one, database } = replicas;
    const health = async () => [(await one.send('GET', '/healthz')).status, (await one.send('GET', '/readyz')).status];
    expect(await health()).toEqual([200, 200]);
    database.exec('begin immediate');
    expect(await health()).toEqual([200, 503]);
    database.exec('rollback');
    expect(await health()).toEqual([200, 200]);
    expect((await one.token(freshAssertion().build())).status).toBe(200);
  });
});

describe('DBS-04: many distinct assertions at once', () => {
  it('DBS-04: a hundred over two replicas all get a token', async () => {
    expect(statusesOf(await presentAtOnce(100))).toEqual([200]);
  });

  it('DBS-04: so do those that come while another process holds the lock for a moment', async () => {
    const { database } = replicas;
    database.exec('begin immediate');
    const answers = presentAtOnce(20);
    await new Promise((resolve) => setTimeout(resolve, 5));
    database.exec('rollback');
    expect(statusesOf(await answers)).toEqual([200]);
  });
});

describe('DBS-06: a replica that is killed', () => {
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'countersign-killed-'));
  });
  afterAll(async () => {
    killAll();
    await rm(folder, { recursive: true });
  });

  it('DBS-06: forgets no used assertion, and the other replica knows of it too', async () => {
    const victim = await ServerProcess.start(folder);
    await victim.trustCluster();
    const used = currentAssertion().build();
    expect((await victim.token(used)).status).toBe(200);
    victim.signal('SIGKILL');
    expect(await victim.ended()).toBeNull();

    const clock = settableClock(Math.floor(Date.now() / 1000));
    const other = await startServer({ databaseUrl: `sqlite:${join(folder, 'data/countersign.db')}` }, clock);
    const again = await ServerProcess.start(folder);
    expect(await again.token(used)).toMatchObject({ status: 400, json: { error: 'invalid_client' } });
    await expectRefused(other, await other.token(used), 'replayed');
    expect((await again.token(currentAssertion().build())).status).toBe(200);
    await other.close();
  });
});
