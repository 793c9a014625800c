/**
 * A client as an admin writes it down: snake_case fields, their defaults and bounds. The one place where a client
 * crosses between snake_case and camelCase. Knows no store: what depends on other rows is checked in
 * `client-operations.ts`.
 */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { ACCESS_TOKEN_SIGNING_ALGS, type Client } from '../issuance/client.ts';
import { isScopeToken, RESERVED_SCOPES } from '../issuance/scope.ts';
import { MAX_ACCESS_TOKEN_TTL_SECONDS } from '../issuance/signing-key.ts';
import { err, ok, type Result } from '../result.ts';
import { flag, oneOf, optionalText, requiredText, resourceIndicator, textList, wholeNumber } from './input-fields.ts';
import { type InputProblem, problem, readFields, withoutNulls } from './input-problem.ts';
import { MAX_JWKS_LENGTH, readPastedJwks } from './pasted-jwks.ts';

const DEFAULT_ACCESS_TOKEN_TTL_SECONDS = 900;
/** A token must outlive the trip to the API it is for, clocks of both sides included. */
const MIN_ACCESS_TOKEN_TTL_SECONDS = 60;
/** A client signs with one key, and with two while it changes over. */
const MAX_CLIENT_KEYS = 5;

/** `VSCHAR` of RFC 6749 appendix A without quote and backslash, and without spaces around it. */
const CLIENT_ID = /^(?! )[\x20\x21\x23-\x5B\x5D-\x7E]{1,255}(?<! )$/;

const scope = z
  .string()
  .refine(isScopeToken, 'must be a scope of RFC 6749 §3.3: printable ASCII without spaces, quotes and backslashes')
  .refine((text) => text.length <= 255, 'must not be longer than 255 characters')
  .refine(
    (text) => !RESERVED_SCOPES.includes(text),
    'is an OpenID Connect scope for users; this server issues tokens to workloads: leave it out',
  );

/** The fields, each by itself. */
export const clientFields = z.strictObject({
  name: requiredText(200),
  client_id: z
    .string('must be text')
    .refine(
      (text) => text === '' || CLIENT_ID.test(text),
      'must be 1 to 255 printable ASCII characters without quotes, backslashes and spaces around them',
    )
    .optional(),
  description: optionalText(1000),
  allowed_scopes: textList(scope),
  allowed_resources: textList(resourceIndicator).default([]),
  default_resource: z
    .string('must be text')
    .transform((text) => (text === '' ? null : text))
    .pipe(resourceIndicator.nullable())
    .default(null),
  access_token_ttl_seconds: wholeNumber(MIN_ACCESS_TOKEN_TTL_SECONDS, MAX_ACCESS_TOKEN_TTL_SECONDS).default(
    DEFAULT_ACCESS_TOKEN_TTL_SECONDS,
  ),
  access_token_signing_alg: oneOf(ACCESS_TOKEN_SIGNING_ALGS).default('ES256'),
  organization_id: optionalText(200),
  jwks: optionalText(MAX_JWKS_LENGTH, 'many lines'),
  resource_identifiers: textList(resourceIndicator).default([]),
  with_client_secret: flag(false),
  is_active: flag(true),
});

/** What an update may not bring: a client_id is for ever, and secrets have their own operation. */
const ONLY_AT_CREATION = ['client_id', 'with_client_secret'];

/** A client without what the registry itself adds. */
export type ClientFields = Omit<Client, 'id' | 'managedBy' | 'createdAt' | 'updatedAt'>;

export type ClientInput = { readonly fields: ClientFields; readonly withClientSecret: boolean };

/** Reads a new client. */
export async function parseClientInput(
  input: unknown,
  ownIssuer: string,
): Promise<Result<ClientInput, readonly InputProblem[]>> {
  const { complete, readable, problems } = readFields(clientFields, input);
  const all = [
    ...problems,
    ...scopeProblems(readable.allowed_scopes, readable.resource_identifiers),
    ...clientIdProblems(readable.client_id, ownIssuer),
    ...(await keyProblems(readable.jwks)),
  ];
  if (complete === null || all.length > 0) return err(all);
  return ok({
    withClientSecret: complete.with_client_secret,
    fields: {
      clientId: complete.client_id || randomUUID(),
      name: complete.name,
      description: complete.description,
      allowedScopes: complete.allowed_scopes,
      allowedResources: complete.allowed_resources,
      defaultResource: complete.default_resource,
      accessTokenTtlSeconds: complete.access_token_ttl_seconds,
      accessTokenSigningAlg: complete.access_token_signing_alg,
      organizationId: complete.organization_id,
      jwks: complete.jwks,
      resourceIdentifiers: complete.resource_identifiers,
      isActive: complete.is_active,
    },
  });
}

/** Reads changes to `current`: fields that are not given, or null, stay as they are. */
export async function parseClientUpdate(
  changes: Readonly<Record<string, unknown>>,
  current: Client,
  ownIssuer: string,
): Promise<Result<ClientFields, readonly InputProblem[]>> {
  const given = withoutNulls(changes);
  const fixed = ONLY_AT_CREATION.filter((name) => Object.hasOwn(given, name));
  if (fixed.length > 0) return err(fixed.map((name) => problem('can only be given when the client is created', name)));
  const parsed = await parseClientInput({ ...clientFieldsOf(current), ...given }, ownIssuer);
  return parsed.ok ? ok(parsed.value.fields) : parsed;
}

/** The client's fields under their outside names. */
export function clientFieldsOf(client: ClientFields) {
  return {
    client_id: client.clientId,
    name: client.name,
    description: client.description,
    allowed_scopes: client.allowedScopes,
    allowed_resources: client.allowedResources,
    default_resource: client.defaultResource,
    access_token_ttl_seconds: client.accessTokenTtlSeconds,
    access_token_signing_alg: client.accessTokenSigningAlg,
    organization_id: client.organizationId,
    jwks: client.jwks,
    resource_identifiers: client.resourceIdentifiers,
    is_active: client.isActive,
  };
}

/** Without scopes a client gets no tokens: that makes sense only for a protected API, which introspects those of others. */
function scopeProblems(
  scopes: readonly string[] | undefined,
  resourceIdentifiers: readonly string[] | undefined,
): readonly InputProblem[] {
  return scopes?.length === 0 && resourceIdentifiers?.length === 0
    ? [problem('must name at least one scope', 'allowed_scopes')]
    : [];
}

/** Tokens name us and the client side by side (RFC 9068 §2.2): the two must not be one string. */
function clientIdProblems(clientId: string | undefined, ownIssuer: string): readonly InputProblem[] {
  return clientId !== ownIssuer ? [] : [problem('must not be the issuer identifier of this server', 'client_id')];
}

async function keyProblems(jwks: string | null | undefined): Promise<readonly InputProblem[]> {
  if (jwks === null || jwks === undefined) return [];
  const content = await readPastedJwks(jwks);
  if (!content.ok) return [problem(content.error, 'jwks')];
  const { keys, skipped } = content.value;
  // A set of an issuer may hold what we can't use; a client's own set is written for us, so that is a mistake.
  const unusable = skipped.map(({ kid, reason }) => `kid ${kid ?? 'none'}: ${reason}`);
  if (unusable.length > 0) return [problem(`has keys that can't be used: ${unusable.join('; ')}`, 'jwks')];
  return keys.length > MAX_CLIENT_KEYS ? [problem(`must not have more than ${MAX_CLIENT_KEYS} keys`, 'jwks')] : [];
}
