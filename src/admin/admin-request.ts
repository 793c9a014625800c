/**
 * The HTTP side of an admin request, before GraphQL sees any of it: who asks, what they accept, and a bounded body.
 * What is refused here never depends on what the query says.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { err, ok, type Result } from '../result.ts';
import { ADMIN_ERROR_CODES, type AdminErrorCode } from './admin-error.ts';

/** A pasted key set and a CA bundle fit; nothing that an admin writes is larger. */
export const MAX_BODY_BYTES = 256 * 1024;

export type HttpRefusal = {
  readonly status: 400 | 401 | 403 | 405 | 406 | 413 | 415;
  readonly code: AdminErrorCode;
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>>;
};

/** A GraphQL request as the specification of GraphQL over HTTP has it, members of other names dropped. */
export type GraphqlParams = Readonly<Record<'query' | 'operationName' | 'variables' | 'extensions', unknown>>;

/** Why the caller is not the admin; null when it is. Both headers are Authorizer's; either one will do. */
export function authenticationRefusal(headers: IncomingHttpHeaders, adminSecret: string | null): HttpRefusal | null {
  if (adminSecret === null) {
    return {
      status: 403,
      code: ADMIN_ERROR_CODES.permissionDenied,
      message: 'the admin API is off: start the server with COUNTERSIGN_ADMIN_SECRET or COUNTERSIGN_ADMIN_SECRET_FILE',
    };
  }
  const bearer = /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1] ?? '';
  const header = headers['x-authorizer-admin-secret'];
  const byBearer = isSameSecret(bearer, adminSecret);
  const byHeader = isSameSecret(typeof header === 'string' ? header : '', adminSecret);
  if (byBearer || byHeader) return null;
  return {
    status: 401,
    code: ADMIN_ERROR_CODES.unauthenticated,
    message: 'unauthorized',
    headers: { 'www-authenticate': 'Bearer realm="countersign admin"' },
  };
}

/** Hashed first: both sides have one length, and the time tells nothing about where they differ. */
function isSameSecret(presented: string, secret: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text, 'utf8').digest();
  return timingSafeEqual(digest(presented), digest(secret));
}

const RESPONSE_TYPE = 'application/graphql-response+json';
const LEGACY_TYPE = 'application/json';

/** The media type to answer with: the newer one only to those who name it. */
export function responseType(accept: string | undefined): Result<string, HttpRefusal> {
  const ranges = (accept === undefined || accept.trim() === '' ? '*/*' : accept.toLowerCase())
    .split(',')
    .map((range) => range.split(';').map((part) => part.trim()))
    .filter(([, ...parameters]) => isAcceptable(parameters))
    .map(([range = '']) => range);
  const chosen = ranges.find((range) => [RESPONSE_TYPE, LEGACY_TYPE, 'application/*', '*/*'].includes(range));
  if (chosen !== undefined) return ok(chosen === RESPONSE_TYPE ? RESPONSE_TYPE : LEGACY_TYPE);
  return err({
    status: 406,
    code: ADMIN_ERROR_CODES.invalidArgument,
    message: `answers are ${RESPONSE_TYPE} or ${LEGACY_TYPE}`,
  });
}

function isAcceptable(parameters: readonly string[]): boolean {
  return parameters.every(
    (parameter) => !/^q=0(\.0*)?$/.test(parameter) && (!parameter.startsWith('charset=') || isUtf8(parameter)),
  );
}

/** JSON only: the other types of a GraphQL server are those that a foreign web page can send without asking first. */
export function contentTypeRefusal(contentType: string | undefined): HttpRefusal | null {
  const [type = '', ...parameters] = (contentType ?? '')
    .toLowerCase()
    .split(';')
    .map((part) => part.trim());
  const isJson = type === LEGACY_TYPE && parameters.every((part) => !part.startsWith('charset=') || isUtf8(part));
  return isJson
    ? null
    : { status: 415, code: ADMIN_ERROR_CODES.invalidArgument, message: `send ${LEGACY_TYPE} in UTF-8` };
}

function isUtf8(parameter: string): boolean {
  return /^charset="?utf-?8"?$/.test(parameter);
}

/** Reads the body and the GraphQL request in it. Rejects only when the connection breaks. */
export async function readGraphqlParams(request: IncomingMessage): Promise<Result<GraphqlParams, HttpRefusal>> {
  if (request.headers['content-encoding'] !== undefined) {
    return err({ status: 415, code: ADMIN_ERROR_CODES.invalidArgument, message: 'send the body without an encoding' });
  }
  const body = await readBody(request);
  if (body === null) {
    const message = `the body is larger than ${MAX_BODY_BYTES} bytes`;
    return err({ status: 413, code: ADMIN_ERROR_CODES.invalidArgument, message, headers: { connection: 'close' } });
  }
  let document: unknown;
  try {
    document = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    return malformed('the body is not JSON in UTF-8');
  }
  if (Array.isArray(document)) return malformed('send one request at a time, not a list');
  if (!isObject(document)) return malformed('the body is not a JSON object');
  const { query, operationName, variables, extensions } = document;
  if (typeof query !== 'string') return malformed('query must be a string');
  if (!isNothing(operationName) && typeof operationName !== 'string')
    return malformed('operationName must be a string');
  if (!isNothing(variables) && !isObject(variables)) return malformed('variables must be an object');
  if (!isNothing(extensions) && !isObject(extensions)) return malformed('extensions must be an object');
  return ok({ query, operationName, variables, extensions });
}

/** Null when it is too large; the rest is not read then. */
async function readBody(request: IncomingMessage): Promise<Buffer | null> {
  if (Number(request.headers['content-length'] ?? 0) > MAX_BODY_BYTES) return null;
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request) {
    const bytes = Buffer.from(chunk);
    length += bytes.length;
    if (length > MAX_BODY_BYTES) return null;
    chunks.push(bytes);
  }
  return Buffer.concat(chunks);
}

function malformed(message: string): Result<never, HttpRefusal> {
  return err({ status: 400, code: ADMIN_ERROR_CODES.invalidArgument, message });
}

function isNothing(value: unknown): boolean {
  return value === undefined || value === null;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
