/**
 * The fields that say where an issuer's keys come from, checked together: each key source type has its own, and only
 * those. Whether anything answers there is for `_check_trusted_issuer` to say, not for a write.
 */
import { X509Certificate } from 'node:crypto';
import type { KeySourceType } from '../assertion/trusted-issuer.ts';
import { type InputProblem, problem } from './input-problem.ts';
import { readPastedJwks } from './pasted-jwks.ts';

/** Longest PEM text; a chain with its roots has less. */
export const MAX_CA_PEM_LENGTH = 64 * 1024;

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g;

/** As much of the input as could be read. */
export type KeySourceFields = {
  readonly issuer_url?: string | undefined;
  readonly key_source_type?: KeySourceType | undefined;
  readonly jwks_url?: string | null | undefined;
  readonly jwks?: string | null | undefined;
  readonly discovery_url?: string | null | undefined;
  readonly ca_pem?: string | null | undefined;
  readonly allow_private_network?: boolean | undefined;
};

type KeySourceField = 'jwks_url' | 'jwks' | 'discovery_url';

/** The fields that belong to each type. An explicit `jwks_url` beats what discovery announces. */
const FIELDS_OF: Readonly<Partial<Record<KeySourceType, readonly KeySourceField[]>>> = {
  oidc_discovery: ['discovery_url', 'jwks_url'],
  static_jwks_url: ['jwks_url'],
  static_jwks: ['jwks'],
  token_review: [],
};

/** Everything that is wrong with the key source. */
export async function keySourceProblems(fields: KeySourceFields): Promise<readonly InputProblem[]> {
  const { key_source_type: type, allow_private_network: allowPrivate } = fields;
  const own = type === undefined ? undefined : FIELDS_OF[type];
  const problems: InputProblem[] = [];
  for (const name of ['jwks_url', 'jwks', 'discovery_url'] as const) {
    const value = fields[name] ?? null;
    if (value === null) continue;
    if (own !== undefined && !own.includes(name)) {
      problems.push(problem(`does not belong to key_source_type ${type}: leave it out, or change the type`, name));
    } else if (name === 'jwks') {
      const content = await readPastedJwks(value);
      if (!content.ok) problems.push(problem(content.error, name));
    } else if (allowPrivate !== undefined) {
      const wrong = fetchUrlProblem(value, allowPrivate);
      if (wrong !== null) problems.push(problem(wrong, name));
    }
  }
  if (type === 'static_jwks_url' && fields.jwks_url === null) {
    problems.push(problem('is required for key_source_type static_jwks_url', 'jwks_url'));
  }
  if (type === 'static_jwks' && fields.jwks === null) {
    problems.push(problem('is required for key_source_type static_jwks: paste the JWK set as JSON text', 'jwks'));
  }
  if (type === 'oidc_discovery' && fields.discovery_url === null && fields.jwks_url === null) {
    problems.push(...discoverableIssuerProblems(fields.issuer_url, allowPrivate));
  }
  const certificate = typeof fields.ca_pem === 'string' ? caPemProblem(fields.ca_pem) : null;
  return certificate === null ? problems : [...problems, problem(certificate, 'ca_pem')];
}

/** The keys of a pasted set that will not be used, as warnings. */
export async function pastedKeyWarnings(jwks: string | null): Promise<readonly string[]> {
  const content = jwks === null ? null : await readPastedJwks(jwks);
  if (content === null || !content.ok) return [];
  return content.value.skipped.map(({ kid, reason }) => `jwks: kid ${kid ?? 'none'} is not used: ${reason}`);
}

/** Without a further address, discovery is read at the issuer itself (OpenID Connect Discovery 1.0 §4.1). */
function discoverableIssuerProblems(
  issuerUrl: string | undefined,
  allowPrivate: boolean | undefined,
): readonly InputProblem[] {
  if (issuerUrl === undefined || allowPrivate === undefined) return [];
  const wrong = issuerUrl.includes('?') ? 'must not have a query' : fetchUrlProblem(issuerUrl, allowPrivate);
  return wrong === null
    ? []
    : [problem(`${wrong}; or give discovery_url or jwks_url, or another key_source_type`, 'issuer_url')];
}

/**
 * Why a document can't be fetched from this address; null when it can. Keys that came over plain http are whoever's is
 * on the way, so that is for private networks only; credentials in an address end up in logs.
 */
function fetchUrlProblem(text: string, allowPrivate: boolean): string | null {
  const url = /[\s\\]/.test(text) ? null : URL.parse(text);
  if (url === null || !/^https?:\/\//i.test(text)) return 'must be an absolute https URL';
  if (url.protocol === 'http:' && !allowPrivate) {
    return 'must be an https URL (http only together with allow_private_network: true)';
  }
  if (url.username !== '' || url.password !== '') return 'must not have a user name or password';
  return text.includes('#') ? 'must not have a fragment' : null;
}

/** Why PEM certificates can't be used; null when they can. */
export function caPemProblem(pem: string): string | null {
  const blocks = pem.match(CERTIFICATE) ?? [];
  if (pem.replace(CERTIFICATE, '').includes('-----BEGIN')) return 'must hold PEM certificates and nothing else';
  if (blocks.length === 0) return 'must hold at least one PEM certificate';
  for (const [index, block] of blocks.entries()) {
    try {
      new X509Certificate(block);
    } catch {
      return `certificate ${index + 1} of ${blocks.length} can't be read`;
    }
  }
  return null;
}
