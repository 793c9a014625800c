/**
 * A start with a fleet in the declarative file: how long until it serves, and in how much memory, with an empty
 * database and with one that has the rows already. Every issuer's keys are asked of an address that nobody listens on,
 * so the background fetches of the start go on meanwhile.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export type StartFigures = {
  /** From the start of the process to its first request. */
  readonly seconds: number;
  /** Resident memory five seconds later, and the most until then; null where the kernel does not say. */
  readonly rssMb: number | null;
  readonly peakMb: number | null;
};

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const SETTLED_MS = 5_000;

/** Writes the file of a fleet with so many clusters; answers its path. */
export async function writeFleet(folder: string, issuers: number): Promise<string> {
  const entries = Array.from(
    { length: issuers },
    (_, number) => `  - name: cluster-${number}
    issuer_url: https://127.0.0.1:9/cluster-${number}
    issuer_type: kubernetes_sa
    allow_private_network: true
    expected_aud: [runner]
    max_token_lifetime_seconds: 600
    require: { pod: true, node: true }
    bindings:
      - client: runner
        subject: system:serviceaccount:runner:runner
        token_claims: { runner_id: "{issuer.name}/{kubernetes.node.name|dots_to_underscores}" }
`,
  );
  const path = join(folder, 'fleet.yaml');
  const clients = 'clients:\n  - { client_id: runner, allowed_scopes: [run] }\n';
  await writeFile(path, `${clients}trusted_issuers:\n${entries.join('')}`);
  return path;
}

/** One start over `database`, ended again. */
export async function measureStart(file: string, database: string): Promise<StartFigures> {
  const startedAt = performance.now();
  const args = ['serve', '--config', file, '--database-url', `sqlite:${database}`, '--listen', '127.0.0.1:0'];
  const child = spawn(process.execPath, [MAIN, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    await untilServing(child);
    const seconds = (performance.now() - startedAt) / 1000;
    await new Promise((resolve) => setTimeout(resolve, SETTLED_MS));
    return { seconds, ...(await memoryOf(child)) };
  } finally {
    child.kill('SIGKILL');
  }
}

function untilServing(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let text = '';
    child.once('exit', (code) => reject(new Error(`the server ended with ${code}`)));
    child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      text = (text + chunk).slice(-10_000);
      if (text.includes('"message":"serving"')) resolve();
    });
  });
}

/** As Linux counts it (proc(5)). */
async function memoryOf({ pid }: ChildProcess): Promise<Omit<StartFigures, 'seconds'>> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const megabytes = (name: string) => {
    const kilobytes = new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1];
    return kilobytes === undefined ? null : Number(kilobytes) / 1024;
  };
  return { rssMb: megabytes('VmRSS'), peakMb: megabytes('VmHWM') };
}
