/**
 * GraphQL validation with one leniency: a variable may be declared as `String` or `[String!]` where our schema has
 * `StringList` or `Map`, as documents do that were written for Authorizer's schema; and `String` and `ID`, which hold
 * the same values, may stand for each other.
 */
import {
  type DocumentNode,
  type GraphQLError,
  type GraphQLSchema,
  getNullableType,
  type OperationDefinitionNode,
  print,
  specifiedRules,
  type ValidationContext,
  type ValidationRule,
  VariablesInAllowedPositionRule,
  validate,
} from 'graphql';
import { documentLimitError } from './document-limits.ts';

/** By the type that a position expects: the types that a variable there may be declared with, besides its own. */
const ALSO_DECLARED_AS: Readonly<Record<string, readonly string[]>> = {
  StringList: ['String', 'ID', '[String]', '[ID]'],
  Map: ['String'],
  ID: ['String'],
  String: ['ID'],
};
/** More errors of one document help nobody. */
const MAX_ERRORS = 20;

const RULES: readonly ValidationRule[] = specifiedRules.map((rule) =>
  rule === VariablesInAllowedPositionRule ? variablesInLenientPositions : rule,
);

/** The errors of a document: first its limits, and only within them the rules, some of which are costly. */
export function validateDocument(schema: GraphQLSchema, document: DocumentNode): readonly GraphQLError[] {
  const exceeded = documentLimitError(document);
  return exceeded === null ? validate(schema, document, RULES, { maxErrors: MAX_ERRORS }) : [exceeded];
}

/** The rule of the specification (§5.8.5), blind to the usages that we allow. */
function variablesInLenientPositions(context: ValidationContext): ReturnType<ValidationRule> {
  const seen: ValidationContext = Object.create(context);
  seen.getRecursiveVariableUsages = (operation) =>
    context.getRecursiveVariableUsages(operation).filter(({ node, type }) => {
      const alsoDeclaredAs = type ? ALSO_DECLARED_AS[String(getNullableType(type))] : undefined;
      return !alsoDeclaredAs?.includes(declaredType(operation, node.name.value));
    });
  return VariablesInAllowedPositionRule(seen);
}

/** The declared type without its exclamation marks: a value that is null after all is refused when it is used. */
function declaredType(operation: OperationDefinitionNode, variable: string): string {
  const definition = operation.variableDefinitions?.find((candidate) => candidate.variable.name.value === variable);
  return definition === undefined ? '' : print(definition.type).replaceAll('!', '');
}
