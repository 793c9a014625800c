/**
 * What the authorization server says about itself (RFC 8414): where its token endpoint and its keys are. Shared by the
 * token client and by protected APIs. It keeps nothing; caching is for its callers.
 */
import {
  type AuthorizationServer,
  allowInsecureRequests,
  customFetch,
  discoveryRequest,
  processDiscoveryResponse,
} from 'oauth4webapi';
import { err, ok, type Result } from '../result.ts';
import { requireEndpointAddress } from './endpoint-address.ts';

/** Its metadata; or a phrase for why the answer, whose status tells whether to try again, is none of this issuer's. */
export type MetadataAnswer = {
  readonly response: Response;
  readonly metadata: Result<AuthorizationServer, string>;
};

/**
 * Fetches the metadata of `issuer`. Rejects when no answer comes (as `boundedFetch` does), and with a `TypeError` for an
 * issuer whose address may not be used.
 *
 * @param fetch from `boundedFetch`
 */
export async function fetchServerMetadata(
  issuer: string,
  fetch: (url: string, init: RequestInit) => Promise<Response>,
  allowInsecure: boolean,
): Promise<MetadataAnswer> {
  const issuerUrl = requireEndpointAddress('issuer', issuer, allowInsecure);
  const response = await discoveryRequest(issuerUrl, {
    algorithm: 'oauth2',
    // The line above has the rule for http; the library's own would refuse loopback as well.
    [allowInsecureRequests]: true,
    [customFetch]: (url, { method, headers }) => fetch(url, { method, headers }),
  });
  return { response, metadata: await readMetadata(issuer, issuerUrl, response) };
}

async function readMetadata(
  issuer: string,
  issuerUrl: URL,
  response: Response,
): Promise<Result<AuthorizationServer, string>> {
  if (response.status !== 200) return err(`the metadata was answered with ${response.status}`);
  try {
    const metadata = await processDiscoveryResponse(issuerUrl, response);
    // The library compares normalised URLs. RFC 8414 §3.3 wants the same string: a look-alike is another issuer.
    return metadata.issuer === issuer ? ok(metadata) : err('the metadata names another issuer');
  } catch {
    return err('the metadata is malformed or names another issuer');
  }
}
