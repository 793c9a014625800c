/**
 * The tables; nothing else. `migrations/` is generated from this file (`drizzle-kit generate`). Names are those of the
 * admin API and the declarative file; instants are whole seconds since the epoch.
 */
import { DENIED_MEMBERS } from '../assertion/deny-list.ts';
import { ASSERTION_USES, ISSUER_TYPES, KEY_SOURCE_TYPES, type ManagedBy } from '../assertion/trusted-issuer.ts';
import { ACCESS_TOKEN_SIGNING_ALGS } from '../issuance/client.ts';
import { AUDIT_OUTCOMES, type AuditEntry } from '../observe/audit-log.ts';
import { bytes, claimConditions, jsonObject, oneOf, stringList, stringMap } from './columns.ts';
import { check, index, integer, sql, sqliteTable, text, uniqueIndex } from './drizzle.ts';

const MANAGED_BY = ['api', 'file'] as const satisfies readonly ManagedBy[];
const ACTOR_TYPES = ['workload', 'client', 'admin', 'system'] as const satisfies readonly AuditEntry['actorType'][];

const flag = (name: string) => integer(name, { mode: 'boolean' }).notNull();

export const clients = sqliteTable(
  'clients',
  {
    id: text('id').primaryKey(),
    clientId: text('client_id').notNull(),
    name: text('name').notNull(),
    description: text('description'),
    allowedScopes: stringList('allowed_scopes').notNull(),
    allowedResources: stringList('allowed_resources').notNull(),
    defaultResource: text('default_resource'),
    accessTokenTtlSeconds: integer('access_token_ttl_seconds').notNull(),
    accessTokenSigningAlg: oneOf(ACCESS_TOKEN_SIGNING_ALGS)('access_token_signing_alg').notNull(),
    organizationId: text('organization_id'),
    jwks: text('jwks'),
    resourceIdentifiers: stringList('resource_identifiers').notNull(),
    isActive: flag('is_active'),
    managedBy: oneOf(MANAGED_BY)('managed_by').notNull(),
    createdAt: integer('created_at').notNull(),
    updatedAt: integer('updated_at').notNull(),
  },
  (table) => [
    uniqueIndex('clients_client_id').on(table.clientId),
    index('clients_created_at').on(table.createdAt, table.id),
  ],
);

/** Only salted hashes; at most two of a client are valid at once. */
export const clientSecrets = sqliteTable(
  'client_secrets',
  {
    id: text('id').primaryKey(),
    clientRowId: text('client_row_id')
      .notNull()
      .references(() => clients.id, { onDelete: 'cascade' }),
    salt: bytes('salt').notNull(),
    hash: bytes('hash').notNull(),
    createdAt: integer('created_at').notNull(),
    expiresAt: integer('expires_at'),
  },
  (table) => [index('client_secrets_client_row_id').on(table.clientRowId)],
);

export const trustedIssuers = sqliteTable(
  'trusted_issuers',
  {
    id: text('id').primaryKey(),
    name: text('name').notNull(),
    issuerUrl: text('issuer_url').notNull(),
    additionalIssuerUrls: stringList('additional_issuer_urls').notNull(),
    issuerType: oneOf(ISSUER_TYPES)('issuer_type').notNull(),
    keySourceType: oneOf(KEY_SOURCE_TYPES)('key_source_type').notNull(),
    jwksUrl: text('jwks_url'),
    jwks: text('jwks'),
    discoveryUrl: text('discovery_url'),
    caPem: text('ca_pem'),
    allowPrivateNetwork: flag('allow_private_network'),
    expectedAud: stringList('expected_aud').notNull(),
    allowAdditionalAudiences: flag('allow_additional_audiences'),
    subjectClaim: text('subject_claim').notNull(),
    algorithms: stringList('algorithms').notNull(),
    requireKid: flag('require_kid'),
    maxTokenLifetimeSeconds: integer('max_token_lifetime_seconds').notNull(),
    assertionUse: oneOf(ASSERTION_USES)('assertion_use').notNull(),
    enableTokenReview: flag('enable_token_review').default(false),
    kubernetesApiServerUrl: text('kubernetes_api_server_url'),
    kubernetesApiServerCaPem: text('kubernetes_api_server_ca_pem'),
    kubernetesApiServerCredential: text('kubernetes_api_server_credential'),
    tokenReviewAudience: text('token_review_audience'),
    requirePod: flag('require_pod'),
    requireNode: flag('require_node'),
    organizationId: text('organization_id'),
    serviceAccountId: text('service_account_id').references(() => clients.id, { onDelete: 'set null' }),
    isActive: flag('is_active'),
    managedBy: oneOf(MANAGED_BY)('managed_by').notNull(),
    keySourceRevision: integer('key_source_revision').notNull(),
    keySourceUpdatedAt: integer('key_source_updated_at').notNull(),
    createdAt: integer('created_at').notNull(),
    updatedAt: integer('updated_at').notNull(),
  },
  (table) => [
    index('trusted_issuers_created_at').on(table.createdAt, table.id),
    index('trusted_issuers_service_account_id').on(table.serviceAccountId),
  ],
);

/**
 * Every issuer string in use, main and additional ones: one primary key makes them unique over all rows, and finding
 * the row of an `iss` is one index hit. Written together with its trusted issuer, in one function.
 */
export const issuerUrls = sqliteTable(
  'issuer_urls',
  {
    url: text('url').primaryKey(),
    trustedIssuerId: text('trusted_issuer_id')
      .notNull()
      .references(() => trustedIssuers.id, { onDelete: 'cascade' }),
  },
  (table) => [index('issuer_urls_trusted_issuer_id').on(table.trustedIssuerId)],
);

