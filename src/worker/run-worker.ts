/**
 * The sample worker: what a workload does with Countersign, from the token file to a protected API, in a few lines. It
 * gets a bearer with `src/client` and calls `GET /hello`, which it also serves. Command line, environment and signals
 * belong to whoever calls it.
 */
import { setTimeout as sleepFor } from 'node:timers/promises';
import { resolveSharedFolder, TokenFolderExposed } from '../client/token-folder-guard.ts';
import { type Clock, systemClock } from '../clock.ts';
import { createAccessTokenVerifier } from '../resource/access-token-verifier.ts';
import { type ListenAddress, startAppServer } from './app-server.ts';
import { createHelloApp } from './hello-app.ts';
import { staticTokenLookup } from './static-token-lookup.ts';
import { createWorkerBearer, describeFault, type WorkerBearer, type WorkerCredential } from './worker-bearer.ts';

export type WorkerOptions = {
  readonly issuer: string;
  /** Where to ask for tokens, if not where the issuer's metadata says: the in-cluster Service. */
  readonly tokenEndpoint?: string | undefined;
  /** Where the server's keys are, if not where the issuer's metadata says. */
  readonly jwksUri?: string | undefined;
  readonly credential: WorkerCredential;
  readonly clientId?: string | undefined;
  /** The resource to ask for, and the identifier under which `/hello` is served; the issuer identifier if left out. */
  readonly resource?: string | undefined;
  /** Asked for, and required by `/hello`. */
  readonly scope?: string | undefined;
  /** The claim that names this worker; `runner_id` if left out. */
  readonly idClaim?: string | undefined;
  /** Folders that are mounted for others. With one that exposes the token's folder the worker does not start. */
  readonly sharedFolders?: readonly string[] | undefined;
  /** Accept plain http to a host that is not loopback. */
  readonly allowInsecureEndpoint?: boolean | undefined;
  readonly listen?: ListenAddress | undefined;
  /** One round, then done. */
  readonly once?: boolean | undefined;
  /** Between the rounds; 30 if left out. */
  readonly intervalSeconds?: number | undefined;
  /** One line per step; never a token. */
  readonly log: (line: string) => void;
  /** Ends the loop: SIGTERM. */
  readonly signal?: AbortSignal | undefined;
  readonly clock?: Clock | undefined;
};

const DEFAULT_LISTEN: ListenAddress = { host: '127.0.0.1', port: 0 };
const DEFAULT_INTERVAL_SECONDS = 30;
/** For the call of `/hello`. */
const CALL_TIMEOUT_MILLISECONDS = 10_000;

/** The worker cannot start as it is set up; the message names what to change. */
export class UnusableWorkerSetting extends Error {
  override readonly name = 'UnusableWorkerSetting';
}

/**
 * Runs the worker and answers the exit code. With `once`, 0 if the round held and 1 if not. Otherwise a failed round is
 * logged and the next one tries again, until `signal` aborts: 0. Rejects when it cannot listen, and with
 * `UnusableWorkerSetting`.
 */
export async function runWorker(options: WorkerOptions): Promise<0 | 1> {
  const { log, signal } = options;
  await checkSharedFolders(options);
  const bearer = orUnusable(() => createWorkerBearer(options));
  const app = orUnusable(() => workerApp(options));
  const server = await startAppServer(app, options.listen ?? DEFAULT_LISTEN);
  const intervalMilliseconds = (options.intervalSeconds ?? DEFAULT_INTERVAL_SECONDS) * 1000;
  const playRound = (): Promise<boolean> => callHello(bearer, `${server.url}/hello`, log);
  try {
    log(`serving ${server.url}/hello`);
    if (options.once === true) return (await playRound()) ? 0 : 1;
    while (signal?.aborted !== true) {
      // A round may be waiting for a server that is away; the end need not.
      await untilAborted(signal, playRound());
      // The server keeps the process alive while it listens; a timer must not do so after it.
      await untilAborted(signal, sleepFor(intervalMilliseconds, undefined, { ref: false }));
    }
    log('stopping');
    return 0;
  } finally {
    await server.close();
  }
}

async function checkSharedFolders({ credential, sharedFolders = [], log }: WorkerOptions): Promise<void> {
  if (sharedFolders.length === 0) return;
  if (credential.kind !== 'token_file')
    throw new UnusableWorkerSetting('sharedFolders needs a token file to keep away');
  for (const folder of sharedFolders) {
    const real = await resolveSharedFolder({ folder, tokenFile: credential.path }).catch((error: unknown) => {
      throw error instanceof TokenFolderExposed ? new UnusableWorkerSetting(error.message) : error;
    });
    log(`shared folder ${real}: the token's folder stays out of it`);
  }
}

/** The libraries throw a `TypeError` for a setting that cannot be used, before anything is sent. */
function orUnusable<T>(make: () => T): T {
  try {
    return make();
  } catch (error) {
    throw error instanceof TypeError ? new UnusableWorkerSetting(error.message, { cause: error }) : error;
  }
}

function workerApp({ issuer, jwksUri, resource, scope, log, clock = systemClock, ...options }: WorkerOptions) {
  const verifier = createAccessTokenVerifier({
    issuer,
    audience: resource ?? issuer,
    ...(jwksUri !== undefined && { jwksUri }),
    allowInsecureEndpoint: options.allowInsecureEndpoint ?? false,
    clock,
  });
  const requiredScopes = scope?.split(' ') ?? [];
  const { credential } = options;
  return createHelloApp({
    verifier,
    requiredScopes,
    // The API knows one token of its own: the one that this worker was given, with all that it may ask for.
    opaqueTokens:
      credential.kind === 'static_token' ? staticTokenLookup(credential.token, requiredScopes) : async () => null,
    onRefused: (refusal) => log(`/hello refused a token: ${refusal.reason}`),
  });
}

/** Bearer, call, answer. False where a step did not hold; the log says which. */
async function callHello(bearer: WorkerBearer, helloUrl: string, log: (line: string) => void): Promise<boolean> {
  try {
    const token = await bearer.get();
    const response = await fetch(helloUrl, {
      headers: { authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(CALL_TIMEOUT_MILLISECONDS),
    });
    const answer = await response.text();
    log(`GET /hello: ${response.status} ${answer}`.trimEnd());
    if (response.status === 401) bearer.refused(token);
    return response.status === 200;
  } catch (error) {
    log(`round failed: ${describeFault(error)}`);
    return false;
  }
}

/** Waits for `work`, or for `signal` where that comes first. */
async function untilAborted(signal: AbortSignal | undefined, work: Promise<unknown>): Promise<void> {
  if (signal === undefined) {
    await work;
    return;
  }
  const { promise: aborted, resolve } = Promise.withResolvers<void>();
  const onAbort = (): void => resolve();
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) resolve();
  try {
    await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
