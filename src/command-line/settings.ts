/** Settings on the command line: the flags that every command with a configuration shares, and what they add up to. */
import { type Command, InvalidArgumentError } from 'commander';
import { type Config, type ConfigFlags, describeProblems, readConfig, SETTINGS, type SettingName } from '../config.ts';
import { CommandFailure } from './command-failure.ts';

/** Adds the flags of the given settings, all of them if none are named. */
export function withSettings(command: Command, names: readonly SettingName[] = settingNames()): Command {
  for (const name of names) {
    const { flag, env, fallback, help } = SETTINGS[name];
    const inherited = fallback === null || fallback === '' ? `or ${env}` : `or ${env}, default ${fallback}`;
    command.option(`--${flag} <value>`, `${help} (${inherited})`);
  }
  return command;
}

/** The configuration of a command that was given `options`. Throws a `CommandFailure` with every problem. */
export function configOf(options: Readonly<Record<string, unknown>>): Config {
  const flags: Partial<Record<SettingName, string>> = {};
  for (const name of settingNames()) {
    const value = options[camelCase(SETTINGS[name].flag)];
    if (typeof value === 'string') flags[name] = value;
  }
  const config = readConfig(flags satisfies ConfigFlags);
  if (!config.ok) throw new CommandFailure(describeProblems(config.error));
  return config.value;
}

/** An option's value that must be one of `words`. */
export function oneOf<W extends string>(words: readonly W[]): (value: string) => W {
  return (value) => {
    const word = words.find((known) => known === value);
    if (word === undefined) throw new InvalidArgumentError(`must be one of ${words.join(', ')}`);
    return word;
  };
}

function settingNames(): readonly SettingName[] {
  return Object.keys(SETTINGS) as SettingName[]; // the object is a constant of this house
}

function camelCase(flag: string): string {
  return flag.replace(/-(.)/g, (_dash, letter: string) => letter.toUpperCase());
}
