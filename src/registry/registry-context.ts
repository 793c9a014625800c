/** What all registry operations share: their dependencies, and turns, so that a check and its write belong together. */
import type { Clock } from '../clock.ts';
import type { AuditLog } from '../observe/audit-log.ts';
import { err, ok, type Result } from '../result.ts';
import type { InputProblem } from './input-problem.ts';
import { problem } from './input-problem.ts';
import type { KeySourceProbe } from './key-source-probe.ts';
import { invalidInput, type RegistryError, type ResourceType } from './registry-error.ts';
import type { RegistryStore } from './registry-store.ts';
import {
  createWriteAudit,
  type WriteAudit,
  type WriteOrigin,
  type WriteSubject,
  type WriteVerb,
} from './write-audit.ts';

export type RegistryDependencies = {
  readonly store: RegistryStore;
  readonly auditLog: AuditLog;
  readonly clock: Clock;
  /** Our own issuer identifier. */
  readonly ownIssuer: string;
  /** Looks at key sources while they are written; nobody does where absent. */
  readonly keySourceProbe?: KeySourceProbe | undefined;
};

export type RegistryContext = Omit<RegistryDependencies, 'auditLog'> & {
  readonly audit: WriteAudit;
  /**
   * Runs one write after the other: two updates of one row must not undo each other, and what was checked must still
   * hold when it is written. Between processes, the unique indexes of storage decide.
   */
  inTurn<T>(write: () => Promise<T>): Promise<T>;
  /** Runs a write in turn and records it if it is refused. Accepted writes record themselves, with what changed. */
  write<T>(
    what: { readonly resourceType: ResourceType; readonly verb: WriteVerb; readonly row: WriteSubject },
    origin: WriteOrigin,
    write: () => Promise<Result<T, RegistryError>>,
  ): Promise<Result<T, RegistryError>>;
};

export function createRegistryContext({ auditLog, ...dependencies }: RegistryDependencies): RegistryContext {
  const audit = createWriteAudit(auditLog, dependencies.clock);
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(write: () => Promise<T>): Promise<T> => {
    const result = last.then(write);
    last = result.catch(() => undefined);
    return result;
  };
  return {
    ...dependencies,
    audit,
    inTurn,
    async write({ resourceType, verb, row }, origin, write) {
      const result = await inTurn(write);
      if (!result.ok) await audit.refused(resourceType, verb, origin, row, result.error);
      return result;
    },
  };
}

/** The `id` of an update, and the fields beside it. */
export function readUpdate(
  input: unknown,
): Result<{ readonly id: string; readonly changes: Readonly<Record<string, unknown>> }, RegistryError> {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    return err(invalidInput([problem('must be an object of fields')]));
  }
  const { id, ...changes }: { readonly id?: unknown } = input;
  if (typeof id !== 'string' || id === '') return err(invalidInput([problem('is required', 'id')]));
  return ok({ id, changes });
}

/** A text member of an input that has not been checked yet, for the audit record. */
export function textMember(input: unknown, name: string): string | null {
  if (typeof input !== 'object' || input === null) return null;
  const value: unknown = Object.getOwnPropertyDescriptor(input, name)?.value;
  return typeof value === 'string' ? value : null;
}

/** Refuses an input for one reason. */
export function refuse(...problems: readonly InputProblem[]): Result<never, RegistryError> {
  return err(invalidInput(problems));
}
