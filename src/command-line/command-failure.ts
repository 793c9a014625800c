/** How a command says that it can not go on: a sentence for the terminal that names the setting and the mend. */
import { UnusableDeclaration } from '../app/declaration-keeper.ts';
import { UnusableSecretFile } from '../secret-file.ts';
import { StorageError } from '../storage/storage-error.ts';

export class CommandFailure extends Error {}

/** Whether an error was written for whoever typed the command; anything else is a fault and shows its stack. */
export function isForTerminal(error: Error): boolean {
  return [CommandFailure, UnusableDeclaration, UnusableSecretFile, StorageError].some((kind) => error instanceof kind);
}
