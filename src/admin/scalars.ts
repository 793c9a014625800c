/**
 * The scalars of the admin schema. They carry values and check little: what a field may hold is the registry's to say,
 * with the field's path.
 */
import { GraphQLScalarType, Kind, type ValueNode, valueFromASTUntyped } from 'graphql';

/** Authorizer's whole numbers: JSON numbers, exact up to 2^53. */
const int64 = new GraphQLScalarType({
  name: 'Int64',
  description: 'A whole number, as a JSON number.',
  coerceInputValue: wholeNumber,
  coerceInputLiteral: (node) => wholeNumber(node.kind === Kind.INT ? Number(node.value) : undefined),
  coerceOutputValue: wholeNumber,
});

function wholeNumber(value: unknown): number {
  if (!Number.isSafeInteger(value)) throw new TypeError('not a whole number');
  return Number(value);
}

const stringList = new GraphQLScalarType({
  name: 'StringList',
  description: 'A list of strings, or one string with commas between the values.',
  coerceInputValue: textOrTexts,
  coerceInputLiteral: (node) => textOrTexts(valueFromASTUntyped(node)),
});

function textOrTexts(value: unknown): unknown {
  const isText = (entry: unknown) => typeof entry === 'string';
  if (isText(value) || (Array.isArray(value) && value.every(isText))) return value;
  throw new TypeError('not a list of strings');
}

const map = new GraphQLScalarType({
  name: 'Map',
  description: 'A JSON object; as input also JSON text of one, since a GraphQL literal has no member with a dot.',
  coerceInputValue: objectOrText,
  coerceInputLiteral: (node) => objectOrText(objectOf(node)),
  coerceOutputValue: (value) => value,
});

function objectOrText(value: unknown): unknown {
  if (typeof value === 'string' || (typeof value === 'object' && value !== null && !Array.isArray(value))) return value;
  throw new TypeError('not a JSON object');
}

function objectOf(node: ValueNode): unknown {
  return valueFromASTUntyped(node);
}

/** By the names that the type definitions use. */
export const scalars = { Int64: int64, StringList: stringList, Map: map };
