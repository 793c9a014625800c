/**
 * TokenReview (authentication.k8s.io/v1) as pure functions: what is asked, and what an answer is worth. An answer that
 * is not plainly a yes for us is a no; an answer that is none at all is a fault of the cluster, never of the caller.
 */
import type { ReviewVerdict } from '../assertion/ports.ts';
import { withoutSecrets } from './without-secrets.ts';

/** Below the API server's URL. */
export const TOKEN_REVIEW_PATH = '/apis/authentication.k8s.io/v1/tokenreviews';

const API_VERSION = 'authentication.k8s.io/v1';
/** Keys of `status.user.extra` (k8s.io/apiserver pkg/authentication/serviceaccount/util.go, pkg/authentication/user). */
const POD_UID = 'authentication.kubernetes.io/pod-uid';
const NODE_NAME = 'authentication.kubernetes.io/node-name';
const CREDENTIAL_ID = 'authentication.kubernetes.io/credential-id';
/** Longest name or id that is taken; subjects have at most 338 characters. */
const MAX_TEXT = 1024;

/** The HTTP answer, as far as it was read. */
export type ReviewAnswer = {
  readonly status: number;
  /** Of 200 and 201 only. */
  readonly document: unknown;
  readonly retryAfterSeconds: number | null;
};

/** What an answer says about the cluster when it says nothing about the token. */
export type AnswerFault =
  /** 401: our credential is not known. */
  | 'credential_unknown'
  /** 403: it may not create token reviews. */
  | 'forbidden'
  | 'throttled'
  | 'server_error'
  /** The request is refused as such. One caller's token may be the cause: it is no sign that the cluster is away. */
  | 'request_refused'
  /** A proxy's page, another document, a status that no API server gives here. */
  | 'unexpected_answer';

export type ReadReview =
  | { readonly kind: 'verdict'; readonly verdict: Exclude<ReviewVerdict, { kind: 'unavailable' }> }
  | { readonly kind: 'fault'; readonly fault: AnswerFault; readonly detail: string };

/** The body of the request. Without audiences the API server would check for its own, so they are always sent. */
export function tokenReviewRequest(assertion: string, audiences: readonly string[]) {
  return { apiVersion: API_VERSION, kind: 'TokenReview', spec: { token: assertion, audiences } };
}

/**
 * What the answer is worth. `audiences`: those that were asked for. `secrets`: texts that must not be in a detail, even
 * where the cluster's words hold them.
 */
export function readTokenReview(
  { status, document }: ReviewAnswer,
  audiences: readonly string[],
  secrets: readonly string[],
): ReadReview {
  if (status !== 200 && status !== 201) return { kind: 'fault', ...faultOfStatus(status) };
  if (!isObject(document) || document.kind !== 'TokenReview') {
    return { kind: 'fault', fault: 'unexpected_answer', detail: `the answer of status ${status} is not a TokenReview` };
  }
  // `authenticated` is absent when it is false; whatever else is missing can't be a yes either.
  const review = isObject(document.status) ? document.status : {};
  if (isSaid(review.error)) return denied(errorText(review.error, secrets));
  if (review.authenticated !== true) return denied('the cluster does not authenticate the token');
  const reviewedFor: readonly unknown[] = Array.isArray(review.audiences) ? review.audiences : [];
  if (!audiences.some((audience) => reviewedFor.includes(audience))) {
    // Without audiences the token is good for the API server itself, or whoever checked it does not look at them.
    return denied('the cluster authenticates the token, but not for our audience');
  }
  const user = isObject(review.user) ? review.user : {};
  const { username } = user;
  if (!isText(username)) return denied('the cluster authenticates the token, but names nobody');
  const extra = isSaid(user.extra) ? user.extra : {};
  const uid = optionalText(user.uid);
  const podUid = extraText(extra, POD_UID);
  const nodeName = extraText(extra, NODE_NAME);
  const credentialId = extraText(extra, CREDENTIAL_ID);
  if (uid === undefined || podUid === undefined || nodeName === undefined || credentialId === undefined) {
    return denied('the cluster authenticates the token, but its answer names the workload in a form that is not read');
  }
  return { kind: 'verdict', verdict: { kind: 'authenticated', username, uid, podUid, nodeName, credentialId } };
}

function faultOfStatus(status: number): { readonly fault: AnswerFault; readonly detail: string } {
  const answered = `the API server answered ${status}`;
  switch (status) {
    case 401:
      return { fault: 'credential_unknown', detail: `${answered}: it does not know our credential` };
    case 403: {
      const mend = 'bind its user to a role that may create tokenreviews.authentication.k8s.io';
      return { fault: 'forbidden', detail: `${answered}: our credential may not create token reviews, ${mend}` };
    }
    case 429:
      return { fault: 'throttled', detail: `${answered}: it has too much to do` };
    case 400:
    case 409:
    case 413:
    case 422:
      return { fault: 'request_refused', detail: answered };
  }
  if (status >= 500) return { fault: 'server_error', detail: answered };
  return { fault: 'unexpected_answer', detail: `${answered}: is kubernetes_api_server_url that of an API server?` };
}

function denied(detail: string): ReadReview {
  return { kind: 'verdict', verdict: { kind: 'denied', detail } };
}

/** The texts are for people and change from release to release: nothing is decided by them. */
function errorText(error: unknown, secrets: readonly string[]): string {
  if (typeof error !== 'string') return 'the cluster answers with an error in a form that is not read';
  return `the cluster answers: ${withoutSecrets(error, secrets)}`;
}

/** Go writes the zero value as `""`, or leaves it out. */
function isSaid(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '';
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= MAX_TEXT;
}

/** Null where nothing is said; undefined where it is said in a form that could hide a contradiction. */
function optionalText(value: unknown): string | null | undefined {
  if (!isSaid(value)) return null;
  return isText(value) ? value : undefined;
}

/** The one value of an entry of `extra`, whose values are lists of texts. */
function extraText(extra: unknown, key: string): string | null | undefined {
  if (!isObject(extra)) return undefined;
  const values = Object.hasOwn(extra, key) ? extra[key] : null;
  if (!isSaid(values)) return null;
  if (!Array.isArray(values) || values.length > 1) return undefined;
  return values.length === 0 ? null : optionalText(values[0]);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
