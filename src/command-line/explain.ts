/**
 * `countersign explain --token-file F`: why the server would accept or refuse this assertion, step by step, without
 * using it up. Reads the same database as the server, and fetches keys as it would.
 */
import { readFile } from 'node:fs/promises';
import { openAppStores } from '../app/stores.ts';
import { createVerification } from '../app/verification.ts';
import { type AssertionExplanation, explainAssertion } from '../assertion/explain-assertion.ts';
import { systemClock } from '../clock.ts';
import type { Config } from '../config.ts';
import { CommandFailure } from './command-failure.ts';

/** The explanation of the assertion in a file; surrounding white space of the file does not count. */
export async function explainTokenFile(
  config: Config,
  path: string,
  clientId: string | null,
): Promise<AssertionExplanation> {
  const assertion = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new CommandFailure(`--token-file ${path} can not be read (${error.code}): name a file with one token`);
  });
  await using stores = await openAppStores(config, systemClock);
  await using verification = createVerification(config, stores, systemClock, null);
  return await explainAssertion(verification.ports, {
    assertion: assertion.trim(),
    clientId,
    requestId: 'explain',
    now: systemClock(),
  });
}

/** The explanation as lines for a terminal. */
export function explanationLines(explanation: AssertionExplanation): readonly string[] {
  const steps = explanation.checks.flatMap(({ name, passed, detail, hint }) => [
    `${passed ? 'ok  ' : 'FAIL'} ${name}: ${detail}`,
    ...(hint === null ? [] : [`     ${hint}`]),
  ]);
  const verdict = explanation.accepted
    ? `accepted as client ${explanation.clientId}`
    : `refused: ${explanation.reason}`;
  return [...steps, verdict];
}
