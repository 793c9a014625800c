/**
 * The user of a kubeconfig file as a credential (client-go clientcmd/api/v1 types.go). What would need another program,
 * another identity or a password is refused by name: left out in silence, the call would be made as somebody else.
 */
import { load, YAMLException } from 'js-yaml';
import { err, ok, type Result } from '../result.ts';

/** Something that the file holds itself or names: `data` is the text, `path` a file, relative to the kubeconfig. */
export type KubeconfigPart = { readonly data: string } | { readonly path: string };

export type KubeconfigUser = {
  readonly token: KubeconfigPart | null;
  readonly clientCertificate: KubeconfigPart | null;
  readonly clientKey: KubeconfigPart | null;
  /** Of the context's cluster. The issuer's row names the server; it must be that of `kubeconfigServer`. */
  readonly certificateAuthority: KubeconfigPart | null;
};

const UNSUPPORTED = [
  ['exec', 'it would run a program'],
  ['auth-provider', 'it would run a plugin'],
  ['username', 'API servers take no passwords'],
  ['password', 'API servers take no passwords'],
  ['as', 'impersonation'],
  ['as-uid', 'impersonation'],
  ['as-groups', 'impersonation'],
  ['as-user-extra', 'impersonation'],
] as const;

/**
 * Reads the user and the certificate authority of a context, the current one for null. The error is a phrase that goes
 * on after the file's name, and quotes no value but names.
 */
export function readKubeconfig(text: string, contextName: string | null): Result<KubeconfigUser, string> {
  const read = readContext(text, contextName);
  if (!read.ok) return read;
  const { name, context, document } = read.value;
  const user = typeof context.user === 'string' ? namedEntry(document.users, context.user, 'user') : null;
  if (user === null) return err(`has no user for context ${JSON.stringify(name)}`);
  return readUser(user, clusterOf(read.value), JSON.stringify(context.user));
}

/** The server of the current context's cluster; null where the text is no kubeconfig or names none. */
export function kubeconfigServer(text: string): string | null {
  const read = readContext(text, null);
  const server = read.ok ? clusterOf(read.value)?.server : null;
  return typeof server === 'string' ? server : null;
}

type KubeconfigContext = { readonly document: Entry; readonly name: string; readonly context: Entry };

function readContext(text: string, contextName: string | null): Result<KubeconfigContext, string> {
  let document: unknown;
  try {
    document = load(text, { maxAliases: 0 });
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error;
    // Its reason may quote the text, and that holds secrets.
    return err(`is neither a token nor YAML (line ${(error.mark?.line ?? 0) + 1})`);
  }
  if (!isObject(document) || (document.kind ?? 'Config') !== 'Config' || !Array.isArray(document.users)) {
    return err('is neither a token nor a kubeconfig');
  }
  const name = contextName ?? document['current-context'];
  if (typeof name !== 'string' || name === '') return err('has no current-context');
  const context = namedEntry(document.contexts, name, 'context');
  return context === null ? err(`has no context ${JSON.stringify(name)}`) : ok({ document, name, context });
}

function clusterOf({ document, context }: KubeconfigContext): Entry | null {
  return typeof context.cluster === 'string' ? namedEntry(document.clusters, context.cluster, 'cluster') : null;
}

function readUser(user: Entry, cluster: Entry | null, name: string): Result<KubeconfigUser, string> {
  const unsupported = UNSUPPORTED.find(([member]) => isSet(user[member]));
  if (unsupported !== undefined) {
    const [member, reason] = unsupported;
    return err(
      `user ${name} has ${member}, which is not supported (${reason}): give it a token or a client certificate`,
    );
  }
  const credential = {
    // As client-go has it: of a token and its file, the file counts; of a file and its data, the data.
    token: part(user, 'token', 'tokenFile', 'plain', 'path first'),
    clientCertificate: part(user, 'client-certificate-data', 'client-certificate', 'base64'),
    clientKey: part(user, 'client-key-data', 'client-key', 'base64'),
    certificateAuthority: part(cluster ?? {}, 'certificate-authority-data', 'certificate-authority', 'base64'),
  };
  if (credential.token === null && credential.clientCertificate === null) {
    return err(`user ${name} has neither a token nor a client certificate`);
  }
  if ((credential.clientCertificate === null) !== (credential.clientKey === null)) {
    return err(`user ${name} has only one of client certificate and client key`);
  }
  return ok(credential);
}

type Entry = Readonly<Record<string, unknown>>;

function part(
  entry: Entry,
  dataMember: string,
  pathMember: string,
  encoding: 'plain' | 'base64',
  order: 'path first' | 'data first' = 'data first',
): KubeconfigPart | null {
  const text = entry[dataMember];
  const path = entry[pathMember];
  const hasPath = typeof path === 'string' && path !== '';
  if (hasPath && order === 'path first') return { path };
  if (typeof text === 'string' && text !== '') {
    return { data: encoding === 'plain' ? text : Buffer.from(text, 'base64').toString('utf8') };
  }
  return hasPath ? { path } : null;
}

/** Kubeconfigs list `{ name, <kind>: … }`. */
function namedEntry(list: unknown, name: string, kind: string): Entry | null {
  const entries: readonly unknown[] = Array.isArray(list) ? list : [];
  const found = entries.find((entry) => isObject(entry) && entry.name === name);
  const value = isObject(found) ? found[kind] : null;
  return isObject(value) ? value : null;
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '';
}

function isObject(value: unknown): value is Entry {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
