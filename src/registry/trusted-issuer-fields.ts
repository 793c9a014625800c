/**
 * The fields of a trusted issuer's input, each by itself: kinds, defaults and bounds. What holds between fields is in
 * `trusted-issuer-rules.ts` and `key-source-input.ts`.
 */
import { z } from 'zod';
import { JWS_ALGORITHMS } from '../assertion/jws-algorithm.ts';
import { ASSERTION_USES, ISSUER_TYPES, KEY_SOURCE_TYPES } from '../assertion/trusted-issuer.ts';
import { flag, MAX_URL_LENGTH, oneOf, optionalText, requiredText, textList, wholeNumber } from './input-fields.ts';
import { MAX_CA_PEM_LENGTH } from './key-source-input.ts';
import { MAX_JWKS_LENGTH } from './pasted-jwks.ts';

const DEFAULT_MAX_TOKEN_LIFETIME_SECONDS = 3600;
/** Below this no clock skew is forgiven any more. */
const MIN_MAX_TOKEN_LIFETIME_SECONDS = 60;
/** A day. What lives longer is a password, and one that a pod can read. */
const MAX_MAX_TOKEN_LIFETIME_SECONDS = 24 * 3600;
/** Subjects of one issuer in the short form; more belong in bindings of their own. */
const MAX_ALLOWED_SUBJECTS = 500;

/** Kept byte for byte: managed clusters' issuers end in a slash, broken ones have quotes in them, and both count. */
const issuerString = z
  .string({ error: (issue) => (issue.input === undefined ? 'is required' : 'must be text') })
  .refine((text) => text !== '', 'must not be empty')
  .refine((text) => text.length <= MAX_URL_LENGTH, `must not be longer than ${MAX_URL_LENGTH} characters`)
  .refine((text) => !/\p{Cc}/u.test(text) && text.isWellFormed(), 'must not contain control characters');

const atLeastOne = <T>(values: readonly T[]) => values.length > 0;
const notEmpty = 'must not be empty; leave it out for the default';

export const trustedIssuerFields = z.strictObject({
  name: requiredText(200),
  issuer_url: issuerString,
  additional_issuer_urls: textList(issuerString, 10).default([]),
  issuer_type: oneOf(ISSUER_TYPES),
  key_source_type: oneOf(KEY_SOURCE_TYPES),
  jwks_url: optionalText(MAX_URL_LENGTH),
  jwks: optionalText(MAX_JWKS_LENGTH, 'many lines'),
  discovery_url: optionalText(MAX_URL_LENGTH),
  ca_pem: optionalText(MAX_CA_PEM_LENGTH, 'many lines'),
  allow_private_network: flag(false),
  expected_aud: textList(requiredText(MAX_URL_LENGTH), 20).refine(atLeastOne, notEmpty).optional(),
  allow_additional_audiences: flag(false),
  subject_claim: requiredText(255).default('sub'),
  algorithms: textList(
    z.string().refine((alg) => JWS_ALGORITHMS.includes(alg), `must be one of ${JWS_ALGORITHMS.join(', ')}`),
  )
    .refine(atLeastOne, notEmpty)
    .optional(),
  require_kid: z.boolean('must be true or false').optional(),
  max_token_lifetime_seconds: wholeNumber(MIN_MAX_TOKEN_LIFETIME_SECONDS, MAX_MAX_TOKEN_LIFETIME_SECONDS).default(
    DEFAULT_MAX_TOKEN_LIFETIME_SECONDS,
  ),
  assertion_use: oneOf(ASSERTION_USES).default('once'),
  require_pod: flag(false),
  require_node: flag(false),
  organization_id: optionalText(200),
  service_account_id: optionalText(255),
  allowed_subjects: textList(z.string(), MAX_ALLOWED_SUBJECTS).optional(),
  is_active: flag(true),
  enable_token_review: flag(false),
  kubernetes_api_server_url: optionalText(MAX_URL_LENGTH),
  kubernetes_api_server_ca_pem: optionalText(MAX_CA_PEM_LENGTH, 'many lines'),
  kubernetes_api_server_credential: optionalText(63),
  token_review_audience: optionalText(MAX_URL_LENGTH),
  spiffe_refresh_hint_seconds: z.number('must be a whole number').default(0),
});

/** As much of an input as could be read. */
export type ReadableTrustedIssuer = Partial<z.output<typeof trustedIssuerFields>>;
