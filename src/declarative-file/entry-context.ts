/** What the readers of all kinds of entries share: where they are, and where problems and warnings are collected. */
import { below, type DeclarationProblem, type Place } from '../registry/declaration.ts';
import type { InputProblem } from '../registry/input-problem.ts';
import type { Result } from '../result.ts';

export type EntryContext = {
  /** Our own issuer identifier. */
  readonly ownIssuer: string;
  /** Seconds since the epoch. */
  readonly now: number;
  /** A file beside the document, read once. The error is a sentence for the admin. */
  readonly readFile: (document: number, path: string) => Promise<Result<string, string>>;
  readonly problems: DeclarationProblem[];
  readonly warnings: DeclarationProblem[];
};

export type Entry = Readonly<Record<string, unknown>>;

/** The entry as an object of members; null, and a problem, where it is something else. */
export function readEntry(entry: unknown, place: Place, { problems }: EntryContext): Entry | null {
  if (typeof entry === 'object' && entry !== null && !Array.isArray(entry)) return entry as Entry; // its own members only
  problems.push({ place, message: 'must be a mapping of fields' });
  return null;
}

/** A list of entries; an absent or empty member is an empty list. */
export function readList(value: unknown, place: Place, { problems }: EntryContext): readonly unknown[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value;
  problems.push({ place, message: 'must be a list: begin each entry with a dash' });
  return [];
}

/** Problems of a registry input, at their place in the file. `rename` gives a field the name it has there. */
export function addProblems(
  context: EntryContext,
  place: Place,
  problems: readonly InputProblem[],
  rename: (path: readonly string[]) => readonly string[] = (path) => path,
): void {
  // One thing wrong with a field is enough: a rule of the file has often said it more plainly.
  const known = new Set(problemsBelow(context, place).map((problem) => JSON.stringify(problem.place)));
  const placed = problems.map(({ path, message }) => ({ place: below(place, ...rename(path)), message }));
  context.problems.push(...placed.filter((problem) => !known.has(JSON.stringify(problem.place))));
}

/** The problems of the entry that is being read: the last ones, however many other entries have some. */
function problemsBelow({ problems }: EntryContext, { document, path }: Place): readonly DeclarationProblem[] {
  const isBelow = ({ place }: DeclarationProblem) =>
    place.document === document && path.every((name, index) => place.path[index] === name);
  return problems.slice(problems.findLastIndex((problem) => !isBelow(problem)) + 1);
}

/** Members that are not given: absent, null or an empty text. */
export function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '';
}
