/**
 * The admin schema: operations and what they answer. Names and shapes are those of Authorizer's admin API, so that its
 * SDKs work unchanged; fields that it does not have are ours. Inputs are in `input-type-defs.ts`.
 */
import { reportTypeDefs } from './report-type-defs.ts';

const operations = /* GraphQL */ `
  type Query {
    _client(params: ClientRequest!): Client!
    _clients(params: ListClientsRequest): Clients!
    _trusted_issuer(params: TrustedIssuerRequest!): TrustedIssuer!
    _trusted_issuers(params: ListTrustedIssuersRequest): TrustedIssuers!
    _workload_binding(params: WorkloadBindingRequest!): WorkloadBinding!
    _workload_bindings(params: ListWorkloadBindingsRequest): WorkloadBindings!
    _deny_list_entry(params: DenyListEntryRequest!): DenyListEntry!
    _deny_list_entries(params: ListDenyListEntriesRequest): DenyListEntries!
    "Newest first."
    _audit_logs(params: ListAuditLogRequest): AuditLogs!
    "Runs the verification on an assertion without using it up."
    _explain_assertion(params: ExplainAssertionRequest!): AssertionExplanation!
    "Fetches the issuer's keys now and says what came back."
    _check_trusted_issuer(params: TrustedIssuerRequest!): TrustedIssuerCheck!
    _signing_keys: [SigningKey!]!
  }

  type Mutation {
    _create_client(params: CreateClientRequest!): CreateClientResponse!
    _update_client(params: UpdateClientRequest!): Client!
    _delete_client(params: ClientRequest!): Response!
    "Adds a secret; the one before it stays valid for 24 hours."
    _rotate_client_secret(params: ClientRequest!): CreateClientResponse!
    _add_trusted_issuer(params: AddTrustedIssuerRequest!): TrustedIssuer!
    _update_trusted_issuer(params: UpdateTrustedIssuerRequest!): TrustedIssuer!
    _delete_trusted_issuer(params: TrustedIssuerRequest!): Response!
    _add_workload_binding(params: AddWorkloadBindingRequest!): WorkloadBinding!
    _update_workload_binding(params: UpdateWorkloadBindingRequest!): WorkloadBinding!
    _delete_workload_binding(params: WorkloadBindingRequest!): Response!
    "Cuts off one subject, node, pod or account of an issuer, whatever its bindings say."
    _add_deny_list_entry(params: AddDenyListEntryRequest!): DenyListEntry!
    _update_deny_list_entry(params: UpdateDenyListEntryRequest!): DenyListEntry!
    _delete_deny_list_entry(params: DenyListEntryRequest!): Response!
    _rotate_signing_key(params: RotateSigningKeyRequest): SigningKey!
  }
`;

const shared = /* GraphQL */ `
  scalar Int64
  scalar StringList
  scalar Map

  type Response {
    message: String!
  }

  type Pagination {
    limit: Int64!
    page: Int64!
    offset: Int64!
    total: Int64!
  }
`;

const registryTypes = /* GraphQL */ `
  type Client {
    id: ID!
    client_id: String!
    name: String!
    description: String
    allowed_scopes: [String!]!
    allowed_resources: [String!]!
    "The audience when no resource is asked for; our issuer identifier when null."
    default_resource: String
    access_token_ttl_seconds: Int64!
    access_token_signing_alg: String!
    organization_id: String
    "Public keys for private_key_jwt: JSON text of a JWK set."
    jwks: String
    "Audiences for which this client is the protected API and may introspect."
    resource_identifiers: [String!]!
    is_active: Boolean!
    "api or file"
    managed_by: String!
    created_at: Int64!
    updated_at: Int64!
  }

  type Clients {
    pagination: Pagination!
    clients: [Client!]!
  }

  type CreateClientResponse {
    client: Client!
    "Shown this once; null unless one was asked for."
    client_secret: String
  }

  type TrustedIssuer {
    id: ID!
    "The client of the short form: a client's id."
    service_account_id: String
    name: String!
    issuer_url: String!
    additional_issuer_urls: [String!]!
    issuer_type: String!
    key_source_type: String!
    jwks_url: String
    jwks: String
    discovery_url: String
    ca_pem: String
    allow_private_network: Boolean!
    "With commas between several; expected_aud_list has them exactly."
    expected_aud: String!
    expected_aud_list: [String!]!
    allow_additional_audiences: Boolean!
    subject_claim: String!
    "Subjects bound to service_account_id, with commas between; allowed_subject_list has them exactly."
    allowed_subjects: String
    allowed_subject_list: [String!]!
    algorithms: [String!]!
    require_kid: Boolean!
    max_token_lifetime_seconds: Int64!
    assertion_use: String!
    require_pod: Boolean!
    require_node: Boolean!
    enable_token_review: Boolean!
    kubernetes_api_server_url: String
    kubernetes_api_server_ca_pem: String
    kubernetes_api_server_credential: String
    token_review_audience: String
    spiffe_refresh_hint_seconds: Int64
    organization_id: String
    is_active: Boolean!
    "api or file"
    managed_by: String!
    key_source_updated_at: Int64!
    "How its keys stand in the process that answers; null while it is not active, and for a second after it became so."
    keys: TrustedIssuerKeyState
    "How its cluster stands in the process that answers; null when it was not asked lately."
    review: TrustedIssuerReviewState
    "What you should know about what you just wrote; empty when read."
    warnings: [String!]!
    created_at: Int64!
    updated_at: Int64!
  }

  type TrustedIssuers {
    pagination: Pagination!
    trusted_issuers: [TrustedIssuer!]!
  }

  type TrustedIssuerReviewState {
    "closed, open or half_open"
    breaker: String!
    "In a row."
    failures: Int!
    last_error: String
    last_answered_at: Int64
    next_probe_at: Int64
  }

  type TrustedIssuerKeyState {
    loaded_at: Int64
    stale: Boolean!
    last_error: String
    next_try_at: Int64
    kids: [String]!
    "Keys that other active issuers publish too: while there are any, all of these issuers are refused."
    shared_keys: [SharedSigningKey!]!
  }

  type SharedSigningKey {
    "RFC 7638, SHA-256"
    thumbprint: String!
    other_issuers: [SigningKeyHolder!]!
  }

  type SigningKeyHolder {
    trusted_issuer_id: String!
    name: String!
  }

  type WorkloadBinding {
    id: ID!
    trusted_issuer_id: String!
    "The bound client's id."
    client_id: String!
    subject: String!
    claims: Map!
    token_claims: Map!
    is_active: Boolean!
    "api or file"
    managed_by: String!
    "What you should know about what you just wrote; empty when read."
    warnings: [String!]!
    created_at: Int64!
    updated_at: Int64!
  }

  type WorkloadBindings {
    pagination: Pagination!
    workload_bindings: [WorkloadBinding!]!
  }

  "One of subject, node_name, pod_uid and service_account_uid is set."
  type DenyListEntry {
    id: ID!
    trusted_issuer_id: String!
    subject: String
    node_name: String
    pod_uid: String
    service_account_uid: String
    reason: String!
    "Null: until it is removed."
    expires_at: Int64
    "api or file"
    managed_by: String!
    "What you should know about what you just wrote; empty when read."
    warnings: [String!]!
    created_at: Int64!
    updated_at: Int64!
  }

  type DenyListEntries {
    pagination: Pagination!
    deny_list_entries: [DenyListEntry!]!
  }
`;

export const typeDefs = [operations, shared, registryTypes, reportTypeDefs];