export const workloadBindings = sqliteTable(
  'workload_bindings',
  {
    id: text('id').primaryKey(),
    trustedIssuerId: text('trusted_issuer_id')
      .notNull()
      .references(() => trustedIssuers.id, { onDelete: 'cascade' }),
    clientRowId: text('client_row_id')
      .notNull()
      .references(() => clients.id, { onDelete: 'cascade' }),
    subject: text('subject').notNull(),
    claims: claimConditions('claims').notNull(),
    tokenClaims: stringMap('token_claims').notNull(),
    isActive: flag('is_active'),
    // Bindings from before there was a declarative file are all the API's.
    managedBy: oneOf(MANAGED_BY)('managed_by').notNull().default('api'),
    createdAt: integer('created_at').notNull(),
    updatedAt: integer('updated_at').notNull(),
  },
  (table) => [
    uniqueIndex('workload_bindings_unique').on(table.trustedIssuerId, table.clientRowId, table.subject),
    index('workload_bindings_subject').on(table.trustedIssuerId, table.subject),
    index('workload_bindings_client_row_id').on(table.clientRowId),
    index('workload_bindings_created_at').on(table.createdAt, table.id),
  ],
);

/** Workloads that are cut off whatever their issuer and bindings say. Each entry names one member of an identity. */
export const denyListEntries = sqliteTable(
  'deny_list_entries',
  {
    id: text('id').primaryKey(),
    trustedIssuerId: text('trusted_issuer_id')
      .notNull()
      .references(() => trustedIssuers.id, { onDelete: 'cascade' }),
    member: oneOf(DENIED_MEMBERS)('member').notNull(),
    value: text('value').notNull(),
    reason: text('reason').notNull(),
    /** Null: until it is removed. */
    expiresAt: integer('expires_at'),
    managedBy: oneOf(MANAGED_BY)('managed_by').notNull(),
    createdAt: integer('created_at').notNull(),
    updatedAt: integer('updated_at').notNull(),
  },
  (table) => [
    // An entry of the file and one of the API may say the same: neither may lift the other's.
    uniqueIndex('deny_list_entries_unique').on(table.trustedIssuerId, table.member, table.value, table.managedBy),
    index('deny_list_entries_created_at').on(table.createdAt, table.id),
  ],
);

export const signingKeys = sqliteTable('signing_keys', {
  kid: text('kid').primaryKey(),
  alg: oneOf(ACCESS_TOKEN_SIGNING_ALGS)('alg').notNull(),
  publicJwk: jsonObject('public_jwk').notNull(),
  /** See `sealing.ts`. */
  sealedPrivateKey: bytes('sealed_private_key').notNull(),
  createdAt: integer('created_at').notNull(),
  activeFrom: integer('active_from').notNull(),
  activeUntil: integer('active_until'),
  removeAt: integer('remove_at'),
});

/** One row per assertion used: fixed-size hashes, so that no caller decides how large a row gets. */
export const replayClaims = sqliteTable(
  'replay_claims',
  {
    key: bytes('key').primaryKey(),
    expiresAt: integer('expires_at').notNull(),
    claimedAt: integer('claimed_at').notNull(),
    requestId: text('request_id').notNull(),
  },
  (table) => [
    index('replay_claims_expires_at').on(table.expiresAt),
    check('replay_claims_key_bytes', sql`length(${table.key}) = 32`),
  ],
);

export const revokedTokens = sqliteTable(
  'revoked_tokens',
  {
    jti: text('jti').primaryKey(),
    expiresAt: integer('expires_at').notNull(),
    revokedAt: integer('revoked_at').notNull(),
  },
  (table) => [index('revoked_tokens_expires_at').on(table.expiresAt)],
);

/**
 * Append-only. `seq` grows in the order of commits, so it is a cursor that new rows do not move. Each index costs every
 * token request a write: only those without which a common question reads the whole table, and where rows of token
 * requests say nothing about it, partial ones.
 */
export const auditLogs = sqliteTable(
  'audit_logs',
  {
    seq: integer('seq').primaryKey({ autoIncrement: true }),
    createdAt: integer('created_at').notNull(),
    requestId: text('request_id').notNull(),
    action: text('action').notNull(),
    outcome: oneOf(AUDIT_OUTCOMES)('outcome').notNull(),
    reason: text('reason'),
    actorType: oneOf(ACTOR_TYPES)('actor_type').notNull(),
    actorId: text('actor_id'),
    resourceType: text('resource_type'),
    resourceId: text('resource_id'),
    trustedIssuerId: text('trusted_issuer_id'),
    subject: text('subject'),
    clientId: text('client_id'),
    ipAddress: text('ip_address'),
    userAgent: text('user_agent'),
    evidence: jsonObject('evidence').notNull(),
  },
  (table) => [
    index('audit_logs_created_at').on(table.createdAt),
    index('audit_logs_request_id').on(table.requestId),
    index('audit_logs_action').on(table.action),
    index('audit_logs_reason').on(table.reason).where(sql`${table.reason} is not null`),
    index('audit_logs_resource_type').on(table.resourceType).where(sql`${table.resourceType} is not null`),
    index('audit_logs_resource_id').on(table.resourceId).where(sql`${table.resourceId} is not null`),
    index('audit_logs_trusted_issuer_id').on(table.trustedIssuerId),
    index('audit_logs_subject').on(table.subject),
    index('audit_logs_client_id').on(table.clientId),
  ],
);

/** One row: grows by one with every registry write, so that each process notices the writes of the others. */
export const registryRevision = sqliteTable('registry_revision', {
  id: integer('id').primaryKey(),
  revision: integer('revision').notNull(),
});
