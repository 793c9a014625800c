/**
 * The inputs of the admin schema. Named as Authorizer's; a field is non-null only where it can't be left out. Bounds,
 * defaults and the rules between fields are the registry's.
 */

const clientInputs = /* GraphQL */ `
  input CreateClientRequest {
    name: String!
    "Made if absent."
    client_id: String
    description: String
    allowed_scopes: StringList!
    allowed_resources: StringList
    default_resource: String
    access_token_ttl_seconds: Int64
    access_token_signing_alg: String
    organization_id: String
    jwks: String
    resource_identifiers: StringList
    with_client_secret: Boolean
    is_active: Boolean
  }

  "Fields that are absent or null stay as they are; an empty text clears one that may be null."
  input UpdateClientRequest {
    id: ID!
    name: String
    description: String
    allowed_scopes: StringList
    allowed_resources: StringList
    default_resource: String
    access_token_ttl_seconds: Int64
    access_token_signing_alg: String
    organization_id: String
    jwks: String
    resource_identifiers: StringList
    is_active: Boolean
  }

  "A client's id or client_id."
  input ClientRequest {
    id: ID!
  }
`;

/** The fields that adding and updating have in common. */
const trustedIssuerFields = /* GraphQL */ `
    jwks_url: String
    "JSON text of a JWK set."
    jwks: String
    discovery_url: String
    ca_pem: String
    allow_private_network: Boolean
    expected_aud: StringList
    allow_additional_audiences: Boolean
    subject_claim: String
    algorithms: StringList
    require_kid: Boolean
    additional_issuer_urls: StringList
    max_token_lifetime_seconds: Int64
    "once or until_expiry"
    assertion_use: String
    require_pod: Boolean
    require_node: Boolean
    enable_token_review: Boolean
    kubernetes_api_server_url: String
    kubernetes_api_server_ca_pem: String
    "Name of a file of COUNTERSIGN_KUBERNETES_CREDENTIALS; the pod's own token if absent."
    kubernetes_api_server_credential: String
    "Asked for instead of expected_aud."
    token_review_audience: String
    spiffe_refresh_hint_seconds: Int64
    organization_id: String
    "A client's id, for allowed_subjects."
    service_account_id: String
    "One binding each to service_account_id. Empty: nobody."
    allowed_subjects: StringList
    is_active: Boolean
`;

const trustedIssuerInputs = /* GraphQL */ `
  input AddTrustedIssuerRequest {
    name: String!
    issuer_url: String!
    "kubernetes_sa, oidc or cloud_oidc"
    issuer_type: String!
    "oidc_discovery, static_jwks_url, static_jwks or token_review"
    key_source_type: String!
    ${trustedIssuerFields}
  }

  "Fields that are absent or null stay as they are; an empty text clears one that may be null."
  input UpdateTrustedIssuerRequest {
    id: ID!
    name: String
    issuer_url: String
    issuer_type: String
    key_source_type: String
    ${trustedIssuerFields}
  }

  input TrustedIssuerRequest {
    id: ID!
  }
`;

const workloadBindingInputs = /* GraphQL */ `
  input AddWorkloadBindingRequest {
    trusted_issuer_id: String!
    "A client's id or client_id."
    client_id: String!
    "Compared byte for byte."
    subject: String!
    "Claim path to the exact value it must have."
    claims: Map
    "Name to template, for the issued token."
    token_claims: Map
    is_active: Boolean
  }

  "Fields that are absent or null stay as they are."
  input UpdateWorkloadBindingRequest {
    id: ID!
    client_id: String
    subject: String
    claims: Map
    token_claims: Map
    is_active: Boolean
  }

  input WorkloadBindingRequest {
    id: ID!
  }
`;

const denyListInputs = /* GraphQL */ `
  "Exactly one of subject, node_name, pod_uid and service_account_uid, compared byte for byte."
  input AddDenyListEntryRequest {
    trusted_issuer_id: String!
    subject: String
    "kubernetes_sa only, as the uids."
    node_name: String
    pod_uid: String
    service_account_uid: String
    reason: String!
    "Seconds since the epoch. Absent, null or 0: until it is removed."
    expires_at: Int64
  }

  "Fields that are absent or null stay as they are."
  input UpdateDenyListEntryRequest {
    id: ID!
    reason: String
    "0: until it is removed."
    expires_at: Int64
  }

  input DenyListEntryRequest {
    id: ID!
  }
`;

const otherInputs = /* GraphQL */ `
  "At most 100 rows a page; 10 if not given. Pages count from 1."
  input PaginationRequest {
    limit: Int64
    page: Int64
    "Authorizer's SDKs nest the two of them once more in the lists of clients and issuers."
    pagination: PaginationRequest
  }

  input ListClientsRequest {
    pagination: PaginationRequest
  }

  input ListTrustedIssuersRequest {
    service_account_id: String
    pagination: PaginationRequest
  }

  input ListWorkloadBindingsRequest {
    trusted_issuer_id: String
    "A client's id or client_id."
    client_id: String
    subject: String
    pagination: PaginationRequest
  }

  input ListDenyListEntriesRequest {
    trusted_issuer_id: String
    pagination: PaginationRequest
  }

  input ListAuditLogRequest {
    pagination: PaginationRequest
    action: String
    "accepted, refused, unavailable, changed or failed"
    outcome: String
    reason: String
    client_id: String
    trusted_issuer_id: String
    subject: String
    request_id: String
    resource_type: String
    resource_id: String
    actor_id: String
    from_timestamp: Int64
    to_timestamp: Int64
    "Only records older than the one with this id: a cursor that stays put while new ones arrive."
    before: String
  }

  input ExplainAssertionRequest {
    assertion: String!
  }

  input RotateSigningKeyRequest {
    "ES256 or RS256; ES256 if not given."
    alg: String
    "True: the new key signs at once, and every earlier one of this alg is withdrawn at once."
    compromised: Boolean
  }
`;

export const inputTypeDefs = [clientInputs, trustedIssuerInputs, workloadBindingInputs, denyListInputs, otherInputs];
