/**
 * Which credentials a request to a protected API carries (RFC 6750 §2): only the `Authorization` header counts. Pure; it
 * sees the raw header list, because Node keeps just the first of two `Authorization` headers and a proxy in front may
 * have looked at the other.
 */

export type BearerCredentials =
  /** No bearer credentials: no header, another scheme, or only a transport that is not supported here. */
  | { readonly kind: 'none' }
  | { readonly kind: 'malformed'; readonly detail: string }
  | { readonly kind: 'token'; readonly token: string };

export type CredentialsInput = {
  /** Names and values in turn, as in `http.IncomingMessage`. */
  readonly rawHeaders: readonly string[];
  /** Path and query. */
  readonly url: string;
  /** A form that a body parser read earlier; undefined where none did. */
  readonly form: unknown;
};

/** `b64token` of RFC 6750 §2.1. */
const B64TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/;

/** Reads the credentials. Details are fixed phrases that may be shown to the caller. */
export function readBearerCredentials({ rawHeaders, url, form }: CredentialsInput): BearerCredentials {
  const [authorization, ...others] = rawHeaders.filter(
    (_value, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === 'authorization',
  );
  if (others.length > 0) return malformed('more than one Authorization header');
  // Tokens in a query end up in logs, those in a form in other parsers (RFC 9700 §4.3.2): alone they count for nothing.
  if (authorization === undefined) return { kind: 'none' };
  const [, scheme = '', rest = ''] = /^([^ ]*)(.*)$/s.exec(authorization) ?? [];
  if (scheme.toLowerCase() !== 'bearer') return { kind: 'none' };
  if (hasTokenInQuery(url) || hasTokenInForm(form)) return malformed('more than one way of sending the token');
  const token = rest.replace(/^ +/, '');
  if (token === '') return malformed('no token after Bearer');
  return B64TOKEN.test(token) ? { kind: 'token', token } : malformed('the token has characters that none may have');
}

function hasTokenInQuery(url: string): boolean {
  const start = url.indexOf('?');
  return start !== -1 && new URLSearchParams(url.slice(start)).has('access_token');
}

function hasTokenInForm(form: unknown): boolean {
  return typeof form === 'object' && form !== null && Object.hasOwn(form, 'access_token');
}

function malformed(detail: string): BearerCredentials {
  return { kind: 'malformed', detail };
}
