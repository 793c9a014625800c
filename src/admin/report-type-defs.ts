/** The types of the admin schema that report something: audit log, explanations, checks, signing keys. */

export const reportTypeDefs = /* GraphQL */ `
  type AuditLog {
    id: ID!
    actor_id: String
    actor_type: String
    actor_email: String
    action: String!
    resource_type: String
    resource_id: String
    ip_address: String
    user_agent: String
    "The evidence, as JSON text."
    metadata: String
    outcome: String!
    reason: String
    trusted_issuer_id: String
    subject: String
    client_id: String
    request_id: String!
    created_at: Int64!
  }

  type AuditLogs {
    pagination: Pagination!
    audit_logs: [AuditLog!]!
  }

  type AssertionExplanation {
    accepted: Boolean!
    reason: String
    trusted_issuer_id: String
    client_id: String
    checks: [AssertionCheck!]!
  }

  type AssertionCheck {
    name: String!
    passed: Boolean!
    detail: String
    hint: String
  }

  type TrustedIssuerCheck {
    passed: Boolean!
    discovery_url: String
    discovered_issuer: String
    jwks_url: String
    keys: [CheckedKey!]!
    skipped: [SkippedKey!]!
    max_age_seconds: Int64
    failure: KeySourceFailure
  }

  type CheckedKey {
    kid: String
    algorithms: [String!]!
    thumbprint: String!
  }

  type SkippedKey {
    kid: String
    reason: String!
  }

  type KeySourceFailure {
    code: String!
    detail: String!
  }

  type SigningKey {
    kid: String!
    alg: String!
    "next, active, retired or removed"
    state: String!
    created_at: Int64!
    active_from: Int64!
    active_until: Int64
    remove_at: Int64
  }
`;
