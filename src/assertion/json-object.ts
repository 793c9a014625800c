/**
 * Reads bytes as one JSON object, strictly: UTF-8 without a byte order mark, bounded nesting, no repeated member at any
 * depth. `JSON.parse` keeps the last of two equal members and Go's decoder ignores their case: a token that two
 * verifiers read differently must not exist (RFC 7519 §4, RFC 8725 §2.4).
 */
import { err, ok, type Result } from '../result.ts';

/** Deepest nesting; real tokens need four. */
const MAX_DEPTH = 16;

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The object, or what is wrong with the bytes as a phrase. Never throws. */
export function readJsonObject(bytes: Uint8Array): Result<Readonly<Record<string, unknown>>, string> {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    return err('not UTF-8');
  }
  const shape = measure(text);
  if (shape.depth > MAX_DEPTH) return err('nested too deeply');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return err('not JSON');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return err('not a JSON object');
  if (countMembers(value) !== shape.members) return err('a member is repeated');
  const names = Object.keys(value);
  if (new Set(names.map((name) => name.toLowerCase())).size !== names.length) {
    return err('two members differ only by case');
  }
  return ok(value as Record<string, unknown>);
}

/** Nesting depth, and colons outside strings: in valid JSON there is exactly one for each member written. */
function measure(text: string): { readonly depth: number; readonly members: number } {
  let depth = 0;
  let deepest = 0;
  let members = 0;
  let inString = false;
  for (let index = 0; index < text.length; index += 1) {
    const character = text[index];
    if (inString) {
      if (character === '\\') index += 1;
      else if (character === '"') inString = false;
    } else if (character === '"') inString = true;
    else if (character === ':') members += 1;
    else if (character === '{' || character === '[') deepest = Math.max(deepest, ++depth);
    else if (character === '}' || character === ']') depth -= 1;
  }
  return { depth: deepest, members };
}

/** Members that were kept when the text was parsed. */
function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const children = Object.values(value);
  const own = Array.isArray(value) ? 0 : children.length;
  return children.reduce((sum: number, child) => sum + countMembers(child), own);
}
