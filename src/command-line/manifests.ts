/** `countersign manifests render`: the runner's manifests with the names, audience and people of a cluster. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runnerFiles, runnerStream } from '../manifests/runner-manifests.ts';
import { parseRunnerParameters } from '../manifests/runner-parameters.ts';
import { CommandFailure } from './command-failure.ts';
import { givenParameters, type ManifestOptions } from './manifest-flags.ts';

/**
 * The manifests as text; with `outputDir`, they are written there as a kustomize base, and the text says what was.
 * Throws a `CommandFailure` with every problem of the parameters.
 */
export function renderManifests(options: ManifestOptions): string {
  const parameters = parseRunnerParameters(givenParameters(options));
  if (!parameters.ok) {
    throw new CommandFailure(
      parameters.error.map(({ flag, problem, mend }) => `${flag} ${problem}: ${mend}`).join('\n'),
    );
  }
  const { outputDir } = options;
  if (typeof outputDir !== 'string') return runnerStream(parameters.value).trimEnd();
  try {
    mkdirSync(outputDir, { recursive: true });
    for (const { name, text } of runnerFiles(parameters.value)) writeFileSync(join(outputDir, name), text);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    throw new CommandFailure(`--output-dir can not be written (${code}): name a folder that this process may write`);
  }
  return runnerFiles(parameters.value)
    .map(({ name }) => `wrote ${join(outputDir, name)}`)
    .join('\n');
}
