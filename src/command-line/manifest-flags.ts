/** The flags of `countersign manifests render`: one for each parameter of the manifests. */
import { type Command, Option } from 'commander';
import { type GivenParameters, RUNNER_PARAMETERS, type RunnerParameterName } from '../manifests/runner-parameters.ts';

export type ManifestOptions = Readonly<Record<string, unknown>>;

/** Adds the flags. */
export function withManifestFlags(command: Command): Command {
  for (const name of parameterNames()) command.addOption(optionOf(name));
  return command
    .option('--allow-insecure-endpoint', 'permit plain http to an endpoint that is not loopback')
    .option('--output-dir <folder>', 'write a kustomize base there, instead of printing');
}

/** The parameters among parsed flags. */
export function givenParameters(options: ManifestOptions): GivenParameters {
  const given: Partial<Record<RunnerParameterName, string>> = {};
  for (const name of parameterNames()) {
    const value = options[optionOf(name).attributeName()];
    if (typeof value === 'string') given[name] = value;
  }
  return { ...given, allowInsecureEndpoint: options.allowInsecureEndpoint === true };
}

function optionOf(name: RunnerParameterName): Option {
  const { flag, value, fallback, help } = RUNNER_PARAMETERS[name];
  return new Option(`--${flag} ${value}`, fallback === '' ? help : `${help} (default ${fallback})`);
}

function parameterNames(): readonly RunnerParameterName[] {
  return Object.keys(RUNNER_PARAMETERS) as RunnerParameterName[]; // the object is a constant of this house
}
