/**
 * What a token request asks for, read from its form before anything is verified: which of the three shapes it has
 * (RFC 6749 §4.4, RFC 7523 §2.1, RFC 8693 §2.1), and which proof it carries.
 */
import { err, ok, type Result } from '../result.ts';
import { type Form, parameter } from './form-body.ts';
import { invalidRequest, type OAuthError } from './oauth-error.ts';

const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';

/** Grant types that the token endpoint knows. */
export const GRANT_TYPES = ['client_credentials', JWT_BEARER, TOKEN_EXCHANGE] as const;

/** A token that is a JWT, whatever it is for (RFC 8693 §3). */
const JWT = 'urn:ietf:params:oauth:token-type:jwt';
const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token';
/** What we read, and what we issue: an access token, which is a JWT. */
const TOKEN_TYPES: readonly string[] = [JWT, ACCESS_TOKEN];

export type TokenRequest = {
  readonly scope: string | null;
  readonly resources: readonly string[];
} & (
  | { readonly grantType: 'client_credentials' }
  | { readonly grantType: 'jwt_bearer'; readonly assertion: string }
  | {
      readonly grantType: 'token_exchange';
      readonly subjectToken: string;
      /** Of the type under which our own access tokens are presented too. */
      readonly isAccessToken: boolean;
      readonly actorToken: string | null;
      /** Names of protected APIs. */
      readonly audiences: readonly string[];
      readonly issuedTokenType: string;
    }
);

/** Parameters that carry a proof, by the one grant type that they belong to. */
const PROOF_PARAMETERS: Readonly<Record<string, readonly string[]>> = {
  [JWT_BEARER]: ['assertion'],
  [TOKEN_EXCHANGE]: ['subject_token', 'subject_token_type', 'actor_token', 'actor_token_type'],
};

/** The grant type of a form, where we know it: for the audit record. */
export function knownGrantType(form: Form): string | null {
  return GRANT_TYPES.find((known) => known === parameter(form, 'grant_type')) ?? null;
}

/** Reads a token request. */
export function readTokenRequest(form: Form): Result<TokenRequest, OAuthError> {
  const grantType = parameter(form, 'grant_type');
  if (grantType === null) return err(invalidRequest('grant_type is missing'));
  // Two proofs of which one is not looked at: whoever put them together expects something else than what would happen.
  const foreign = Object.entries(PROOF_PARAMETERS).filter(([owner]) => owner !== grantType);
  const isMixed = foreign.some(([, names]) => names.some((name) => form.has(name)));
  const access = { scope: parameter(form, 'scope'), resources: form.get('resource') ?? [] };
  switch (knownGrantType(form)) {
    case null:
      return err({ status: 400, error: 'unsupported_grant_type', description: 'the grant type is not supported' });
    case 'client_credentials':
      return isMixed ? mixed() : ok({ ...access, grantType: 'client_credentials' });
    case JWT_BEARER: {
      if (isMixed) return mixed();
      const assertion = parameter(form, 'assertion');
      if (assertion === null) return err(invalidRequest('assertion is missing'));
      return ok({ ...access, grantType: 'jwt_bearer', assertion });
    }
    default:
      return isMixed ? mixed() : readExchange(form, access);
  }
}

function readExchange(form: Form, access: Pick<TokenRequest, 'scope' | 'resources'>): Result<TokenRequest, OAuthError> {
  const subjectToken = parameter(form, 'subject_token');
  const subjectTokenType = parameter(form, 'subject_token_type');
  if (subjectToken === null) return err(invalidRequest('subject_token is missing'));
  if (subjectTokenType === null) return err(invalidRequest('subject_token_type is missing'));
  const actorToken = parameter(form, 'actor_token');
  const actorTokenType = parameter(form, 'actor_token_type');
  if ((actorToken === null) !== (actorTokenType === null)) {
    return err(invalidRequest('actor_token and actor_token_type go together'));
  }
  const issuedTokenType = parameter(form, 'requested_token_type') ?? ACCESS_TOKEN;
  if (!TOKEN_TYPES.includes(subjectTokenType)) return err(invalidRequest('subject_token_type is not supported'));
  if (actorTokenType !== null && !TOKEN_TYPES.includes(actorTokenType)) {
    return err(invalidRequest('actor_token_type is not supported'));
  }
  if (!TOKEN_TYPES.includes(issuedTokenType)) return err(invalidRequest('requested_token_type is not supported'));
  return ok({
    ...access,
    grantType: 'token_exchange',
    subjectToken,
    isAccessToken: subjectTokenType === ACCESS_TOKEN,
    actorToken,
    audiences: form.get('audience') ?? [],
    issuedTokenType,
  });
}

function mixed(): Result<never, OAuthError> {
  return err(invalidRequest('the request carries the proof of another grant type'));
}
