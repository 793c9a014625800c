/**
 * The rules between a trusted issuer's fields that need no other row: what its type asks for, what can never be
 * trusted, and what this version does not do. Each works on the fields that could be read.
 */
import type { IssuerType, KeySourceType } from '../assertion/trusted-issuer.ts';
import { LEGACY_ISSUER } from '../kubernetes/service-account.ts';
import { expectedAudienceProblem } from './expected-audience.ts';
import { type InputProblem, problem } from './input-problem.ts';
import { onlineReviewProblems } from './online-review-input.ts';
import { subjectProblem } from './subject-input.ts';
import type { ReadableTrustedIssuer } from './trusted-issuer-fields.ts';

const UNSUPPORTED_ISSUER_TYPES: readonly IssuerType[] = ['spiffe_jwt', 'host'];
const UNSUPPORTED_KEY_SOURCE_TYPES: readonly KeySourceType[] = ['spiffe_bundle_endpoint'];
const NOT_SUPPORTED = 'is not supported by this version';

/** TokenRequest makes no tokens that live shorter (pkg/apis/authentication/validation). */
const MIN_KUBERNETES_LIFETIME_SECONDS = 600;

/** Everything that is wrong with the fields together, the key source apart. */
export function issuerRuleProblems(fields: ReadableTrustedIssuer, ownIssuer: string): readonly InputProblem[] {
  return [
    ...unsupportedProblems(fields),
    ...issuerStringProblems(fields, ownIssuer),
    ...audienceProblems(fields, ownIssuer),
    ...typeProblems(fields),
    ...onlineReviewProblems(fields),
    ...subjectProblems(fields),
  ];
}

function unsupportedProblems(fields: ReadableTrustedIssuer): readonly InputProblem[] {
  const { issuer_type: issuerType, key_source_type: keySourceType } = fields;
  const problems: InputProblem[] = [];
  if (issuerType !== undefined && UNSUPPORTED_ISSUER_TYPES.includes(issuerType)) {
    problems.push(problem(`${issuerType} ${NOT_SUPPORTED}; use kubernetes_sa, oidc or cloud_oidc`, 'issuer_type'));
  }
  if (keySourceType !== undefined && UNSUPPORTED_KEY_SOURCE_TYPES.includes(keySourceType)) {
    const others = 'use oidc_discovery, static_jwks_url, static_jwks or token_review';
    problems.push(problem(`${keySourceType} ${NOT_SUPPORTED}; ${others}`, 'key_source_type'));
  }
  if ((fields.spiffe_refresh_hint_seconds ?? 0) !== 0) {
    const why = 'it belongs to key_source_type spiffe_bundle_endpoint';
    problems.push(problem(`${NOT_SUPPORTED}; ${why}`, 'spiffe_refresh_hint_seconds'));
  }
  return problems;
}

function issuerStringProblems(fields: ReadableTrustedIssuer, ownIssuer: string): readonly InputProblem[] {
  const { issuer_url: issuerUrl, additional_issuer_urls: additional = [] } = fields;
  const problems = issuerStrings(fields).flatMap(({ url, path }) => {
    const wrong = untrustableIssuer(url, ownIssuer);
    return wrong === null ? [] : [problem(wrong, ...path)];
  });
  const repeated = issuerUrl === undefined ? -1 : additional.indexOf(issuerUrl);
  if (repeated >= 0) problems.push(problem('is the issuer_url itself', 'additional_issuer_urls', String(repeated)));
  return problems;
}

/** Every issuer string of an input, with the path where it stands. */
export function issuerStrings(
  fields: Pick<ReadableTrustedIssuer, 'issuer_url' | 'additional_issuer_urls'>,
): readonly { readonly url: string; readonly path: readonly string[] }[] {
  const { issuer_url: issuerUrl, additional_issuer_urls: additional = [] } = fields;
  return [
    ...(issuerUrl === undefined ? [] : [{ url: issuerUrl, path: ['issuer_url'] }]),
    ...additional.map((url, index) => ({ url, path: ['additional_issuer_urls', String(index)] })),
  ];
}

function untrustableIssuer(url: string, ownIssuer: string): string | null {
  if (url === LEGACY_ISSUER) {
    return `${LEGACY_ISSUER} is the issuer of legacy tokens, which have no audience and never expire: use projected tokens`;
  }
  // A token that we issued must never come back as somebody's proof of who they are (RFC 8725 §3.11).
  return url.replace(/\/$/, '') === ownIssuer.replace(/\/$/, '')
    ? 'is the issuer identifier of this server, which can not be its own trusted issuer'
    : null;
}

function audienceProblems(fields: ReadableTrustedIssuer, ownIssuer: string): readonly InputProblem[] {
  const issuerUrls = issuerStrings(fields)
    .map(({ url }) => url)
    .filter((url) => url !== ownIssuer);
  return (fields.expected_aud ?? []).flatMap((audience, index) => {
    const wrong = expectedAudienceProblem(audience, fields.issuer_type, issuerUrls);
    return wrong === null ? [] : [problem(wrong, 'expected_aud', String(index))];
  });
}

function typeProblems(fields: ReadableTrustedIssuer): readonly InputProblem[] {
  if (fields.issuer_type === undefined) return [];
  const problems: InputProblem[] = [];
  if (fields.issuer_type === 'kubernetes_sa') {
    if (fields.subject_claim !== undefined && fields.subject_claim !== 'sub') {
      problems.push(problem('must be sub for issuer_type kubernetes_sa', 'subject_claim'));
    }
    if ((fields.max_token_lifetime_seconds ?? Number.POSITIVE_INFINITY) < MIN_KUBERNETES_LIFETIME_SECONDS) {
      const message = `must be at least ${MIN_KUBERNETES_LIFETIME_SECONDS}: Kubernetes makes no shorter tokens`;
      problems.push(problem(message, 'max_token_lifetime_seconds'));
    }
    return problems;
  }
  for (const name of ['require_pod', 'require_node'] as const) {
    if (fields[name] === true) problems.push(problem('is for issuer_type kubernetes_sa only', name));
  }
  return problems;
}

function subjectProblems(fields: ReadableTrustedIssuer): readonly InputProblem[] {
  const { issuer_type: issuerType } = fields;
  if (issuerType === undefined) return [];
  return (fields.allowed_subjects ?? []).flatMap((subject, index) => {
    const wrong = subjectProblem(subject, issuerType);
    return wrong === null ? [] : [problem(wrong, 'allowed_subjects', String(index))];
  });
}
