/**
 * What of an error leaves the house. Errors of GraphQL itself and those of `admin-error.ts` pass; everything else is a
 * fault: it goes to the log with its cause, and outside there is one sentence and the request id. Every error carries
 * a code and the request id.
 */
import { GraphQLError } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import type { Log } from '../observe/log.ts';
import { withoutCredentials } from '../observe/redaction.ts';
import type { AdminContext } from './admin-context.ts';
import { ADMIN_ERROR_CODES } from './admin-error.ts';

export type ErrorMask = {
  readonly maskError: (error: unknown) => Error;
  readonly plugin: Plugin<object, AdminContext>;
};

export function createErrorMask(log: Pick<Log, 'error'>): ErrorMask {
  const causes = new WeakMap<object, unknown>();
  return {
    maskError(error) {
      if (isMeantForCallers(error)) return error;
      const masked = new GraphQLError('internal error', {
        ...(error instanceof GraphQLError && { nodes: error.nodes, path: error.path }),
        extensions: { code: ADMIN_ERROR_CODES.internal },
      });
      causes.set(masked, error);
      return masked;
    },
    plugin: {
      onResultProcess({ result, serverContext: { requestId } }) {
        if (Array.isArray(result) || !('errors' in result)) return;
        for (const error of result.errors ?? []) {
          if (causes.has(error)) log.error({ request_id: requestId, error: rootCause(causes.get(error)) }, 'fault');
          error.message = withoutValues(error.message);
          error.extensions.code ??= ADMIN_ERROR_CODES.invalidArgument;
          error.extensions.request_id = requestId;
        }
      },
    },
  };
}

/**
 * GraphQL repeats a value that does not fit, and one of ours is an assertion, another may be a key. Answers end up in
 * tickets and chats: what stays is which variable, where in it, and what was expected.
 */
function withoutValues(message: string): string {
  const where = / at ("[\w.[\]]+")(?=; [A-Z])/.exec(message)?.[1];
  const reason = message
    .replace(/ got invalid value [\s\S]*; (?=[A-Z])/, `${where === undefined ? '' : ` at ${where}`} does not fit: `)
    .replace(/(,? found:?|(?<=value):) [\s\S]*$/, '');
  return withoutCredentials(reason);
}

/** GraphQL wraps what a resolver threw; an error that is GraphQL's all the way down was written for the caller. */
function isMeantForCallers(error: unknown): error is GraphQLError {
  if (!(error instanceof GraphQLError)) return false;
  return error.originalError === undefined || isMeantForCallers(error.originalError);
}

function rootCause(error: unknown): unknown {
  return error instanceof GraphQLError && error.originalError !== undefined ? error.originalError : error;
}
