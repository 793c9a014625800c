/** One TokenReview call: the operator's credential, the row's API server, one POST, and what the answer is worth. */
import type { TrustedIssuer } from '../assertion/trusted-issuer.ts';
import type { Stopwatch } from '../clock.ts';
import type { Result } from '../result.ts';
import type { ApiServerCredential, ApiServerCredentials } from './api-server-credential.ts';
import type { EndedReview, ReviewOutcome } from './review-outcome.ts';
import { type ReviewAnswer, readTokenReview, TOKEN_REVIEW_PATH, tokenReviewRequest } from './token-review.ts';

/** As much of an issuer's row as says how its cluster is asked. */
export type ReviewedIssuer = Pick<
  TrustedIssuer,
  | 'id'
  | 'name'
  | 'expectedAud'
  | 'allowPrivateNetwork'
  | 'keySourceRevision'
  | 'kubernetesApiServerUrl'
  | 'kubernetesApiServerCaPem'
  | 'caPem'
  | 'kubernetesApiServerCredential'
  | 'tokenReviewAudience'
>;

/** `key-source/` implements it: https alone, to this URL alone, sent once, no redirects. */
export type PostJson = (
  url: string,
  request: {
    readonly body: unknown;
    readonly bearerToken: string | null;
    readonly clientCertificate: ApiServerCredential['clientCertificate'];
    /** Certificates that replace the system's roots; null for those. */
    readonly caPem: string | null;
    readonly allowPrivateNetwork: boolean;
    readonly deadlineMs: number;
    readonly signal: AbortSignal;
  },
) => Promise<Result<ReviewAnswer, { readonly code: string; readonly detail: string }>>;

/** An end, and when the cluster itself wants to be asked again; null where it does not say. */
export type AskedCluster = EndedReview & { readonly retryAfterSeconds: number | null };

/** When a fault of the cluster may be over. The breaker says more where it has opened. */
const RETRY_SECONDS = 1;
/** What only an operator or an admin can mend is not mended in seconds. */
const MISCONFIGURED_RETRY_SECONDS = 30;

/** Where a failed POST ended. All others are answers that are none. */
const OUTCOME_OF_FAILURE: Readonly<Record<string, ReviewOutcome>> = {
  dns_failed: 'unreachable',
  connect_failed: 'unreachable',
  answer_broken: 'unreachable',
  tls_failed: 'tls_failed',
  timeout: 'timeout',
  aborted: 'stopping',
  url_invalid: 'misconfigured',
  credentials_in_url: 'misconfigured',
  scheme_refused: 'misconfigured',
  plain_http_refused: 'misconfigured',
  address_refused: 'misconfigured',
  ca_pem_invalid: 'misconfigured',
};

/** The audiences that the cluster is asked for. */
export function reviewedAudiences({ tokenReviewAudience, expectedAud }: ReviewedIssuer): readonly string[] {
  return tokenReviewAudience === null ? expectedAud : [tokenReviewAudience];
}

/**
 * Asks once, within the time that is left, and never a second time: tries of ours would multiply the load of a cluster
 * that is unwell, and the caller is told when to come back.
 */
export async function askCluster(
  { postJson, credentials, stopwatch }: Dependencies,
  issuer: ReviewedIssuer,
  assertion: string,
  { deadlineMs, signal }: { readonly deadlineMs: number; readonly signal: AbortSignal },
): Promise<AskedCluster> {
  const url = tokenReviewUrl(issuer.kubernetesApiServerUrl);
  if (url === null) return ended('misconfigured', 'kubernetes_api_server_url is not the https URL of an API server');
  const startedAt = stopwatch();
  const read = await within(deadlineMs, credentials.read(issuer.kubernetesApiServerCredential));
  if (read === null) return ended('misconfigured', 'the credential could not be read in time');
  if (!read.ok) return ended('misconfigured', `the credential for the API server: ${read.error}`);
  const credential = read.value;
  const audiences = reviewedAudiences(issuer);
  const posted = await postJson(url, {
    body: tokenReviewRequest(assertion, audiences),
    bearerToken: credential.bearerToken,
    clientCertificate: credential.clientCertificate,
    caPem: issuer.kubernetesApiServerCaPem ?? issuer.caPem ?? credential.caPem,
    allowPrivateNetwork: issuer.allowPrivateNetwork,
    deadlineMs: Math.max(1, deadlineMs - 1000 * (stopwatch() - startedAt)),
    signal,
  });
  if (!posted.ok) {
    const { code, detail } = posted.error;
    const outcome = OUTCOME_OF_FAILURE[code] ?? 'unexpected_answer';
    return ended(outcome, outcome === 'stopping' ? 'the server stops' : `the API server: ${detail}`);
  }
  const review = readTokenReview(posted.value, audiences, [assertion, credential.bearerToken ?? '']);
  if (review.kind === 'fault') return ended(review.fault, review.detail, posted.value.retryAfterSeconds);
  const { verdict } = review;
  return { outcome: verdict.kind, verdict, retryAfterSeconds: null };
}

export type Dependencies = {
  readonly postJson: PostJson;
  readonly credentials: ApiServerCredentials;
  readonly stopwatch: Stopwatch;
};

/**
 * Null for a URL that our credential must not be sent to. A path of its own is kept: clusters behind a gateway have one.
 */
function tokenReviewUrl(text: string | null): string | null {
  const url = text === null ? null : URL.parse(text);
  if (url === null || url.protocol !== 'https:' || url.search !== '' || url.hash !== '') return null;
  return `${url.href.replace(/\/+$/, '')}${TOKEN_REVIEW_PATH}`;
}

function ended(outcome: ReviewOutcome, detail: string, retryAfterSeconds: number | null = null): AskedCluster {
  const isMisconfigured = outcome === 'misconfigured';
  const verdict = {
    kind: 'unavailable',
    detail,
    retryAfterSeconds: isMisconfigured ? MISCONFIGURED_RETRY_SECONDS : RETRY_SECONDS,
  } as const;
  return { outcome, verdict, retryAfterSeconds };
}

/** The value, or null when it does not come in time: a file on a network may never be read. */
async function within<T>(milliseconds: number, work: Promise<T>): Promise<T | null> {
  const { promise, resolve } = Promise.withResolvers<null>();
  const timer = setTimeout(() => resolve(null), milliseconds);
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}
