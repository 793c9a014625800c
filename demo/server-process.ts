/** The real server as a process of its own, on a free port with an empty data folder, and its admin API. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const START_DEADLINE_MS = 20_000;

/** Runs a command of ours to its end. */
export async function runCommand(args: readonly string[]): Promise<{ readonly code: number; readonly output: string }> {
  const child = spawn(process.execPath, [MAIN, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const [code] = await once(child, 'close');
  return { code: Number(code), output };
}

export class ServerProcess {
  readonly issuer: string;
  readonly #child: ChildProcess;
  readonly #adminSecret: string;

  private constructor(issuer: string, child: ChildProcess, adminSecret: string) {
    this.issuer = issuer;
    this.#child = child;
    this.#adminSecret = adminSecret;
  }

  /** Starts `countersign serve` and waits until it is ready. */
  static async start(folder: string): Promise<ServerProcess> {
    const listen = `127.0.0.1:${await freePort()}`;
    const issuer = `http://${listen}`;
    const flags = {
      '--issuer': issuer,
      '--listen': listen,
      '--database-url': `sqlite:${join(folder, 'countersign.db')}`,
      '--private-networks': '127.0.0.0/8',
      '--log-level': 'error',
    };
    const args = [MAIN, 'serve', '--create-admin-secret', ...Object.entries(flags).flat()];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit'] });
    await untilReady(issuer, child);
    const adminSecret = (await readFile(join(folder, 'admin-secret'), 'utf8')).trim();
    return new ServerProcess(issuer, child, adminSecret);
  }

  /** One admin operation; throws with the server's words when it fails. */
  async graphql<T>(query: string, params: Readonly<Record<string, unknown>>): Promise<T> {
    const response = await fetch(`${this.issuer}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${this.#adminSecret}` },
      body: JSON.stringify({ query, variables: { params } }),
    });
    const { data, errors } = (await response.json()) as { data?: Record<string, T>; errors?: unknown };
    const [value] = Object.values(data ?? {});
    if (errors !== undefined || value === undefined) throw new Error(JSON.stringify(errors));
    return value;
  }

  /** Ends it as Kubernetes would. Answers its exit code. */
  async stop(): Promise<number | null> {
    if (this.#child.exitCode !== null) return this.#child.exitCode;
    const closed = once(this.#child, 'close');
    this.#child.kill('SIGTERM');
    const [code] = await closed;
    return code;
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}

async function untilReady(issuer: string, child: ChildProcess): Promise<void> {
  for (const end = Date.now() + START_DEADLINE_MS; Date.now() < end; await sleep(50)) {
    if (child.exitCode !== null) throw new Error(`the server ended with code ${child.exitCode}`);
    const response = await fetch(`${issuer}/readyz`).catch(() => null);
    if (response?.ok) return;
  }
  throw new Error('the server did not become ready');
}
