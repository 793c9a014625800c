/**
 * Why a document could not be fetched: one tagged union, its evidence, and the sentence for the admin. It knows where
 * the fetch ended, never what was in an answer: a body could hold anything, and it would land in logs.
 */
import type { RefusalRemedy } from './address-policy.ts';

/** How far the fetch had come. */
export type FetchStage = 'name resolution' | 'connecting' | 'TLS handshake' | 'waiting for the answer' | 'reading';

export type FetchFailure =
  | { readonly code: 'url_invalid' }
  | { readonly code: 'credentials_in_url' }
  | { readonly code: 'scheme_refused'; readonly scheme: string }
  | { readonly code: 'plain_http_refused'; readonly host: string }
  | {
      readonly code: 'address_refused';
      readonly host: string;
      readonly address: string;
      readonly range: string;
      readonly remedy: RefusalRemedy;
    }
  | { readonly code: 'dns_failed'; readonly host: string; readonly cause: string }
  | { readonly code: 'connect_failed'; readonly host: string; readonly cause: string }
  | { readonly code: 'ca_pem_invalid' }
  | { readonly code: 'tls_failed'; readonly host: string; readonly cause: string }
  | { readonly code: 'answer_broken'; readonly cause: string }
  | { readonly code: 'timeout'; readonly seconds: number; readonly stage: FetchStage }
  | { readonly code: 'aborted' }
  | { readonly code: 'too_large'; readonly maxBytes: number }
  | { readonly code: 'unexpected_redirect'; readonly status: number }
  | {
      readonly code: 'unexpected_status';
      readonly status: number;
      /** Set for 401 and 403: the keys are there, but not for anonymous callers. */
      readonly hint: 'anonymous_access_refused' | null;
    }
  | { readonly code: 'encoding_unsupported' }
  | { readonly code: 'not_json'; readonly problem: 'not UTF-8' | 'not JSON'; readonly mediaType: string | null };

/** What the settings are called that mend a failure. */
export type MendingSettings = { readonly caPem: string; readonly url: string };

const KEY_SOURCE_SETTINGS: MendingSettings = { caPem: 'ca_pem', url: 'a jwks_url or discovery_url' };
/** For calls of a cluster's API server. */
export const API_SERVER_SETTINGS: MendingSettings = {
  caPem: 'kubernetes_api_server_ca_pem',
  url: 'a kubernetes_api_server_url',
};

/** The failure of a fetch that ended at this stage with this error of Node. */
export function failureAt(stage: FetchStage, host: string, cause: string): FetchFailure {
  switch (stage) {
    case 'name resolution':
      return { code: 'dns_failed', host, cause };
    case 'connecting':
      return { code: 'connect_failed', host, cause };
    case 'TLS handshake':
      return { code: 'tls_failed', host, cause };
    case 'waiting for the answer':
    case 'reading':
      return { code: 'answer_broken', cause };
  }
}

/** Node's error code (`ECONNREFUSED`, `ERR_TLS_CERT_ALTNAME_INVALID`, …); messages may quote what the peer sent. */
export function errorCode(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}

/** One sentence for the admin, without the URL: who calls names that. */
export function describeFetchFailure(failure: FetchFailure, settings = KEY_SOURCE_SETTINGS): string {
  switch (failure.code) {
    case 'url_invalid':
      return 'not an absolute URL';
    case 'credentials_in_url':
      return 'a URL with user name or password is never fetched';
    case 'scheme_refused':
      return `only https is fetched, not ${failure.scheme}`;
    case 'plain_http_refused':
      return `plain http is only for allowed private networks, and ${failure.host} is not in one`;
    case 'address_refused':
      return `${addressOf(failure)} is refused (${failure.range})${remedySentence(failure.remedy)}`;
    case 'dns_failed':
      return `the name ${failure.host} did not resolve (${failure.cause})`;
    case 'connect_failed':
      return `no connection to ${failure.host} (${failure.cause})`;
    case 'ca_pem_invalid':
      return `${settings.caPem} holds no readable certificate`;
    case 'tls_failed':
      return `TLS with ${failure.host} failed (${failure.cause})${tlsHint(failure.cause, settings)}`;
    case 'answer_broken':
      return `the answer broke off or is not HTTP (${failure.cause})`;
    case 'timeout':
      return `no complete answer within ${failure.seconds} s (${failure.stage})`;
    case 'aborted':
      return 'the fetch was given up: the server stops, or the key source changed';
    case 'too_large':
      return `the answer is larger than ${failure.maxBytes} bytes`;
    case 'unexpected_redirect':
      return `unexpected redirect (status ${failure.status}): redirects are not followed, give the final address`;
    case 'unexpected_status':
      return `the server answered ${failure.status}${failure.hint === null ? '' : ANONYMOUS_HINT}`;
    case 'encoding_unsupported':
      return 'the answer has a content encoding that was not asked for';
    case 'not_json':
      return `the answer is ${failure.problem}${failure.mediaType === null ? '' : ` (media type ${failure.mediaType})`}`;
  }
}

const ANONYMOUS_HINT =
  ': anonymous callers may not read it. For a Kubernetes cluster bind the ClusterRole ' +
  'system:service-account-issuer-discovery to the group system:unauthenticated, or paste the keys (static_jwks)';

function addressOf({ host, address }: { readonly host: string; readonly address: string }): string {
  return host === address ? address : `${host} resolves to ${address}, which`;
}

function remedySentence(remedy: RefusalRemedy): string {
  switch (remedy) {
    case 'none':
      return '';
    case 'operator':
      return ': to allow it, list its network in COUNTERSIGN_PRIVATE_NETWORKS and set allow_private_network';
    case 'row':
      return ': to allow it, set allow_private_network on this issuer';
  }
}

function tlsHint(cause: string, settings: MendingSettings): string {
  if (cause === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return `: the certificate is for other names, give ${settings.url} with one of those`;
  }
  return UNKNOWN_AUTHORITY.has(cause)
    ? `: unknown certificate authority, put its certificate in ${settings.caPem}`
    : '';
}

const UNKNOWN_AUTHORITY: ReadonlySet<string> = new Set([
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'CERT_SIGNATURE_FAILURE',
]);
