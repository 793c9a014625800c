/** The outbound POST as calls of Kubernetes API servers need it: its failures are a code and a sentence for the admin. */
import { err, type Result } from '../result.ts';
import { API_SERVER_SETTINGS, describeFetchFailure, type FetchFailure } from './fetch-failure.ts';
import { createOutboundPost, type OutboundFetchOptions } from './outbound-fetch.ts';
import type { PostedJson, PostJsonRequest } from './outbound-request.ts';

export type ApiServerPostFailure = { readonly code: FetchFailure['code']; readonly detail: string };

export type ApiServerPost = (
  url: string,
  request: PostJsonRequest,
) => Promise<Result<PostedJson, ApiServerPostFailure>>;

/** Throws a `RangeError` when `privateNetworks` holds something that is not a CIDR. */
export function createApiServerPost(options: OutboundFetchOptions): ApiServerPost {
  const postJson = createOutboundPost(options);
  return async (url, request) => {
    const posted = await postJson(url, request);
    if (posted.ok) return posted;
    return err({ code: posted.error.code, detail: describeFetchFailure(posted.error, API_SERVER_SETTINGS) });
  };
}
