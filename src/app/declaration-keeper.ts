/**
 * Keeps the declarative file in force: applied before anything is served, and again whenever it changes. A bad change
 * is refused as a whole, and what was in force before stays.
 */
import { randomUUID } from 'node:crypto';
import type { Clock } from '../clock.ts';
import type { Config } from '../config.ts';
import { readDeclarativeFile } from '../declarative-file/declarative-file.ts';
import { fileSignature } from '../declarative-file/file-signature.ts';
import type { Log } from '../observe/log.ts';
import type { DeclarationOperations } from '../registry/declaration-operations.ts';
import { frugally } from './frugal-work.ts';

/** How often the file is looked at. A change counts at the second look: an editor may be half way through it. */
const LOOK_INTERVAL_MS = 1_000;
/** Most lines of one refusal in the log. */
const MAX_LOGGED_PROBLEMS = 50;

/** The declarative file can not be put in force, so the server does not start. The message is for the terminal. */
export class UnusableDeclaration extends Error {}

export type DeclarationKeeperOptions = {
  readonly registry: DeclarationOperations;
  readonly clock: Clock;
  readonly log: Log;
  /** Told of each reading. */
  readonly onRead: (outcome: 'applied' | 'refused') => void;
};

export type DeclarationKeeper = AsyncDisposable & {
  /** Reads the file again now, changed or not. Never rejects: what is wrong is in log and audit. */
  reload(): Promise<void>;
};

/**
 * Applies the file and then watches it; null where none is set. Rejects with an `UnusableDeclaration` that has every
 * problem.
 */
export async function keepDeclaration(
  { declarativeFile, issuer }: Pick<Config, 'declarativeFile' | 'issuer'>,
  options: DeclarationKeeperOptions,
): Promise<DeclarationKeeper | null> {
  if (declarativeFile !== null) return startKeeper(declarativeFile, issuer, options);
  // Trust that nobody reviews any more, and that the API may not take back, must not stay in force unseen.
  if (await options.registry.hasDeclaredRows()) {
    throw new UnusableDeclaration(
      'COUNTERSIGN_CONFIG is not set, but the database has rows that a declarative file keeps: set it to that file, or to one that holds {} to remove them',
    );
  }
  return null;
}

async function startKeeper(
  path: string,
  ownIssuer: string,
  { registry, clock, log, onRead }: DeclarationKeeperOptions,
): Promise<DeclarationKeeper> {
  let files: readonly string[] = [];
  let appliedSignature = '';
  let seenSignature = '';
  let refusedDigest: string | null = null;
  let last: Promise<void> = Promise.resolve();

  /** Answers the problems, as lines; none when the file is in force. */
  async function read(): Promise<readonly string[]> {
    const before = await fileSignature(path, files);
    const file = await frugally(() => readDeclarativeFile(path, ownIssuer, clock()));
    const isOneState = (await fileSignature(path, files)) === before;
    const origin = { requestId: randomUUID(), file: path };
    const applied = await frugally(() => registry.applyDeclaration(file.declaration, origin));
    files = file.files;
    // What was written while it was being read is read again.
    appliedSignature = isOneState ? await fileSignature(path, files) : '';
    if (applied.ok) {
      const count = (verb: string) => applied.value.filter((difference) => difference.verb === verb).length;
      const changes = { created: count('created'), updated: count('updated'), deleted: count('deleted') };
      log.info({ file: path, request_id: origin.requestId, ...changes }, 'declarative file applied');
      for (const warning of file.describe(file.warnings)) log.warn({ warning }, 'declarative file');
      refusedDigest = null;
      onRead('applied');
      return [];
    }
    const problems = file.describe(applied.error);
    onRead('refused');
    // Once for each content, however often it is read.
    if (refusedDigest !== file.digest) {
      log.error(
        { file: path, request_id: origin.requestId, problems: problems.slice(0, MAX_LOGGED_PROBLEMS) },
        'declarative file refused',
      );
      await registry.recordRefusedDeclaration(problems, origin);
    }
    refusedDigest = file.digest;
    return problems;
  }

  function reload(): Promise<void> {
    last = last.then(read).then(
      () => undefined,
      (error: unknown) => {
        // A fault, such as a database that is away: the next look tries again.
        appliedSignature = '';
        log.error({ error }, 'fault');
      },
    );
    return last;
  }

  const problems = await read();
  if (problems.length > 0) throw new UnusableDeclaration(problems.join('\n'));

  const timer = setInterval(async () => {
    const signature = await fileSignature(path, files);
    const isSettled = signature === seenSignature;
    seenSignature = signature;
    if (isSettled && signature !== appliedSignature) await reload();
  }, LOOK_INTERVAL_MS).unref();

  return {
    reload,
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await last;
    },
  };
}
