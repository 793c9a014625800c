/**
 * The admin API over HTTP: one handler, to be mounted at `/graphql`. Only POST executes anything. The order of checks
 * is authentication, method, media types, body, document limits, and each answers before the next one looks.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createYoga } from 'graphql-yoga';
import type { AdminContext } from './admin-context.ts';
import { ADMIN_ERROR_CODES } from './admin-error.ts';
import {
  authenticationRefusal,
  contentTypeRefusal,
  type GraphqlParams,
  type HttpRefusal,
  readGraphqlParams,
  responseType,
} from './admin-request.ts';
import { createAdminSchema } from './admin-schema.ts';
import type { AdminDependencies } from './dependencies.ts';
import { createErrorMask } from './error-mask.ts';
import { graphiqlPage, wantsGraphiql } from './graphiql-page.ts';
import { useDocumentRules } from './use-document-rules.ts';

/** Yoga is called as a function: this is the address it believes to be called at. */
const YOGA_URL = 'http://admin.invalid/graphql';

/** Longest user agent that is recorded. */
const MAX_USER_AGENT = 500;

export type AdminHandler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/**
 * The handler. The answer must already have its `x-request-id`. Rejects only when the connection breaks; a fault in an
 * operation is an answer, with its cause in the log.
 */
export function createAdminHandler(dependencies: AdminDependencies): AdminHandler {
  const { adminSecret, graphiql, log } = dependencies;
  const errorMask = createErrorMask(log);
  const yoga = createYoga<AdminContext>({
    schema: createAdminSchema(dependencies),
    graphqlEndpoint: '/graphql',
    graphiql: false,
    landingPage: false,
    cors: false,
    multipart: false,
    logging: false,
    // Its entries would hold error objects, to which each answer adds its own request id.
    parserAndValidationCache: false,
    maskedErrors: { maskError: errorMask.maskError },
    plugins: [useDocumentRules(), errorMask.plugin],
  });

  async function execute(params: GraphqlParams, accept: string, context: AdminContext): Promise<Response> {
    const headers = { accept, 'content-type': 'application/json' };
    return yoga.fetch(YOGA_URL, { method: 'POST', headers, body: JSON.stringify(params) }, context);
  }

  return async (request, response) => {
    response.setHeader('cache-control', 'no-store');
    if (graphiql && wantsGraphiql(request)) return sendGraphiql(response);
    const refusal = authenticationRefusal(request.headers, adminSecret) ?? methodRefusal(request.method);
    if (refusal !== null) return sendRefusal(response, refusal);
    const accept = responseType(request.headers.accept);
    if (!accept.ok) return sendRefusal(response, accept.error);
    const wrongType = contentTypeRefusal(request.headers['content-type']);
    if (wrongType !== null) return sendRefusal(response, wrongType);
    const params = await readGraphqlParams(request);
    if (!params.ok) return sendRefusal(response, params.error);

    const answer = await execute(params.value, accept.value, {
      requestId: requestIdOf(response),
      ipAddress: request.socket.remoteAddress ?? null,
      userAgent: request.headers['user-agent']?.slice(0, MAX_USER_AGENT) ?? null,
    });
    const body = Buffer.from(await answer.arrayBuffer());
    response.statusCode = answer.status;
    response.setHeader('content-type', answer.headers.get('content-type') ?? `${accept.value}; charset=utf-8`);
    response.end(body);
  };
}

/** A GET leaves its query in every log on the way, and a link must never change anything. */
function methodRefusal(method: string | undefined): HttpRefusal | null {
  if (method === 'POST') return null;
  return { status: 405, code: ADMIN_ERROR_CODES.invalidArgument, message: 'only POST', headers: { allow: 'POST' } };
}

/** Not as a GraphQL response: there was no GraphQL request that could be answered. */
function sendRefusal(response: ServerResponse, refusal: HttpRefusal): void {
  const { status, code, message, headers = {} } = refusal;
  response.statusCode = status;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  response.setHeader('content-type', 'application/json; charset=utf-8');
  const extensions = { code, request_id: requestIdOf(response) };
  response.end(JSON.stringify({ errors: [{ message, extensions }] }));
}

async function sendGraphiql(response: ServerResponse): Promise<void> {
  response.setHeader('content-type', 'text/html; charset=utf-8');
  response.setHeader('x-frame-options', 'DENY');
  response.setHeader('referrer-policy', 'no-referrer');
  response.end(await graphiqlPage());
}

function requestIdOf(response: ServerResponse): string {
  return String(response.getHeader('x-request-id') ?? '');
}
