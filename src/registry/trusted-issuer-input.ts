/**
 * A trusted issuer as an admin writes it down: snake_case fields, their defaults and bounds, and the rules between
 * fields. The one place where a trusted issuer crosses between snake_case and camelCase. Knows no store: what depends
 * on other rows is checked in `trusted-issuer-operations.ts`.
 */
import { DEFAULT_ALGORITHMS } from '../assertion/jws-algorithm.ts';
import type { IssuerType, TrustedIssuer } from '../assertion/trusted-issuer.ts';
import { err, ok, type Result } from '../result.ts';
import { expectedAudienceWarnings } from './expected-audience.ts';
import { type InputProblem, problem, readFields, withoutNulls } from './input-problem.ts';
import { keySourceProblems, pastedKeyWarnings } from './key-source-input.ts';
import { subjectWarnings } from './subject-input.ts';
import { trustedIssuerFields } from './trusted-issuer-fields.ts';
import { issuerRuleProblems } from './trusted-issuer-rules.ts';

/** What kube-apiserver can sign with (pkg/serviceaccount/jwt.go). */
const KUBERNETES_ALGORITHMS: readonly string[] = ['RS256', 'ES256', 'ES384', 'ES512'];

/** A trusted issuer without what the registry itself adds. */
export type TrustedIssuerFields = Omit<
  TrustedIssuer,
  'id' | 'managedBy' | 'keySourceRevision' | 'keySourceUpdatedAt' | 'createdAt' | 'updatedAt'
>;

export type TrustedIssuerInput = {
  readonly fields: TrustedIssuerFields;
  /** The subjects of the short form; null when the input does not speak of them. */
  readonly allowedSubjects: readonly string[] | null;
  readonly warnings: readonly string[];
};

/** Reads a new trusted issuer. */
export async function parseTrustedIssuerInput(
  input: unknown,
  ownIssuer: string,
): Promise<Result<TrustedIssuerInput, readonly InputProblem[]>> {
  const { complete, readable, problems } = readFields(trustedIssuerFields, input);
  const all = [
    ...problems,
    ...issuerRuleProblems(readable, ownIssuer),
    ...(await keySourceProblems(readable)),
    ...shortFormProblems(readable),
  ];
  if (complete === null || all.length > 0) return err(all);
  const isKubernetes = complete.issuer_type === 'kubernetes_sa';
  const fields: TrustedIssuerFields = {
    name: complete.name,
    issuerUrl: complete.issuer_url,
    additionalIssuerUrls: complete.additional_issuer_urls,
    issuerType: complete.issuer_type,
    keySourceType: complete.key_source_type,
    jwksUrl: complete.jwks_url,
    jwks: complete.jwks,
    discoveryUrl: complete.discovery_url,
    caPem: complete.ca_pem,
    allowPrivateNetwork: complete.allow_private_network,
    expectedAud: complete.expected_aud ?? [ownIssuer],
    allowAdditionalAudiences: complete.allow_additional_audiences,
    subjectClaim: complete.subject_claim,
    algorithms: complete.algorithms ?? (isKubernetes ? KUBERNETES_ALGORITHMS : DEFAULT_ALGORITHMS),
    requireKid: complete.require_kid ?? isKubernetes,
    maxTokenLifetimeSeconds: complete.max_token_lifetime_seconds,
    assertionUse: complete.assertion_use,
    enableTokenReview: complete.enable_token_review,
    kubernetesApiServerUrl: complete.kubernetes_api_server_url,
    kubernetesApiServerCaPem: complete.kubernetes_api_server_ca_pem,
    kubernetesApiServerCredential: complete.kubernetes_api_server_credential,
    tokenReviewAudience: complete.token_review_audience,
    requirePod: complete.require_pod,
    requireNode: complete.require_node,
    organizationId: complete.organization_id,
    serviceAccountId: complete.service_account_id,
    isActive: complete.is_active,
  };
  const allowedSubjects = complete.allowed_subjects ?? null;
  return ok({ fields, allowedSubjects, warnings: await warningsOf(fields, allowedSubjects ?? [], ownIssuer) });
}

/**
 * Reads changes to `current`: fields that are not given, or null, stay as they are. A change of `key_source_type`
 * forgets the addresses and keys of the old one.
 */
export async function parseTrustedIssuerUpdate(
  changes: Readonly<Record<string, unknown>>,
  current: TrustedIssuer,
  ownIssuer: string,
): Promise<Result<TrustedIssuerInput, readonly InputProblem[]>> {
  const given = withoutNulls(changes);
  const base: Record<string, unknown> = trustedIssuerFieldsOf(current);
  if (given.key_source_type !== undefined && given.key_source_type !== current.keySourceType) {
    for (const name of ['jwks_url', 'jwks', 'discovery_url']) delete base[name];
  }
  const parsed = await parseTrustedIssuerInput({ ...base, ...given }, ownIssuer);
  if (!parsed.ok) return parsed;
  const problems = fixedFieldProblems(parsed.value.fields, current);
  return problems.length > 0 ? err(problems) : parsed;
}

