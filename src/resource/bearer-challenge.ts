/**
 * The `WWW-Authenticate` header of a protected API (RFC 6750 §3, RFC 9110 §11.6.1). Whatever gets into it is checked or
 * quoted here: nothing that a caller sends may end a parameter, or the header.
 */

export type BearerErrorCode = 'invalid_request' | 'invalid_token' | 'insufficient_scope';

export type BearerError = {
  readonly code: BearerErrorCode;
  readonly description: string;
  /** The scopes that the API asks for, where they are what is missing. */
  readonly scopes?: readonly string[];
};

/** `error_description` and `scope` of RFC 6750 §3: printable ASCII without quote and backslash. */
const PLAIN_TEXT = /^[\x20\x21\x23-\x5B\x5D-\x7E]*$/;
/** What a quoted string can hold once quote and backslash are escaped. */
const PRINTABLE = /^[\x20-\x7E]*$/;

/** Whether `realm` can be sent at all. */
export function isRealm(realm: string): boolean {
  return PRINTABLE.test(realm);
}

/**
 * The header's value. Without an error it is the bare challenge for a request without credentials (RFC 6750 §3.1). Text
 * that may not be sent is left out.
 */
export function bearerChallenge(realm: string, error: BearerError | null): string {
  const parameters = [`realm="${realm.replaceAll(/["\\]/g, '\\$&')}"`];
  if (error !== null) {
    parameters.push(`error="${error.code}"`);
    if (PLAIN_TEXT.test(error.description)) parameters.push(`error_description="${error.description}"`);
    const scope = error.scopes?.join(' ') ?? '';
    if (scope !== '' && PLAIN_TEXT.test(scope)) parameters.push(`scope="${scope}"`);
  }
  return `Bearer ${parameters.join(', ')}`;
}
