/**
 * Which API servers a credential of ours is for. Rows name both, and whoever may write a row must not be able to have
 * our credential sent to a server of their own: the operator's files say where each may go, and nothing else does.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { OnlineReviews } from '../assertion/ports.ts';
import { kubeconfigServer } from './kubeconfig.ts';

/** What only an operator or an admin can mend is not mended in seconds. */
const RETRY_SECONDS = 30;

export type CredentialServersOptions = {
  /** The operator's folder; null: there are no named credentials. */
  readonly folder: string | null;
  /** API servers of the own pod's cluster. */
  readonly inClusterApiServers: readonly string[];
};

/** The URLs of the servers that a credential is for; null names the own pod's token. */
export async function serversOfCredential(
  name: string | null,
  { folder, inClusterApiServers }: CredentialServersOptions,
): Promise<readonly string[]> {
  if (name === null) return inClusterApiServers;
  if (folder === null) return [];
  const besides = await textOf(join(folder, `${name}.server`));
  if (besides !== null) return besides.split(/\s+/).filter((url) => url !== '');
  const server = kubeconfigServer((await textOf(join(folder, name))) ?? '');
  return server === null ? [] : [server];
}

/** Reviews that ask no server that the row's credential is not for. */
export function withServersOfCredentials(reviews: OnlineReviews, options: CredentialServersOptions): OnlineReviews {
  return {
    async review(issuer, assertion) {
      const { kubernetesApiServerUrl: url, kubernetesApiServerCredential: name } = issuer;
      const servers = await serversOfCredential(name, options);
      if (url !== null && servers.some((server) => isSameServer(server, url))) return reviews.review(issuer, assertion);
      return {
        kind: 'unavailable',
        detail: `${describe(name)} is not for the API server ${JSON.stringify(url)}: ${mendOf(name, servers)}`,
        retryAfterSeconds: RETRY_SECONDS,
      };
    },
  };
}

/** Scheme, host and port; a path below is the server's own matter. */
function isSameServer(one: string, other: string): boolean {
  const [a, b] = [URL.parse(one), URL.parse(other)];
  return a !== null && b !== null && a.protocol === 'https:' && a.origin === b.origin;
}

function describe(name: string | null): string {
  return name === null ? "the own pod's token" : `the credential ${JSON.stringify(name)}`;
}

function mendOf(name: string | null, servers: readonly string[]): string {
  if (servers.length > 0) return `it is for ${servers.join(', ')}`;
  return name === null
    ? 'this server runs in no cluster; name a credential for this issuer'
    : `put the server's URL into ${name}.server beside it, or use a kubeconfig, which names its server`;
}

async function textOf(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8');
  } catch {
    return null;
  }
}
