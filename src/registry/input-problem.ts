/**
 * What is wrong with an input, field by field: a path and a sentence that names the mend. Knows zod; knows neither
 * GraphQL nor the file format that the input came in.
 */
import type { z } from 'zod';

export type InputProblem = {
  /** Field names and list positions, from the outside in; empty when the input as a whole is wrong. */
  readonly path: readonly string[];
  readonly message: string;
};

/** A problem at one path. */
export function problem(message: string, ...path: string[]): InputProblem {
  return { path, message };
}

export type ReadFields<S extends z.ZodObject> = {
  /** All fields, once every one of them could be read. */
  readonly complete: z.output<S> | null;
  /** The fields that could be read, for the checks that look at several of them. */
  readonly readable: Partial<z.output<S>>;
  readonly problems: readonly InputProblem[];
};

/**
 * Reads an object of fields. Members that are null count as not given: clients in many languages write null for a
 * field they leave out. Unlike a plain parse, one bad field does not hide what is wrong with the others together.
 */
export function readFields<S extends z.ZodObject>(schema: S, input: unknown): ReadFields<S> {
  if (!isObject(input)) return { complete: null, readable: {}, problems: [problem('must be an object of fields')] };
  const given = withoutNulls(input);
  const parsed = schema.safeParse(given);
  if (parsed.success) return { complete: parsed.data, readable: parsed.data, problems: [] };
  const readable: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(schema.shape as Readonly<Record<string, z.ZodType>>)) {
    const value = field.safeParse(given[name]);
    if (value.success) readable[name] = value.data;
  }
  return {
    complete: null,
    // Each member was just read by the field of its own name.
    readable: readable as Partial<z.output<S>>,
    problems: parsed.error.issues.flatMap(problemsOf),
  };
}

function problemsOf(issue: z.core.$ZodIssue): readonly InputProblem[] {
  const path = issue.path.map(String);
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => problem('unknown field', ...path, key));
  return [{ path, message: issue.message }];
}

/** Without the members that are null or undefined. */
export function withoutNulls(input: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== null && value !== undefined));
}

function isObject(input: unknown): input is Readonly<Record<string, unknown>> {
  return typeof input === 'object' && input !== null && !Array.isArray(input);
}
