/**
 * Limits of a GraphQL document, checked before anything looks at its meaning: a small text can ask for very much work.
 * Pure functions of the parsed document; the length of the text in tokens is limited by the parser.
 */
import { type DocumentNode, type FragmentDefinitionNode, GraphQLError, Kind, type SelectionSetNode } from 'graphql';
import { ADMIN_ERROR_CODES } from './admin-error.ts';

export const MAX_TOKENS = 2000;
export const MAX_DEPTH = 10;
/** GraphiQL's own introspection query nests `ofType` to 13 levels; lists in it are limited by graphql-js. */
export const MAX_INTROSPECTION_DEPTH = 20;
/** Authorizer's number. An alias repeats a field's work without repeating its name. */
export const MAX_ALIASES = 30;

type Measure = { readonly depth: number; readonly introspectionDepth: number; readonly aliases: number };

const NOTHING: Measure = { depth: 0, introspectionDepth: 0, aliases: 0 };
const INTROSPECTION_FIELDS = ['__schema', '__type'];

/** The first limit that an operation of the document exceeds; null when none does. */
export function documentLimitError(document: DocumentNode): GraphQLError | null {
  const measureOf = createMeasure(document);
  for (const definition of document.definitions) {
    if (definition.kind !== Kind.OPERATION_DEFINITION) continue;
    const { depth, introspectionDepth, aliases } = measureOf(definition.selectionSet);
    if (depth > MAX_DEPTH) return limitError(`the query is ${depth} levels deep, more than ${MAX_DEPTH}`);
    if (introspectionDepth > MAX_INTROSPECTION_DEPTH) {
      return limitError(`the introspection is ${introspectionDepth} levels deep, more than ${MAX_INTROSPECTION_DEPTH}`);
    }
    if (aliases > MAX_ALIASES) return limitError(`the query has ${aliases} aliases, more than ${MAX_ALIASES}`);
  }
  return null;
}

/** Each fragment is measured once, however often it is spread. One within itself counts nothing: validation refuses it. */
function createMeasure(document: DocumentNode): (set: SelectionSetNode) => Measure {
  const fragments = new Map<string, FragmentDefinitionNode>();
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments.set(definition.name.value, definition);
  }
  const measured = new Map<string, Measure>();

  function ofFragment(name: string): Measure {
    const known = measured.get(name);
    if (known !== undefined) return known;
    const fragment = fragments.get(name);
    measured.set(name, NOTHING);
    const measure = fragment === undefined ? NOTHING : ofSet(fragment.selectionSet);
    measured.set(name, measure);
    return measure;
  }

  function ofSet(set: SelectionSetNode): Measure {
    return set.selections.map(ofSelection).reduce(
      (sum, next) => ({
        depth: Math.max(sum.depth, next.depth),
        introspectionDepth: Math.max(sum.introspectionDepth, next.introspectionDepth),
        aliases: sum.aliases + next.aliases,
      }),
      NOTHING,
    );
  }

  function ofSelection(selection: SelectionSetNode['selections'][number]): Measure {
    if (selection.kind === Kind.FRAGMENT_SPREAD) return ofFragment(selection.name.value);
    if (selection.kind === Kind.INLINE_FRAGMENT) return ofSet(selection.selectionSet);
    const inner = selection.selectionSet === undefined ? NOTHING : ofSet(selection.selectionSet);
    const aliases = inner.aliases + (selection.alias === undefined ? 0 : 1);
    const depth = inner.depth + 1;
    return INTROSPECTION_FIELDS.includes(selection.name.value)
      ? { depth: 1, introspectionDepth: depth, aliases }
      : { depth, introspectionDepth: inner.introspectionDepth, aliases };
  }

  return ofSet;
}

/** The caller's mistake, whatever media type it accepts: a 400 also to those who expect 200 for GraphQL errors. */
function limitError(message: string): GraphQLError {
  return new GraphQLError(message, { extensions: { code: ADMIN_ERROR_CODES.invalidArgument, http: { status: 400 } } });
}
