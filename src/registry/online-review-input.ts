/** The fields that say how a cluster is asked about its tokens (TokenReview), checked together. */
import { type InputProblem, problem } from './input-problem.ts';
import { caPemProblem } from './key-source-input.ts';
import type { ReadableTrustedIssuer } from './trusted-issuer-fields.ts';

const ONLY_WITH_REVIEW = [
  'kubernetes_api_server_url',
  'kubernetes_api_server_ca_pem',
  'kubernetes_api_server_credential',
  'token_review_audience',
] as const;

/** Names of files in one folder: no path leads out of it. */
const CREDENTIAL_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;

/** Everything that is wrong with the online review. */
export function onlineReviewProblems(fields: ReadableTrustedIssuer): readonly InputProblem[] {
  const { issuer_type: issuerType, key_source_type: keySourceType, enable_token_review: isEnabled } = fields;
  if (isEnabled === undefined) return [];
  const isOnlyVerifier = keySourceType === 'token_review';
  if (!isEnabled && !isOnlyVerifier) {
    return ONLY_WITH_REVIEW.flatMap((name) =>
      (fields[name] ?? null) === null
        ? []
        : [problem('belongs to enable_token_review: leave it out, or switch that on', name)],
    );
  }
  const problems: InputProblem[] = [];
  if (issuerType !== undefined && issuerType !== 'kubernetes_sa') {
    problems.push(
      problem('is for issuer_type kubernetes_sa only', isOnlyVerifier ? 'key_source_type' : 'enable_token_review'),
    );
  }
  const url = fields.kubernetes_api_server_url;
  if (url === null) problems.push(problem('is required to ask the cluster', 'kubernetes_api_server_url'));
  else if (url !== undefined && !isServerUrl(url)) {
    const message = 'must be the https URL of an API server, without user, query and fragment';
    problems.push(problem(message, 'kubernetes_api_server_url'));
  }
  const certificates = fields.kubernetes_api_server_ca_pem ?? null;
  const wrong = certificates === null ? null : caPemProblem(certificates);
  if (wrong !== null) problems.push(problem(wrong, 'kubernetes_api_server_ca_pem'));
  const credential = fields.kubernetes_api_server_credential ?? null;
  if (credential !== null && !CREDENTIAL_NAME.test(credential)) {
    const message = 'must be the name of a file of COUNTERSIGN_KUBERNETES_CREDENTIALS';
    problems.push(problem(message, 'kubernetes_api_server_credential'));
  }
  return problems;
}

/** Our credential goes there: encrypted, and to nothing that a part of the URL could name besides. */
function isServerUrl(text: string): boolean {
  const url = /[\s\\]/.test(text) ? null : URL.parse(text);
  return url !== null && url.protocol === 'https:' && url.username === '' && url.password === '' && !/[?#]/.test(text);
}
