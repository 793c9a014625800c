/**
 * The kinds of field that registry inputs are made of. Texts are kept byte for byte: nothing is trimmed, folded or
 * normalised. Knows no field by name.
 */
import { z } from 'zod';
import { readJsonObject } from '../assertion/json-object.ts';
import { RESERVED_CLAIMS } from '../issuance/access-token.ts';
import { isResourceIndicator } from '../issuance/resource.ts';

/** Longest URL or issuer string. */
export const MAX_URL_LENGTH = 2048;
/** Most entries in a list; real ones have a handful. */
const MAX_LIST_LENGTH = 100;

const isPrintable = (text: string) => !/\p{Cc}/u.test(text) && text.isWellFormed();
const notPrintable = 'must not contain control characters';

/** Text that must be there, at most `max` characters. */
export function requiredText(max: number) {
  return z
    .string({ error: (issue) => (issue.input === undefined ? 'is required' : 'must be text') })
    .refine((text) => text.trim() !== '', 'must not be empty')
    .refine((text) => text.length <= max, `must not be longer than ${max} characters`)
    .refine(isPrintable, notPrintable);
}

/** Text that may be absent: null. An empty one clears what was there. Line breaks are for PEM, JSON and the like. */
export function optionalText(max: number, lines: 'one line' | 'many lines' = 'one line') {
  return z
    .string('must be text')
    .refine((text) => text.length <= max, `must not be longer than ${max} characters`)
    .refine((text) => lines === 'many lines' || isPrintable(text), notPrintable)
    .transform((text) => (text === '' ? null : text))
    .default(null);
}

/** One of a few words. */
export function oneOf<const W extends readonly string[]>(words: W) {
  return z.enum(words, {
    error: (issue) => (issue.input === undefined ? 'is required' : `must be one of ${words.join(', ')}`),
  });
}

/** True or false. */
export function flag(otherwise: boolean) {
  return z.boolean('must be true or false').default(otherwise);
}

/** A whole number within bounds. */
export function wholeNumber(min: number, max: number) {
  const message = `must be a whole number from ${min} to ${max}`;
  return z.number(message).refine((value) => Number.isInteger(value) && value >= min && value <= max, message);
}

/**
 * A list of texts, or one text with commas between them; white space around those commas is not part of a value, and
 * blank places are dropped. A value that itself has a comma must come in a list. Repeated values count once.
 */
export function textList<T extends z.ZodType<string, string>>(item: T, max = MAX_LIST_LENGTH) {
  return z
    .union([z.string().transform(splitAtCommas), z.array(z.string())], {
      error: (issue) =>
        issue.input === undefined ? 'is required' : 'must be a list of texts, or one text with commas between them',
    })
    .pipe(z.array(item).max(max, `must not have more than ${max} entries`))
    .transform((values): readonly string[] => [...new Set(values)]);
}

function splitAtCommas(text: string): string[] {
  return text
    .split(',')
    .map((value) => value.trim())
    .filter((value) => value !== '');
}

/** An absolute URI without a fragment (RFC 8707 §2). */
export const resourceIndicator = requiredText(MAX_URL_LENGTH).refine(
  isResourceIndicator,
  'must be an absolute URI without a fragment, such as https://api.example.com',
);

/**
 * A JSON object, or JSON text of one: where a name has a dot, GraphQL literals can't write it as an object. No member is
 * ever dropped: a condition that was lost on the way would let more through than the admin wrote.
 */
export function jsonObject<V extends z.ZodType>(value: V, maxMembers: number) {
  const notAnObject = 'must be a JSON object, or JSON text of one with every member once';
  return z
    .unknown()
    .transform((input) => (typeof input === 'string' ? parseObject(input) : input))
    .refine((input) => typeof input === 'object' && input !== null && !Array.isArray(input), {
      error: notAnObject,
      abort: true,
    })
    .refine((input) => !Object.hasOwn(Object(input), '__proto__'), {
      error: 'must not have a member __proto__',
      abort: true,
    })
    .pipe(z.record(z.string(), value, notAnObject))
    .refine((object) => Object.keys(object).length <= maxMembers, `must not have more than ${maxMembers} members`);
}

function parseObject(text: string): unknown {
  if (text === '') return {};
  const object = readJsonObject(Buffer.from(text, 'utf8'));
  return object.ok ? object.value : null;
}

/** Whether a binding may add a claim of this name to the tokens we issue. */
export function isReservedClaim(name: string): boolean {
  return RESERVED_CLAIMS.includes(name);
}
