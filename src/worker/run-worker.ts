/**
 * The sample worker: what a workload does with Countersign, from the token file to a protected API, in a few lines. It
 * gets an access token with `src/client` and calls `GET /hello`, which it also serves. Command line, environment and
 * signals belong to whoever calls it.
 */
import { setTimeout as sleepFor } from 'node:timers/promises';
import { createTokenClient, type TokenClient } from '../client/token-client.ts';
import { tokenFileSource } from '../client/token-file-source.ts';
import { type Clock, systemClock } from '../clock.ts';
import { createAccessTokenVerifier } from '../resource/access-token-verifier.ts';
import { type ListenAddress, startAppServer } from './app-server.ts';
import { createHelloApp } from './hello-app.ts';

export type WorkerOptions = {
  readonly issuer: string;
  /** Where to ask for tokens, if not where the issuer's metadata says: the in-cluster Service. */
  readonly tokenEndpoint?: string | undefined;
  /** Where the server's keys are, if not where the issuer's metadata says. */
  readonly jwksUri?: string | undefined;
  readonly tokenFile: string;
  readonly clientId?: string | undefined;
  /** The resource to ask for, and the identifier under which `/hello` is served; the issuer identifier if left out. */
  readonly resource?: string | undefined;
  /** Asked for, and required by `/hello`. */
  readonly scope?: string | undefined;
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

/**
 * Runs the worker and answers the exit code. With `once`, 0 if the round held and 1 if not. Otherwise a failed round is
 * logged and the next one tries again, until `signal` aborts: 0. Rejects when it cannot listen or a setting is unusable.
 */
export async function runWorker(options: WorkerOptions): Promise<0 | 1> {
  const { log, signal, clock = systemClock } = options;
  const tokens = workerTokenClient(options);
  const app = workerApp(options);
  const server = await startAppServer(app, options.listen ?? DEFAULT_LISTEN);
  const intervalMilliseconds = (options.intervalSeconds ?? DEFAULT_INTERVAL_SECONDS) * 1000;
  const playRound = (): Promise<boolean> => callHello(tokens, `${server.url}/hello`, clock, log);
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

function workerTokenClient(options: WorkerOptions): TokenClient {
  const { issuer, tokenEndpoint, tokenFile, clientId, resource, scope, log, clock = systemClock } = options;
  return createTokenClient({
    issuer,
    source: tokenFileSource({ path: tokenFile, clock }),
    ...(tokenEndpoint !== undefined && { tokenEndpoint }),
    ...(clientId !== undefined && { clientId }),
    ...(resource !== undefined && { resource }),
    ...(scope !== undefined && { scope }),
    allowInsecureEndpoint: options.allowInsecureEndpoint ?? false,
    onRenewalFailed: (error) => log(`renewal failed, the token in hand stays in use: ${describe(error)}`),
    clock,
  });
}

function workerApp({ issuer, jwksUri, resource, scope, log, clock = systemClock, ...options }: WorkerOptions) {
  const verifier = createAccessTokenVerifier({
    issuer,
    audience: resource ?? issuer,
    ...(jwksUri !== undefined && { jwksUri }),
    allowInsecureEndpoint: options.allowInsecureEndpoint ?? false,
    clock,
  });
  return createHelloApp({
    verifier,
    requiredScopes: scope?.split(' ') ?? [],
    onRefused: (refusal) => log(`/hello refused a token: ${refusal.reason}`),
  });
}

/** Token, call, answer. False where a step did not hold; the log says which. */
async function callHello(
  tokens: TokenClient,
  helloUrl: string,
  clock: Clock,
  log: (line: string) => void,
): Promise<boolean> {
  try {
    const { accessToken, expiresAt, scope } = await tokens.getToken();
    log(`access token: ${expiresAt - clock()} s left, scope "${scope}"`);
    const response = await fetch(helloUrl, {
      headers: { authorization: `Bearer ${accessToken}` },
      signal: AbortSignal.timeout(CALL_TIMEOUT_MILLISECONDS),
    });
    const answer = await response.text();
    log(`GET /hello: ${response.status} ${answer}`.trimEnd());
    if (response.status === 401) tokens.invalidate(accessToken);
    return response.status === 200;
  } catch (error) {
    log(`round failed: ${describe(error)}`);
    return false;
  }
}

function describe(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
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
