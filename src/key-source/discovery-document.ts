/**
 * OpenID Connect discovery as far as we need it: where the document is, and the two members that count. Kubernetes
 * publishes little more than those (no authorization endpoint), so nothing else is asked for. Pure: it fetches nothing.
 */
import type { TrustedIssuer } from '../assertion/trusted-issuer.ts';
import { err, ok, type Result } from '../result.ts';

const WELL_KNOWN_PATH = '/.well-known/openid-configuration';
/** Longest string of a foreign document that is repeated to the admin. */
const MAX_QUOTED = 300;
/** Far beyond any real address of a key set. */
const MAX_JWKS_URI = 2048;

export type DiscoveryFailure =
  | { readonly code: 'discovery_malformed'; readonly problem: string }
  | { readonly code: 'discovery_is_kubernetes_status' }
  | { readonly code: 'discovery_issuer_mismatch'; readonly expected: readonly string[]; readonly presented: string }
  | { readonly code: 'jwks_uri_invalid'; readonly problem: string };

/**
 * Where an issuer's document is read: the row's `discoveryUrl`, else the issuer without one trailing slash and the
 * well-known path appended (OpenID Connect Discovery 1.0 §4.1). The issuer's own path stays; the host is never guessed.
 */
export function discoveryUrlOf(issuer: Pick<TrustedIssuer, 'issuerUrl' | 'discoveryUrl'>): string {
  return issuer.discoveryUrl ?? `${issuer.issuerUrl.replace(/\/$/, '')}${WELL_KNOWN_PATH}`;
}

/**
 * Reads a parsed document that came from `fetchedFrom`. Its `issuer` must be the row's, byte for byte, wherever it was
 * fetched: whoever serves a document for another issuer must not supply this one's keys (Discovery §4.3).
 */
export function readDiscoveryDocument(
  document: unknown,
  row: Pick<TrustedIssuer, 'issuerUrl' | 'additionalIssuerUrls'>,
  fetchedFrom: string,
): Result<{ readonly issuer: string; readonly jwksUri: string }, DiscoveryFailure> {
  if (typeof document !== 'object' || document === null || Array.isArray(document)) {
    return err({ code: 'discovery_malformed', problem: 'not a JSON object' });
  }
  const { kind, issuer, jwks_uri } = document as { kind?: unknown; issuer?: unknown; jwks_uri?: unknown };
  if (kind === 'Status') return err({ code: 'discovery_is_kubernetes_status' });
  if (typeof issuer !== 'string') return err({ code: 'discovery_malformed', problem: 'no string "issuer"' });
  const expected = [row.issuerUrl, ...row.additionalIssuerUrls];
  if (!expected.includes(issuer)) return err({ code: 'discovery_issuer_mismatch', expected, presented: issuer });
  if (typeof jwks_uri !== 'string') return err({ code: 'discovery_malformed', problem: 'no string "jwks_uri"' });
  const jwksUri = URL.parse(jwks_uri);
  if (jwksUri === null || jwks_uri.length > MAX_JWKS_URI) {
    return err({ code: 'jwks_uri_invalid', problem: 'not an absolute URL' });
  }
  // Where the document came over http, the fetch itself decides: only within allowed private networks.
  if (jwksUri.protocol !== 'https:' && !(jwksUri.protocol === 'http:' && fetchedFrom.startsWith('http:'))) {
    return err({ code: 'jwks_uri_invalid', problem: `${jwksUri.protocol}// instead of https://` });
  }
  return ok({ issuer, jwksUri: jwksUri.href });
}

/** One sentence for the admin. */
export function describeDiscoveryFailure(failure: DiscoveryFailure): string {
  switch (failure.code) {
    case 'discovery_malformed':
      return `not a discovery document: ${failure.problem}`;
    case 'discovery_is_kubernetes_status':
      return 'not a discovery document: a Kubernetes Status object';
    case 'discovery_issuer_mismatch':
      return `the document is of issuer ${quote(failure.presented)}, not of ${failure.expected.map(quote).join(' or ')}`;
    case 'jwks_uri_invalid':
      return `jwks_uri is ${failure.problem}`;
  }
}

/** Quoted and escaped, so that foreign text can't draw lines of its own in a log. */
function quote(text: string): string {
  return JSON.stringify(text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED)}…` : text);
}
