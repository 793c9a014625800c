/**
 * Which audiences an issuer's assertions may be expected to have. A token for the Kubernetes API server must never be
 * taken as one for us: every pod has one, and whoever gets it from us could use it there.
 */
import type { IssuerType } from '../assertion/trusted-issuer.ts';

/** The API server's names inside a cluster, with or without scheme, cluster domain, port and slash. */
const API_SERVER_ADDRESS = /^(https?:\/\/)?kubernetes\.default(\.svc(\.[a-z0-9.-]+)?)?(:\d+)?\/?$/i;
/** `--api-audiences` as distributions set it, besides their issuer. */
const API_SERVER_WORDS = ['k3s', 'rke2', 'api', 'kubernetes', 'kube-apiserver'];

/** Why this audience can't be expected; null when it can. `issuerUrls`: all of the row's issuer strings. */
export function expectedAudienceProblem(
  audience: string,
  issuerType: IssuerType | undefined,
  issuerUrls: readonly string[],
): string | null {
  const isKubernetes = issuerType === 'kubernetes_sa';
  // kube-apiserver takes its own issuer strings as its audiences unless --api-audiences says otherwise.
  const isApiServer =
    API_SERVER_ADDRESS.test(audience) ||
    (isKubernetes && (API_SERVER_WORDS.includes(audience) || issuerUrls.includes(audience)));
  return isApiServer
    ? `${JSON.stringify(audience)} is an audience of the Kubernetes API server: ask for a token with our own audience`
    : null;
}

/** What an admin should know about an audience that is allowed. */
export function expectedAudienceWarnings(audience: string, ownIssuer: string): readonly string[] {
  const tokenEndpoint = `${ownIssuer.replace(/\/$/, '')}/oauth/token`;
  return audience === tokenEndpoint
    ? [`expected_aud ${JSON.stringify(audience)} is our token endpoint; prefer our issuer identifier ${ownIssuer}`]
    : [];
}
