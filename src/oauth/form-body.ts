/**
 * Reads and parses an `application/x-www-form-urlencoded` body (RFC 6749 Appendix B), once and strictly: bounded size,
 * valid UTF-8, no parameter twice. An empty parameter is an absent one (§3.2). The address of the request is never
 * looked at: credentials in a URL end up in logs.
 */
import type { IncomingMessage } from 'node:http';
import { err, ok, type Result } from '../result.ts';
import { invalidRequest, type OAuthError } from './oauth-error.ts';

const MAX_BODY_BYTES = 65_536;
const MAX_PARAMETERS = 100;
/** RFC 8707 §2 and RFC 8693 §2.1 let these repeat. */
const REPEATABLE: readonly string[] = ['resource', 'audience'];

/** Parameters by name; only the repeatable ones have several values. */
export type Form = ReadonlyMap<string, readonly string[]>;

/** Reads the request's form. */
export async function readForm(request: IncomingMessage): Promise<Result<Form, OAuthError>> {
  const mediaType = checkMediaType(request.headers['content-type'], request.headers['content-encoding']);
  if (!mediaType.ok) return mediaType;
  const body = await readBody(request);
  return body.ok ? parseForm(body.value) : body;
}

/** The first value of a parameter, null when it was not sent. */
export function parameter(form: Form, name: string): string | null {
  return form.get(name)?.[0] ?? null;
}

function checkMediaType(contentType = '', contentEncoding = 'identity'): Result<void, OAuthError> {
  const [type = '', ...parameters] = contentType.split(';').map((part) => part.trim().toLowerCase());
  const charset = parameters.find((part) => part.startsWith('charset='))?.replace(/^charset="?([^"]*)"?$/, '$1');
  const isForm = type === 'application/x-www-form-urlencoded' && (charset === undefined || charset === 'utf-8');
  if (isForm && contentEncoding.toLowerCase() === 'identity') return ok(undefined);
  return err(invalidRequest('the body must be application/x-www-form-urlencoded in UTF-8, not compressed'));
}

async function readBody(request: IncomingMessage): Promise<Result<string, OAuthError>> {
  const tooLarge = err(invalidRequest('the body is too large', 413));
  if (Number(request.headers['content-length'] ?? 0) > MAX_BODY_BYTES) return tooLarge;
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) return tooLarge;
    chunks.push(chunk);
  }
  try {
    return ok(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks)));
  } catch {
    return err(invalidRequest('the body is not valid UTF-8'));
  }
}

/** Parses the text of a form. Never throws. */
export function parseForm(body: string): Result<Form, OAuthError> {
  const form = new Map<string, string[]>();
  const pairs = body.split('&').filter((pair) => pair !== '');
  if (pairs.length > MAX_PARAMETERS) return err(invalidRequest('too many parameters'));
  for (const pair of pairs) {
    const separator = pair.indexOf('=');
    const name = decodeFormText(separator === -1 ? pair : pair.slice(0, separator));
    const value = decodeFormText(separator === -1 ? '' : pair.slice(separator + 1));
    if (name === null || value === null) return err(invalidRequest('a parameter is not correctly encoded'));
    const values = form.get(name);
    if (values === undefined) form.set(name, [value]);
    else if (REPEATABLE.includes(name)) values.push(value);
    else return err(invalidRequest('a parameter is repeated'));
  }
  for (const [name, values] of form) {
    const present = values.filter((value) => value !== '');
    if (present.length === 0) form.delete(name);
    else form.set(name, present);
  }
  return ok(form);
}

/** One name or value, decoded; null when the percent-encoding or its UTF-8 is broken. */
export function decodeFormText(text: string): string | null {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return null;
  }
}
