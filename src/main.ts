#!/usr/bin/env node
/**
 * The command line: which command there is, what it takes, and how it ends. Each command's work is in `command-line/`,
 * loaded when it is called: help needs none of it, and the worker none of the server. Errors name the setting and the
 * mend; the exit code is 1 for a bad outcome, 2 for a command that can not run.
 */
import { Command } from 'commander';
import { isForTerminal } from './command-line/command-failure.ts';
import { withManifestFlags } from './command-line/manifest-flags.ts';
import { configOf, oneOf, withSettings } from './command-line/settings.ts';
import { withWorkerFlags } from './command-line/worker-flags.ts';

const ALGORITHMS = ['ES256', 'RS256'] as const;

const program = new Command('countersign')
  .description('An OAuth 2.0 authorization server for workloads: platform identity in, short-lived access token out.')
  .showHelpAfterError('(--help shows what there is)')
  .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : 2));

withSettings(program.command('serve').description('run the server'))
  .option('--create-admin-secret', 'make an admin secret beside the database if none is set')
  .action(async (options) => {
    const { runServer } = await import('./command-line/serve.ts');
    await runServer(options);
  });

withSettings(program.command('migrate').description('bring the database to this version, and exit')).action(
  async (options) => {
    const { migrateDatabase } = await import('./command-line/database.ts');
    print(await migrateDatabase(configOf(options)));
  },
);

withSettings(program.command('check').description('parse the configuration, open the database, and exit')).action(
  async (options) => {
    const { checkConfiguration } = await import('./command-line/database.ts');
    print(await checkConfiguration(configOf(options)));
  },
);

const issuer = program.command('issuer').description('trusted issuers');
withSettings(
  issuer
    .command('check')
    .description("fetch an issuer's keys now and say what came back; nothing is stored")
    .argument('<url-or-file>', 'issuer URL, or a JSON file: a trusted issuer as in _add_trusted_issuer, or a JWK set')
    .option('--discovery-url <url>', 'where the discovery document is, if not below the issuer')
    .option('--jwks-url <url>', 'where the keys are, instead of what discovery says')
    .option('--ca-file <file>', 'PEM certificates that replace the system roots')
    .option('--allow-private-network', 'consent to private addresses, as the row would'),
  ['privateNetworks', 'issuer'],
).action(async (target: string, options) => {
  const { checkIssuer } = await import('./command-line/issuer-check.ts');
  finish(await checkIssuer(target, options));
});

withSettings(
  program
    .command('explain')
    .description('say why an assertion would be accepted or refused; it is not used up')
    .requiredOption('--token-file <file>', 'file with one assertion')
    .option('--client-id <client_id>', 'client_id that the request would send'),
).action(async (options) => {
  const { explainTokenFile, explanationLines } = await import('./command-line/explain.ts');
  const explanation = await explainTokenFile(configOf(options), options.tokenFile, options.clientId ?? null);
  finish({ lines: explanationLines(explanation), passed: explanation.accepted });
});

const keys = program.command('keys').description("the server's signing keys");
withSettings(keys.command('list').description('list the keys that are published')).action(async (options) => {
  const { listSigningKeys } = await import('./command-line/signing-keys.ts');
  print(await listSigningKeys(configOf(options)));
});
withSettings(
  keys
    .command('rotate')
    .description('make a new key; it signs once every cache has seen it')
    .option('--alg <alg>', `one of ${ALGORITHMS.join(', ')}`, oneOf(ALGORITHMS), 'ES256')
    .option('--compromised', 'withdraw the earlier keys and all their tokens now'),
).action(async (options) => {
  const { rotateSigningKey } = await import('./command-line/signing-keys.ts');
  print(await rotateSigningKey(configOf(options), options.alg, options.compromised === true));
});

const manifests = program.command('manifests').description('Kubernetes manifests of the runner on every node');
withManifestFlags(
  manifests
    .command('render')
    .description('print namespace, account, DaemonSet and admission policies, for kubectl apply -f -'),
).action(async (options) => {
  const { renderManifests } = await import('./command-line/manifests.ts');
  print(renderManifests(options));
});

withWorkerFlags(
  program.command('worker').description('the sample worker: get a token, call GET /hello, which it also serves'),
).action(async (options) => {
  const { runWorkerCommand } = await import('./command-line/worker.ts');
  process.exitCode = await runWorkerCommand(options, print);
});

function print(lines: string | readonly string[]): void {
  process.stdout.write(`${typeof lines === 'string' ? lines : lines.join('\n')}\n`);
}

function finish({ lines, passed }: { readonly lines: readonly string[]; readonly passed: boolean }): void {
  print(lines);
  if (!passed) process.exitCode = 1;
}

try {
  await program.parseAsync();
} catch (error) {
  if (!(error instanceof Error)) throw error;
  process.stderr.write(`${isForTerminal(error) ? error.message : error.stack}\n`);
  // At once: in a worker process the channel to the primary would keep it alive.
  process.exit(2);
}
