/**
 * From an issuer's row to its keys, once and now: which addresses are asked, in which order, and what came back. It
 * keeps nothing; the life of the sets is `issuer-keys.ts`.
 */
import { type JwkSetContent, readJwkSet } from '../assertion/key-set.ts';
import type { TrustedIssuer } from '../assertion/trusted-issuer.ts';
import { err, ok, type Result } from '../result.ts';
import {
  type DiscoveryFailure,
  describeDiscoveryFailure,
  discoveryUrlOf,
  readDiscoveryDocument,
} from './discovery-document.ts';
import { describeFetchFailure, type FetchFailure } from './fetch-failure.ts';
import type { FetchedJson, FetchJson } from './outbound-fetch.ts';
import { readStaticJwks } from './static-jwks.ts';

/** kube-apiserver answers 406 on its JWKS route unless the first of these is accepted. */
export const JWK_SET_ACCEPT = 'application/jwk-set+json, application/json';
export const DISCOVERY_ACCEPT = 'application/json, application/jwk-set+json;q=0.5';

export type KeyLoadFailure = {
  /** From a fixed list: fit for a metric's label. */
  readonly code:
    | FetchFailure['code']
    | DiscoveryFailure['code']
    | 'jwk_set_unusable'
    | 'key_source_incomplete'
    | 'key_source_unsupported'
    | 'fault';
  /** A sentence for the admin; no part of a fetched body but the strings that were compared. */
  readonly detail: string;
};

export type LoadedKeys = JwkSetContent & {
  /** Seconds; null where the answer to the key request names none. */
  readonly maxAgeSeconds: number | null;
};

/** Longest detail kept: the names of keys in a hostile set can be as long as the set. */
const MAX_DETAIL = 1000;

/** Everything that came back, for the cache and for an admin's check alike. */
export type KeyLoad = {
  /** The address asked for discovery; null where the source needs none. */
  readonly discoveryUrl: string | null;
  /** The document's `issuer`, once it was found to be right. */
  readonly discoveredIssuer: string | null;
  /** The address asked for keys; null where it was not reached or there is none. */
  readonly jwksUrl: string | null;
  readonly outcome: Result<LoadedKeys, KeyLoadFailure>;
};

/** Loads the keys of one issuer. Never rejects for anything that the other side does. */
export async function loadIssuerKeys(
  issuer: TrustedIssuer,
  fetchJson: FetchJson,
  signal?: AbortSignal,
): Promise<KeyLoad> {
  const nowhere = { discoveryUrl: null, discoveredIssuer: null, jwksUrl: null };
  const failed = (code: KeyLoadFailure['code'], detail: string): KeyLoad => ({
    ...nowhere,
    outcome: failure(code, detail),
  });
  // One way to ask for all of a row's documents: its CA and its consent hold for discovery and keys alike.
  const get = (url: string, accept: string) =>
    fetchJson(url, {
      caPem: issuer.caPem,
      allowPrivateNetwork: issuer.allowPrivateNetwork,
      accept,
      ...(signal === undefined ? {} : { signal }),
    });

  switch (issuer.keySourceType) {
    case 'static_jwks': {
      const content = await readStaticJwks(issuer.jwks);
      return content.ok
        ? { ...nowhere, outcome: ok({ ...content.value, maxAgeSeconds: null }) }
        : failed('jwk_set_unusable', content.error);
    }
    case 'static_jwks_url':
    case 'oidc_discovery':
      // An address that the admin gave beats the document's: a cluster often announces one without a route to it.
      if (issuer.jwksUrl !== null) {
        return { ...nowhere, jwksUrl: issuer.jwksUrl, outcome: await fetchKeySet(issuer.jwksUrl, get) };
      }
      return issuer.keySourceType === 'oidc_discovery'
        ? discover(issuer, get)
        : failed('key_source_incomplete', 'no address of a key set is stored (jwks_url)');
    case 'token_review':
      return failed('key_source_unsupported', 'there are no keys: the cluster is asked about each token');
    case 'spiffe_bundle_endpoint':
      return failed('key_source_unsupported', `key source type ${issuer.keySourceType} is not supported`);
  }
}

type Get = (url: string, accept: string) => Promise<Result<FetchedJson, FetchFailure>>;

async function discover(issuer: TrustedIssuer, get: Get): Promise<KeyLoad> {
  const discoveryUrl = discoveryUrlOf(issuer);
  const stopped = (code: KeyLoadFailure['code'], detail: string, discoveredIssuer: string | null = null): KeyLoad => ({
    discoveryUrl,
    discoveredIssuer,
    jwksUrl: null,
    outcome: failure(code, `discovery at ${displayUrl(discoveryUrl)}: ${detail}`),
  });
  const fetched = await get(discoveryUrl, DISCOVERY_ACCEPT);
  if (!fetched.ok) return stopped(fetched.error.code, describeFetchFailure(fetched.error));
  const document = readDiscoveryDocument(fetched.value.document, issuer, discoveryUrl);
  if (!document.ok) {
    const presented = document.error.code === 'discovery_issuer_mismatch' ? document.error.presented : null;
    return stopped(document.error.code, describeDiscoveryFailure(document.error), presented);
  }
  const { jwksUri } = document.value;
  return {
    discoveryUrl,
    discoveredIssuer: document.value.issuer,
    jwksUrl: jwksUri,
    outcome: await fetchKeySet(jwksUri, get),
  };
}

async function fetchKeySet(url: string, get: Get): Promise<Result<LoadedKeys, KeyLoadFailure>> {
  const failed = (code: KeyLoadFailure['code'], detail: string) =>
    failure(code, `key set at ${displayUrl(url)}: ${detail}`);
  const fetched = await get(url, JWK_SET_ACCEPT);
  if (!fetched.ok) return failed(fetched.error.code, describeFetchFailure(fetched.error));
  const content = await readJwkSet(fetched.value.document);
  if (!content.ok) return failed('jwk_set_unusable', content.error);
  return ok({ ...content.value, maxAgeSeconds: fetched.value.cacheControlMaxAge });
}

/** Foreign strings are in it: no control characters reach a terminal, no novel reaches an audit record. */
function failure(code: KeyLoadFailure['code'], detail: string): Result<never, KeyLoadFailure> {
  const printable = detail.replace(/\p{Cc}/gu, '\u{fffd}');
  return err({ code, detail: printable.length > MAX_DETAIL ? `${printable.slice(0, MAX_DETAIL)}…` : printable });
}

/** Without user, password and query: people put secrets there. */
function displayUrl(text: string): string {
  const url = URL.parse(text);
  return url === null ? JSON.stringify(text) : `${url.protocol}//${url.host}${url.pathname}`;
}
