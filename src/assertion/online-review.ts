/**
 * The cluster's own word on a token (TokenReview): a second check after the signature, or the only one where no keys are
 * registered. It counts when it names exactly the workload that the token claims to be; everything else refuses.
 */
import type { OnlineReviews, ReviewVerdict } from './ports.ts';
import type { AssertionRefusal } from './refusal.ts';
import type { TrustedIssuer } from './trusted-issuer.ts';
import type { VerifiedAssertion } from './verified-workload.ts';

/** Whether tokens of this issuer are reviewed. */
export function isReviewed(issuer: Pick<TrustedIssuer, 'enableTokenReview' | 'keySourceType'>): boolean {
  return issuer.enableTokenReview || isReviewedOnly(issuer);
}

/** Whether the review is all there is: no keys, no signature of ours to check. */
export function isReviewedOnly({ keySourceType }: Pick<TrustedIssuer, 'keySourceType'>): boolean {
  return keySourceType === 'token_review';
}

export type ReviewOutcome = {
  readonly refusal: AssertionRefusal | null;
  /** As the cluster names the token; null where it does not. */
  readonly credentialId: string | null;
};

/** Asks the issuer's cluster about an assertion whose claims are `verified` but for this. */
export async function reviewAssertion(
  onlineReviews: OnlineReviews,
  verified: VerifiedAssertion,
  assertion: string,
): Promise<ReviewOutcome> {
  const verdict = await onlineReviews.review(verified.trustedIssuer, assertion);
  switch (verdict.kind) {
    case 'denied':
      return { refusal: { reason: 'review_denied', detail: verdict.detail }, credentialId: null };
    case 'unavailable': {
      const { detail, retryAfterSeconds } = verdict;
      return { refusal: { reason: 'review_unavailable', detail, retryAfterSeconds }, credentialId: null };
    }
    case 'authenticated':
      return { refusal: reviewMismatch(verified, verdict), credentialId: verdict.credentialId };
  }
}

type Authenticated = Extract<ReviewVerdict, { kind: 'authenticated' }>;

/**
 * What the cluster says otherwise than the token's claims; null when all that it says agrees. A cluster may authenticate
 * tokens of other issuers too, under names of its choice: only one that names this account speaks of this token. What an
 * answer leaves out (nodes before 1.30, uids behind a webhook) is not compared.
 */
export function reviewMismatch(
  { subject, jti, kubernetes }: Pick<VerifiedAssertion, 'subject' | 'jti' | 'kubernetes'>,
  verdict: Authenticated,
): AssertionRefusal | null {
  const pairs: readonly (readonly [claim: string, claimed: string | null, reviewed: string | null])[] = [
    ['sub', subject, verdict.username],
    ['kubernetes.io.serviceaccount.uid', kubernetes?.serviceAccount.uid ?? null, verdict.uid],
    ['kubernetes.io.pod.uid', kubernetes?.pod?.uid ?? null, verdict.podUid],
    ['kubernetes.io.node.name', kubernetes?.node?.name ?? verdict.nodeName, verdict.nodeName],
    ['jti', jti ?? jtiOf(verdict), jtiOf(verdict)],
  ];
  const wrong = pairs.find(([, claimed, reviewed]) => reviewed !== null && claimed !== reviewed);
  if (wrong === undefined) return null;
  const [claim, claimed, reviewed] = wrong;
  return { reason: 'review_mismatch', claim, claimed: claimed ?? 'absent', reviewed: String(reviewed).slice(0, 400) };
}

/** The token's `jti` as the cluster names it; null where it names none, or in another form. */
function jtiOf({ credentialId }: Authenticated): string | null {
  const prefix = 'JTI=';
  return credentialId?.startsWith(prefix) === true ? credentialId.slice(prefix.length) : null;
}
