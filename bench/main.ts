/**
 * `npm run bench`: requests per second and CPU milliseconds per token of the full path (RS256 assertion in, ES256 token
 * out, replay claim and audit record durable), next to a bare handler in the same run, and how both change with trusted
 * issuers and replay rows. CPU is the server process's own; ratios are what to quote, these machines are noisy. Then the
 * time and memory of a start with a fleet in the declarative file.
 */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AssertionBuilder, CLUSTER_CLAIMS, KID } from '../test/fixtures/assertions.ts';
import { publicJwk, RSA_A } from '../test/fixtures/keys.ts';
import { measureStart, writeFleet } from './declared-fleet.ts';
import { MeasuredProcess } from './measured-process.ts';
import { prepareDatabase } from './prepared-database.ts';

const ISSUER = 'https://as.example.com';
const REQUESTS = Number(process.env.BENCH_REQUESTS ?? 3000);
const WARM_UP = 500;
const ROUNDS = 3;
const CONCURRENCY = 16;
/** CPU time of half a second in which nobody asks for anything. */
const QUIET_MS = 20;
const DECLARED_ISSUERS = 10_000;

type Figures = { readonly perSecond: number; readonly cpuMs: number; readonly rssMb: number };

/** Bodies of token requests, each with an assertion of its own. */
function tokenRequests(count: number): readonly string[] {
  const now = Math.floor(Date.now() / 1000);
  const times = { iat: now, nbf: now, exp: now + 3600 };
  return Array.from({ length: count }, () => {
    const claims = { ...CLUSTER_CLAIMS, ...times, jti: randomUUID() };
    return new URLSearchParams({
      grant_type: 'client_credentials',
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: new AssertionBuilder({ alg: 'RS256', kid: KID }, claims, RSA_A).build(),
    }).toString();
  });
}

function post(agent: Agent, port: number, body: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const headers = { 'content-type': 'application/x-www-form-urlencoded', 'content-length': Buffer.byteLength(body) };
  const outgoing = request(
    { agent, port, host: '127.0.0.1', path: '/oauth/token', method: 'POST', headers },
    (answer) => {
      answer.resume();
      answer.on('end', () =>
        answer.statusCode === 200 ? resolve() : reject(new Error(`status ${answer.statusCode}`)),
      );
    },
  );
  outgoing.on('error', reject);
  outgoing.end(body);
  return promise;
}

async function load(port: number, bodies: readonly string[]): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONCURRENCY });
  const queue = bodies.values();
  await Promise.all(
    Array.from({ length: CONCURRENCY }, async () => {
      for (const body of queue) await post(agent, port, body);
    }),
  );
  agent.destroy();
}

async function measure(server: MeasuredProcess, bodies: readonly string[]): Promise<Figures> {
  const before = await server.usage();
  const startedAt = performance.now();
  await load(server.port, bodies);
  const seconds = (performance.now() - startedAt) / 1000;
  const after = await server.usage();
  return {
    perSecond: bodies.length / seconds,
    cpuMs: (after.cpuMs - before.cpuMs) / bodies.length,
    rssMb: after.rssMb,
  };
}

/** Until the server does nothing by itself any more: the keys of all issuers are loaded in the background first. */
async function untilQuiet(server: MeasuredProcess): Promise<void> {
  for (let before = Number.NEGATIVE_INFINITY; ; ) {
    const { cpuMs } = await server.usage();
    if (cpuMs - before < QUIET_MS) return;
    before = cpuMs;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;

function report(name: string, figures: readonly Figures[], bare: readonly Figures[]): void {
  const cpu = median(figures.map(({ cpuMs }) => cpuMs));
  const ratio = median(figures.map(({ cpuMs }, round) => cpuMs / (bare[round]?.cpuMs ?? Number.NaN)));
  const columns = [
    name.padEnd(48),
    `${Math.round(median(figures.map(({ perSecond }) => perSecond)))} req/s`.padStart(12),
    `${cpu.toFixed(3)} ms CPU`.padStart(14),
    `${ratio.toFixed(2)} × bare`.padStart(13),
    `${Math.round(median(figures.map(({ rssMb }) => rssMb)))} MB`.padStart(8),
  ];
  process.stdout.write(`${columns.join('  ')}\n`);
}

const scenarios = [
  { name: '10 issuers', issuers: 10, replayRows: 0 },
  { name: '10,000 issuers', issuers: 10_000, replayRows: 0 },
  { name: '10 issuers, 1,000,000 replay rows', issuers: 10, replayRows: 1_000_000 },
  { name: '10,000 issuers, 1,000,000 replay rows', issuers: 10_000, replayRows: 1_000_000 },
];
const bodies = tokenRequests(WARM_UP + REQUESTS * ROUNDS);
const slice = (round: number) => bodies.slice(WARM_UP + round * REQUESTS, WARM_UP + (round + 1) * REQUESTS);
const folder = await mkdtemp(join(tmpdir(), 'countersign-bench-'));
process.stdout.write(`${REQUESTS} tokens a round, ${ROUNDS} rounds, concurrency ${CONCURRENCY}, medians\n`);
try {
  for (const [index, { name, issuers, replayRows }] of scenarios.entries()) {
    const file = join(folder, `${index}.db`);
    await prepareDatabase(file, { ownIssuer: ISSUER, issuers, replayRows });
    const bare = await MeasuredProcess.start('bare-server.ts', [JSON.stringify(publicJwk(RSA_A))]);
    const full = await MeasuredProcess.start('full-server.ts', [`sqlite:${file}`, ISSUER]);
    const warmUp = bodies.slice(0, WARM_UP);
    await load(bare.port, warmUp);
    await load(full.port, warmUp);
    await untilQuiet(full);
    const figures: { bare: Figures[]; full: Figures[] } = { bare: [], full: [] };
    for (let round = 0; round < ROUNDS; round += 1) {
      figures.bare.push(await measure(bare, slice(round)));
      figures.full.push(await measure(full, slice(round)));
    }
    if (index === 0) report('bare handler', figures.bare, figures.bare);
    report(`full path, ${name}`, figures.full, figures.bare);
    await bare.stop();
    await full.stop();
  }
  const fleet = await writeFleet(folder, DECLARED_ISSUERS);
  for (const what of ['first start', 'next start']) {
    const { seconds, rssMb, peakMb } = await measureStart(fleet, join(folder, 'declared.db'));
    const memory = `${Math.round(rssMb ?? Number.NaN)} MB, at most ${Math.round(peakMb ?? Number.NaN)} MB`;
    process.stdout.write(`${what}, ${DECLARED_ISSUERS} declared issuers: ${seconds.toFixed(1)} s, ${memory}\n`);
  }
} finally {
  await rm(folder, { recursive: true });
}