/** The issuer's fields under their outside names. */
export function trustedIssuerFieldsOf(issuer: TrustedIssuerFields) {
  return {
    name: issuer.name,
    issuer_url: issuer.issuerUrl,
    additional_issuer_urls: issuer.additionalIssuerUrls,
    issuer_type: issuer.issuerType,
    key_source_type: issuer.keySourceType,
    jwks_url: issuer.jwksUrl,
    jwks: issuer.jwks,
    discovery_url: issuer.discoveryUrl,
    ca_pem: issuer.caPem,
    allow_private_network: issuer.allowPrivateNetwork,
    expected_aud: issuer.expectedAud,
    allow_additional_audiences: issuer.allowAdditionalAudiences,
    subject_claim: issuer.subjectClaim,
    algorithms: issuer.algorithms,
    require_kid: issuer.requireKid,
    max_token_lifetime_seconds: issuer.maxTokenLifetimeSeconds,
    assertion_use: issuer.assertionUse,
    enable_token_review: issuer.enableTokenReview,
    kubernetes_api_server_url: issuer.kubernetesApiServerUrl,
    kubernetes_api_server_ca_pem: issuer.kubernetesApiServerCaPem,
    kubernetes_api_server_credential: issuer.kubernetesApiServerCredential,
    token_review_audience: issuer.tokenReviewAudience,
    require_pod: issuer.requirePod,
    require_node: issuer.requireNode,
    organization_id: issuer.organizationId,
    service_account_id: issuer.serviceAccountId,
    is_active: issuer.isActive,
  };
}

/** Whether keys that were read for one row can't be taken for the other's. */
export function isKeySourceChanged(before: TrustedIssuerFields, after: TrustedIssuerFields): boolean {
  const keySource = (fields: TrustedIssuerFields) =>
    JSON.stringify([
      fields.keySourceType,
      fields.jwksUrl,
      fields.jwks,
      fields.discoveryUrl,
      fields.caPem,
      fields.allowPrivateNetwork,
      // Whom a cluster is asked through, as well as whom it is asked about.
      fields.kubernetesApiServerUrl,
      fields.kubernetesApiServerCaPem,
      fields.kubernetesApiServerCredential,
      // The discovery document must name one of these.
      fields.issuerUrl,
      fields.additionalIssuerUrls,
    ]);
  return keySource(before) !== keySource(after);
}

/** An issuer without subjects trusts nobody; subjects without a client would be trusted for nothing. */
function shortFormProblems(fields: {
  readonly service_account_id?: string | null | undefined;
  readonly allowed_subjects?: readonly string[] | undefined;
}): readonly InputProblem[] {
  return fields.service_account_id === null && (fields.allowed_subjects ?? []).length > 0
    ? [problem("is required with allowed_subjects: a client's id", 'service_account_id')]
    : [];
}

/** Bindings hang on these: changed under them, they would mean something else, or nothing. */
function fixedFieldProblems(next: TrustedIssuerFields, current: TrustedIssuer): readonly InputProblem[] {
  const problems: InputProblem[] = [];
  const isKubernetes = (type: IssuerType) => type === 'kubernetes_sa';
  if (isKubernetes(next.issuerType) !== isKubernetes(current.issuerType)) {
    problems.push(
      problem('kubernetes_sa and other types have different subjects: register a new trusted issuer', 'issuer_type'),
    );
  }
  if (current.serviceAccountId !== null && next.serviceAccountId !== current.serviceAccountId) {
    problems.push(problem('can not be changed: use workload bindings for other clients', 'service_account_id'));
  }
  return problems;
}

async function warningsOf(
  fields: TrustedIssuerFields,
  subjects: readonly string[],
  ownIssuer: string,
): Promise<readonly string[]> {
  const padded = [fields.issuerUrl, ...fields.additionalIssuerUrls].filter((url) => url !== url.trim());
  return [
    ...padded.map(
      (url) => `${JSON.stringify(url)} begins or ends with white space; issuers are compared byte for byte`,
    ),
    ...fields.expectedAud.flatMap((audience) => expectedAudienceWarnings(audience, ownIssuer)),
    ...(await pastedKeyWarnings(fields.jwks)),
    ...subjects.flatMap((subject) => subjectWarnings(subject, fields.issuerType)),
  ];
}
