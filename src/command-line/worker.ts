/** `countersign worker`: the sample worker on the command line. It is a client, so it knows none of the server's rooms. */
import type { Command } from 'commander';
import { describeProblems, readWorkerConfig } from '../config.ts';
import { runWorker } from '../worker/run-worker.ts';
import { CommandFailure } from './command-failure.ts';

/** Adds the worker's flags. */
export function withWorkerOptions(command: Command): Command {
  return command
    .option('--issuer <url>', 'issuer identifier of the server (or COUNTERSIGN_ISSUER)')
    .option('--token-file <file>', 'file of the assertion, read again on each use (or COUNTERSIGN_TOKEN_FILE)')
    .option(
      '--token-endpoint <url>',
      'where to ask for tokens, if not where the metadata says (or COUNTERSIGN_TOKEN_ENDPOINT)',
    )
    .option('--jwks-uri <url>', "where the server's keys are, if not where the metadata says (or COUNTERSIGN_JWKS_URI)")
    .option('--client-id <client_id>', 'client to act as, where the subject is bound to several')
    .option('--resource <uri>', 'resource to ask for, and to serve /hello as (or COUNTERSIGN_RESOURCE)')
    .option('--scope <scope>', 'scope to ask for, and to require')
    .option('--listen <host:port>', 'where to serve /hello (or COUNTERSIGN_LISTEN)')
    .option('--interval <seconds>', 'seconds between two rounds', '30')
    .option('--allow-insecure-endpoint', 'accept plain http to a host that is not loopback')
    .option('--once', 'one round, then exit: 0 if it held, 1 if not');
}

/** Runs it until SIGTERM or SIGINT. Answers the exit code. */
export async function runWorkerCommand(
  options: Readonly<Record<string, string | boolean | undefined>>,
  print: (line: string) => void,
): Promise<0 | 1> {
  const settings = readWorkerConfig(options);
  if (!settings.ok) throw new CommandFailure(describeProblems(settings.error));
  const stop = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stop.abort());
  return runWorker({
    ...settings.value,
    allowInsecureEndpoint: options.allowInsecureEndpoint === true,
    once: options.once === true,
    log: print,
    signal: stop.signal,
  });
}
