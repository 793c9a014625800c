/** One YAML document: its value, and the line on which each part of it stands. */
import { EVENT_ID, type Event, getScalarValue, load, parseEvents, YAMLException } from 'js-yaml';
import { err, ok, type Result } from '../result.ts';

export type YamlDocument = {
  readonly value: unknown;
  /** The line, from 1, of what stands at a path, or of the innermost part that is there. */
  lineOf(path: readonly string[]): number;
};

export type YamlProblem = { readonly line: number; readonly message: string };

/**
 * Reads YAML 1.2 with its core schema: a repeated key is an error, `yes` is a text. Aliases are refused: what a reviewer
 * reads is what is declared.
 */
export function readYamlDocument(text: string): Result<YamlDocument, YamlProblem> {
  try {
    const value = load(text, { maxAliases: 0 });
    let events: readonly Event[] | null = null;
    return ok({
      value,
      lineOf(path) {
        // Only for a document with something wrong in it: positions of ten thousand entries are many.
        events ??= parseEvents(text, {});
        return lineAt(text, offsetOf(text, events, path));
      },
    });
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error;
    const message = `is not one YAML document: ${error.reason} (to declare nothing, write {})`;
    return err({ line: (error.mark?.line ?? 0) + 1, message });
  }
}

function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length;
}

/** The events are the document's nodes in order, a `POP` closing each collection; the first one opens the document. */
function offsetOf(text: string, events: readonly Event[], path: readonly string[]): number {
  let at = 1;
  let offset = startOf(events[at]) ?? 0;
  for (const name of path) {
    const found = memberAt(text, events, at, name);
    if (found === null) return offset;
    at = found.at;
    offset = found.offset;
  }
  return offset;
}

/** A mapping's member begins with its key, a sequence's item with itself. */
function memberAt(text: string, events: readonly Event[], at: number, name: string) {
  const node = events[at];
  const isMapping = node?.type === EVENT_ID.MAPPING;
  if (!isMapping && node?.type !== EVENT_ID.SEQUENCE) return null;
  let index = 0;
  for (let next = at + 1; events[next]?.type !== EVENT_ID.POP; index += 1) {
    const value = isMapping ? after(events, next) : next;
    const key = events[next];
    const isFound = isMapping
      ? key?.type === EVENT_ID.SCALAR && getScalarValue(text, key) === name
      : String(index) === name;
    if (isFound) return { at: value, offset: startOf(key) ?? 0 };
    next = after(events, value);
  }
  return null;
}

/** The position behind the node that begins at `at`. */
function after(events: readonly Event[], at: number): number {
  let open = 0;
  let next = at;
  do {
    const type = events[next]?.type;
    if (type === EVENT_ID.MAPPING || type === EVENT_ID.SEQUENCE) open += 1;
    if (type === EVENT_ID.POP) open -= 1;
    next += 1;
  } while (open > 0);
  return next;
}

function startOf(event: Event | undefined): number | null {
  switch (event?.type) {
    case EVENT_ID.SCALAR:
      return event.valueStart;
    case EVENT_ID.MAPPING:
    case EVENT_ID.SEQUENCE:
      return event.start;
    default:
      return null;
  }
}
