/**
 * Our own credentials for API servers: the operator's files, never in the database. Rows name them. Files are read
 * again for each call, so a token that the kubelet has rotated counts from the next call on.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { err, ok, type Result } from '../result.ts';
import { type KubeconfigPart, readKubeconfig } from './kubeconfig.ts';

/** Where the kubelet puts the token of this very pod, and the CA of its cluster. */
export const OWN_POD_FOLDER = '/var/run/secrets/kubernetes.io/serviceaccount';

export type ApiServerCredential = {
  readonly bearerToken: string | null;
  readonly clientCertificate: { readonly certPem: string; readonly keyPem: string } | null;
  /** The certificates that come with it, for rows that name none; null: the system's roots. */
  readonly caPem: string | null;
};

/** A file with a token, or a kubeconfig; `context`: null for its current one. */
export type CredentialSource = { readonly path: string; readonly context: string | null };

export type ApiServerCredentials = {
  /** Null names the own pod's token. The error names the file and the mend, and holds nothing of its content. */
  read(name: string | null): Promise<Result<ApiServerCredential, string>>;
};

/** Names of files in one folder: no path leads out of it, and the hidden files of a mounted secret are none. */
const FILE_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;
/** RFC 6750 §2.1 b64token: what an `Authorization: Bearer` header can carry. */
const BEARER_TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/;

/** Every file of the folder is a credential by its name; without a folder there is none. */
export function credentialsInFolder(folder: string | null): (name: string) => CredentialSource | null {
  return (name) => (folder !== null && FILE_NAME.test(name) ? { path: join(folder, name), context: null } : null);
}

/** `sourceOf`: where the credential of a name lies, null where there is none. */
export function createApiServerCredentials(
  sourceOf: (name: string) => CredentialSource | null,
  ownPodFolder: string = OWN_POD_FOLDER,
): ApiServerCredentials {
  return {
    async read(name) {
      if (name === null) return readOwnPod(ownPodFolder);
      const source = sourceOf(name);
      if (source === null) return err(`no credential is named ${JSON.stringify(name)}`);
      return readSource(source);
    },
  };
}

async function readOwnPod(folder: string): Promise<Result<ApiServerCredential, string>> {
  const token = await readText(join(folder, 'token'));
  if (!token.ok) return err(`${token.error}: outside a pod, name a credential for this issuer`);
  if (!BEARER_TOKEN.test(token.value)) return err(`${join(folder, 'token')} does not hold one token`);
  const ca = await readText(join(folder, 'ca.crt'));
  // A projected volume may leave it out; the system's roots are then as strict.
  return ok({ bearerToken: token.value, clientCertificate: null, caPem: ca.ok ? ca.value : null });
}

async function readSource({ path, context }: CredentialSource): Promise<Result<ApiServerCredential, string>> {
  const text = await readText(path);
  if (!text.ok) return text;
  if (context === null && BEARER_TOKEN.test(text.value)) {
    return ok({ bearerToken: text.value, clientCertificate: null, caPem: null });
  }
  const user = readKubeconfig(text.value, context);
  if (!user.ok) return err(`${path} ${user.error}`);
  const parts = await Promise.all(
    [user.value.token, user.value.clientCertificate, user.value.clientKey, user.value.certificateAuthority].map(
      (part) => readPart(part, path),
    ),
  );
  const texts: (string | null)[] = [];
  for (const part of parts) {
    if (!part.ok) return part;
    texts.push(part.value);
  }
  const [bearerToken = null, certPem = null, keyPem = null, caPem = null] = texts;
  if (bearerToken !== null && !BEARER_TOKEN.test(bearerToken)) return err(`${path} names something that is no token`);
  if (certPem === null || keyPem === null) return ok({ bearerToken, clientCertificate: null, caPem });
  const wrong = clientCertificateProblem(certPem, keyPem);
  if (wrong !== null) return err(`${path} ${wrong}`);
  return ok({ bearerToken, clientCertificate: { certPem, keyPem }, caPem });
}

async function readPart(part: KubeconfigPart | null, kubeconfig: string): Promise<Result<string | null, string>> {
  if (part === null) return ok(null);
  return 'data' in part ? ok(part.data.trim()) : readText(resolve(dirname(kubeconfig), part.path));
}

async function readText(path: string): Promise<Result<string, string>> {
  try {
    const text = (await readFile(path, 'utf8')).trim();
    return text === '' ? err(`${path} is empty`) : ok(text);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : 'unknown';
    return err(`${path} can not be read (${code})`);
  }
}

/** TLS would say it too, but as a failure of the connection. */
function clientCertificateProblem(certPem: string, keyPem: string): string | null {
  try {
    if (!new X509Certificate(certPem).checkPrivateKey(createPrivateKey(keyPem))) {
      return 'has a client key that is not that of its client certificate';
    }
  } catch {
    return 'has a client certificate or client key that can not be read as PEM';
  }
  return null;
}
