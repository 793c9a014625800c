/**
 * The real command line in processes of its own: commands that end, and servers that a test looks at, signals and
 * kills. Nothing that was started here outlives its test file.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import {
  type AssertionBuilder,
  AUDIENCE,
  aClusterAssertion,
  CLUSTER_ISSUER,
  KID,
  SUBJECT,
} from '../fixtures/assertions.ts';
import { publicJwk, RSA_A } from '../fixtures/keys.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
/** Every process compiles the same modules; the second one may read what the first one has compiled. */
const COMPILE_CACHE = fileURLToPath(new URL('../../node_modules/.cache/countersign-tests', import.meta.url));
const START_DEADLINE_MS = 20_000;

type Environment = Readonly<Record<string, string>>;
type LogLine = Readonly<Record<string, unknown>>;

export type Ended = { readonly code: number | null; readonly stdout: string; readonly stderr: string };
export type HttpAnswer = {
  readonly status: number;
  readonly headers: Headers;
  readonly json: Readonly<Record<string, unknown>>;
};

const running = new Set<ChildProcess>();
process.once('exit', killAll);

/** For `afterAll`: ends what is still there, workers of a primary included. */
export function killAll(): void {
  for (const { pid } of running) {
    // The group, of which the process is the leader.
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  }
  running.clear();
}

function start(args: readonly string[], cwd: string, environment: Environment): ChildProcess {
  const env = { PATH: process.env.PATH ?? '', NODE_COMPILE_CACHE: COMPILE_CACHE, ...environment };
  const child = spawn(process.execPath, [MAIN, ...args], {
    cwd,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  child.once('exit', () => running.delete(child));
  return child;
}

function collect(stream: NodeJS.ReadableStream | null): () => string {
  let text = '';
  stream?.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  return () => text;
}

/** Runs a command to its end, in the folder `cwd` and with no settings but the given ones. */
export async function runCommand(cwd: string, args: readonly string[], environment: Environment = {}): Promise<Ended> {
  const child = start(args, cwd, environment);
  const stdout = collect(child.stdout);
  const stderr = collect(child.stderr);
  const [code] = await once(child, 'close');
  return { code, stdout: stdout(), stderr: stderr() };
}

export class ServerProcess {
  readonly url: string;
  readonly folder: string;
  readonly #child: ChildProcess;
  readonly #stdout: () => string;
  readonly #startedAt = performance.now();

  private constructor(url: string, folder: string, child: ChildProcess, stdout: () => string) {
    this.url = url;
    this.folder = folder;
    this.#child = child;
    this.#stdout = stdout;
  }

  /** `countersign serve` in the folder `cwd`, with its database in `data/` there. Waits until it listens. */
  static async start(cwd: string, args: readonly string[] = [], environment: Environment = {}): Promise<ServerProcess> {
    const base = ['serve', '--create-admin-secret', '--issuer', AUDIENCE, '--listen', '127.0.0.1:0'];
    const child = start([...base, ...args], cwd, environment);
    const stdout = collect(child.stdout);
    const stderr = collect(child.stderr);
    for (const end = Date.now() + START_DEADLINE_MS; Date.now() < end; await sleep(20)) {
      const serving = logLines(stdout()).find(({ message }) => message === 'serving');
      if (serving !== undefined) return new ServerProcess(`http://${serving.listen}`, cwd, child, stdout);
      if (child.exitCode !== null) break;
    }
    throw new Error(`the server does not serve: ${stdout()}${stderr()}`);
  }

  get pid(): number {
    return this.#child.pid ?? Number.NaN;
  }

  get log(): readonly LogLine[] {
    return logLines(this.#stdout());
  }

  /** Milliseconds since it has served. */
  get age(): number {
    return performance.now() - this.#startedAt;
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Its exit code, once it has ended; null after a kill. */
  async ended(): Promise<number | null> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) await once(this.#child, 'exit');
    return this.#child.exitCode;
  }

  /** On a connection of its own. */
  async get(path: string): Promise<HttpAnswer> {
    return answerOf(await fetch(`${this.url}${path}`, { headers: { connection: 'close' } }));
  }

  /** A token request with this assertion. */
  async token(assertion: string): Promise<HttpAnswer> {
    const body = tokenRequest(assertion);
    return answerOf(await fetch(`${this.url}/oauth/token`, { method: 'POST', body, headers: { connection: 'close' } }));
  }

  /** One admin operation that must succeed: the value of its only field. */
  async admin<T>(query: string, params: Readonly<Record<string, unknown>>): Promise<T> {
    const secret = (await readFile(join(this.folder, 'data/admin-secret'), 'utf8')).trim();
    const response = await fetch(`${this.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${secret}`, connection: 'close' },
      body: JSON.stringify({ query, variables: { params } }),
    });
    const { data, errors } = (await response.json()) as { data?: Record<string, T>; errors?: unknown };
    const [value] = Object.values(data ?? {});
    if (errors !== undefined || value === undefined) throw new Error(JSON.stringify(errors));
    return value;
  }

  /** A client `edge-worker`, the cluster of the test assertions with pasted keys, and a binding between them. */
  async trustCluster(): Promise<void> {
    const { client } = await this.admin<{ client: { id: string } }>(
      'mutation ($params: CreateClientRequest!) { _create_client(params: $params) { client { id } } }',
      { name: 'edge worker', client_id: 'edge-worker', allowed_scopes: ['read'] },
    );
    await this.admin('mutation ($params: AddTrustedIssuerRequest!) { _add_trusted_issuer(params: $params) { id } }', {
      name: 'edge cluster',
      issuer_url: CLUSTER_ISSUER,
      issuer_type: 'kubernetes_sa',
      key_source_type: 'static_jwks',
      jwks: JSON.stringify({ keys: [publicJwk(RSA_A, { kid: KID, alg: 'RS256', use: 'sig' })] }),
      service_account_id: client.id,
      allowed_subjects: [SUBJECT],
    });
  }
}

/** The form of a token request. */
export function tokenRequest(assertion: string): URLSearchParams {
  return new URLSearchParams({
    grant_type: 'client_credentials',
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: assertion,
  });
}

/** The cluster's assertion as minted now, by the machine's clock: these servers have no other. */
export function currentAssertion(): AssertionBuilder {
  const now = Math.floor(Date.now() / 1000);
  return aClusterAssertion().with({ iat: now, nbf: now, exp: now + 3600, jti: crypto.randomUUID() });
}

async function answerOf(response: Response): Promise<HttpAnswer> {
  const text = await response.text();
  return { status: response.status, headers: response.headers, json: text.startsWith('{') ? JSON.parse(text) : {} };
}

/** The lines that are complete. */
function logLines(text: string): readonly LogLine[] {
  const lines = text.split('\n').slice(0, -1);
  return lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as LogLine);
}
