/**
 * Errors of the admin API: the one table of `extensions.code` values (Authorizer's names), and the crossing from the
 * registry's refusals. Whatever is not made here is a fault and is masked in `graphql-server.ts`.
 */
import { GraphQLError } from 'graphql';
import type { InputProblem } from '../registry/input-problem.ts';
import type { RegistryError } from '../registry/registry-error.ts';
import type { Result } from '../result.ts';

/** As in Authorizer's `kindToGraphQLCode` (internal/http_handlers/graphql.go), so that its clients' switches work. */
export const ADMIN_ERROR_CODES = {
  invalidArgument: 'INVALID_ARGUMENT',
  unauthenticated: 'UNAUTHENTICATED',
  permissionDenied: 'PERMISSION_DENIED',
  notFound: 'NOT_FOUND',
  alreadyExists: 'ALREADY_EXISTS',
  internal: 'INTERNAL',
} as const;

export type AdminErrorCode = (typeof ADMIN_ERROR_CODES)[keyof typeof ADMIN_ERROR_CODES];

const RESOURCE_NAMES = {
  client: 'client',
  trusted_issuer: 'trusted issuer',
  workload_binding: 'workload binding',
  deny_list_entry: 'deny list entry',
};

/** The value, or the refusal thrown in the admin API's own words. */
export function valueOrThrow<T>(result: Result<T, RegistryError>): T {
  if (result.ok) return result.value;
  throw adminError(result.error);
}

/** The error that is shown for a refusal. */
export function adminError(error: RegistryError): GraphQLError {
  switch (error.code) {
    case 'invalid_input':
      return problemError(ADMIN_ERROR_CODES.invalidArgument, error.problems);
    case 'conflict':
      return problemError(ADMIN_ERROR_CODES.alreadyExists, error.problems);
    case 'not_found':
      return notFound(RESOURCE_NAMES[error.resourceType]);
    case 'managed_by_file':
      return new GraphQLError(
        `this ${RESOURCE_NAMES[error.resourceType]} is kept in the declarative file: change it there`,
        { extensions: { code: ADMIN_ERROR_CODES.permissionDenied, managed_by: 'file' } },
      );
  }
}

/** The error for a row that is not there. */
export function notFound(name: string): GraphQLError {
  return new GraphQLError(`${name} not found`, { extensions: { code: ADMIN_ERROR_CODES.notFound } });
}

/** The error for arguments that never reach the registry. */
export function invalidArgument(...problems: readonly InputProblem[]): GraphQLError {
  return problemError(ADMIN_ERROR_CODES.invalidArgument, problems);
}

/** Every problem is in the message, for people, and in `problems`, for programs; `field` is the first one's. */
function problemError(code: AdminErrorCode, problems: readonly InputProblem[]): GraphQLError {
  const sentences = problems.map(({ path, message }) =>
    path.length === 0 ? message : `${path.join('.')}: ${message}`,
  );
  return new GraphQLError(sentences.join('; '), {
    extensions: { code, field: problems[0]?.path.join('.') ?? '', problems },
  });
}
