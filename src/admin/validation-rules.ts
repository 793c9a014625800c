/**
 * GraphQL validation with one leniency: a variable declared as `String` or `[String!]` may stand where our schema has
 * `StringList` or `Map`. Documents written for Authorizer, whose schema has plain strings there, declare them so.
 */
import {
  type DocumentNode,
  type GraphQLError,
  type GraphQLSchema,
  getNamedType,
  Kind,
  type OperationDefinitionNode,
  specifiedRules,
  type TypeNode,
  type ValidationContext,
  type ValidationRule,
  VariablesInAllowedPositionRule,
  validate,
} from 'graphql';
import { documentLimitError } from './document-limits.ts';

/** Our scalars that take what a string variable holds. */
const LENIENT_SCALARS = ['StringList', 'Map'];
/** More errors of one document help nobody. */
const MAX_ERRORS = 20;

const RULES: readonly ValidationRule[] = specifiedRules.map((rule) =>
  rule === VariablesInAllowedPositionRule ? stringVariablesInLenientPositions : rule,
);

/** The errors of a document: first its limits, and only within them the rules, some of which are costly. */
export function validateDocument(schema: GraphQLSchema, document: DocumentNode): readonly GraphQLError[] {
  const exceeded = documentLimitError(document);
  return exceeded === null ? validate(schema, document, RULES, { maxErrors: MAX_ERRORS }) : [exceeded];
}

/** The rule of the specification (§5.8.5), blind to the usages that we allow. */
function stringVariablesInLenientPositions(context: ValidationContext): ReturnType<ValidationRule> {
  const seen: ValidationContext = Object.create(context);
  seen.getRecursiveVariableUsages = (operation) =>
    context.getRecursiveVariableUsages(operation).filter(({ node, type }) => {
      const position = type ? getNamedType(type).name : '';
      return !(LENIENT_SCALARS.includes(position) && isDeclaredAsString(operation, node.name.value));
    });
  return VariablesInAllowedPositionRule(seen);
}

function isDeclaredAsString(operation: OperationDefinitionNode, variable: string): boolean {
  const definition = operation.variableDefinitions?.find((candidate) => candidate.variable.name.value === variable);
  return definition !== undefined && namedType(definition.type) === 'String';
}

function namedType(type: TypeNode): string {
  return type.kind === Kind.NAMED_TYPE ? type.name.value : namedType(type.type);
}
