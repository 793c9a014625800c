/** The flags of `countersign worker`, which is a client and takes none of the server's settings. */
import type { Command } from 'commander';

/** Adds the worker's flags. A static token has none: a flag is visible to every process of the machine. */
export function withWorkerFlags(command: Command): Command {
  return command
    .option('--issuer <url>', 'issuer identifier of the server (or COUNTERSIGN_ISSUER)')
    .option(
      '--token-file <file>',
      'file of the assertion, read again on each use (or COUNTERSIGN_TOKEN_FILE); COUNTERSIGN_TOKEN instead, which has no flag, is sent as it is',
    )
    .option(
      '--token-endpoint <url>',
      'where to ask for tokens, if not where the metadata says (or COUNTERSIGN_TOKEN_ENDPOINT)',
    )
    .option('--jwks-uri <url>', "where the server's keys are, if not where the metadata says (or COUNTERSIGN_JWKS_URI)")
    .option('--client-id <client_id>', 'client to act as, where the subject is bound to several')
    .option('--resource <uri>', 'resource to ask for, and to serve /hello as (or COUNTERSIGN_RESOURCE)')
    .option('--scope <scope>', 'scope to ask for, and to require')
    .option(
      '--id-claim <claim>',
      'member of the token answer, or claim of the token, that names this worker: runner_id',
    )
    .option(
      '--shared-folder <folder>',
      "folder that is mounted for others, for each one; no start where it exposes the token's folder (or COUNTERSIGN_SHARED_FOLDERS, with commas)",
      (folder: string, earlier: readonly string[] = []) => [...earlier, folder],
    )
    .option('--listen <host:port>', 'where to serve /hello (or COUNTERSIGN_LISTEN)')
    .option('--interval <seconds>', 'seconds between two rounds', '30')
    .option('--allow-insecure-endpoint', 'accept plain http to a host that is not loopback')
    .option('--once', 'one round, then exit: 0 if it held, 1 if not');
}
