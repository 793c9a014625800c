/**
 * The configuration of `countersign worker`, which is a client and takes none of the server's settings: flags before
 * environment, problems all at once, each naming its setting and the mend.
 */
import { isAbsolute } from 'node:path';
import {
  type ConfigProblem,
  type Environment,
  PROCESS_ENVIRONMENT,
  SETTINGS,
  unknownVariables,
  WORKER_SETTINGS,
} from './config.ts';
import { err, ok, type Result } from './result.ts';
import { type ListenAddress, parseListenAddress, UnusableSetting } from './setting-values.ts';

export type WorkerConfig = {
  readonly issuer: string;
  /** How the worker comes by its bearer: an identity that it exchanges, or a token that is sent as it is. */
  readonly credential:
    | { readonly kind: 'token_file'; readonly path: string }
    | { readonly kind: 'static_token'; readonly token: string };
  readonly tokenEndpoint?: string;
  readonly jwksUri?: string;
  readonly clientId?: string;
  readonly resource?: string;
  readonly scope?: string;
  readonly idClaim?: string;
  /** Absolute. */
  readonly sharedFolders: readonly string[];
  readonly listen?: ListenAddress;
  readonly intervalSeconds: number;
};

export type WorkerFlags = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;

/** A setting's name and its text; undefined where it is not set or empty. */
type ReadText = (name: string) => string | undefined;

/** `b64token` of RFC 6750 §2.1: what a header may carry. */
const BEARER_TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/;

/** The settings of `countersign worker`. */
export function readWorkerConfig(
  flags: WorkerFlags,
  environment: Environment = PROCESS_ENVIRONMENT,
): Result<WorkerConfig, readonly ConfigProblem[]> {
  const problems: ConfigProblem[] = [...unknownVariables(environment)];
  const text: ReadText = (name) => {
    const flag = flags[name];
    const variable = (WORKER_SETTINGS as Readonly<Record<string, string>>)[name];
    const value = typeof flag === 'string' ? flag : variable === undefined ? undefined : environment[variable];
    return value === '' ? undefined : value;
  };
  const credential = readCredential(text, problems);
  const sharedFolders = readSharedFolders(flags.sharedFolder, text, problems);
  if (credential?.kind === 'static_token' && sharedFolders.length > 0) {
    problems.push({
      setting: WORKER_SETTINGS.sharedFolders,
      problem: `is set together with ${WORKER_SETTINGS.token}, which has no folder to keep from them`,
      mend: `remove it, or use ${WORKER_SETTINGS.tokenFile}`,
    });
  }
  const listen = readListen(text, problems);
  const intervalSeconds = Number(text('interval') ?? '30');
  if (!(intervalSeconds > 0)) {
    problems.push({ setting: '--interval', problem: 'is not a number of seconds', mend: 'set it to 30, for example' });
  }
  if (problems.length > 0 || credential === null) return err(problems);
  const optional = Object.fromEntries(
    ['tokenEndpoint', 'jwksUri', 'clientId', 'resource', 'scope', 'idClaim'].flatMap((name) => {
      const value = text(name);
      return value === undefined ? [] : [[name, value]];
    }),
  );
  const issuer = text('issuer') ?? SETTINGS.issuer.fallback;
  return ok({
    issuer,
    credential,
    sharedFolders,
    intervalSeconds,
    ...optional,
    ...(listen !== undefined && { listen }),
  });
}

/** One of the two, never both: which identity a worker has must not depend on an order that nobody remembers. */
function readCredential(text: ReadText, problems: ConfigProblem[]): WorkerConfig['credential'] | null {
  const { tokenFile: fileSetting, token: tokenSetting } = WORKER_SETTINGS;
  const path = text('tokenFile');
  // Secrets often end with a line end that nobody meant.
  const token = text('token')?.trim();
  if (path !== undefined && token !== undefined) {
    problems.push({
      setting: tokenSetting,
      problem: `is set together with ${fileSetting} (or --token-file)`,
      mend: 'keep the file for an identity that is exchanged for access tokens, or the token for one that is sent as it is',
    });
    return null;
  }
  if (path !== undefined) return { kind: 'token_file', path };
  if (token === undefined) {
    problems.push({
      setting: fileSetting,
      problem: `is not set, and neither is ${tokenSetting}`,
      mend: 'name the file of the projected token, or set the token that is sent as it is',
    });
    return null;
  }
  if (!BEARER_TOKEN.test(token)) {
    problems.push({
      setting: tokenSetting,
      problem: 'is not a bearer token (RFC 6750 §2.1)',
      mend: 'set it to the token alone, without scheme, quotes or spaces',
    });
    return null;
  }
  return { kind: 'static_token', token };
}

function readSharedFolders(flag: WorkerFlags[string], text: ReadText, problems: ConfigProblem[]): readonly string[] {
  const inEnvironment = (text('sharedFolders') ?? '').split(',').map((folder) => folder.trim());
  const folders = Array.isArray(flag) ? flag.map(String) : inEnvironment.filter((folder) => folder !== '');
  // A mount needs an absolute path, and a comma inside a folder's name would make two of it, the second like this.
  const relative = folders.find((folder) => !isAbsolute(folder));
  if (relative !== undefined) {
    problems.push({
      setting: WORKER_SETTINGS.sharedFolders,
      problem: `has ${JSON.stringify(relative)}, which is not an absolute path`,
      mend: 'write folders as /srv/jobs,/srv/cache, or one --shared-folder for each',
    });
  }
  return folders;
}

function readListen(text: ReadText, problems: ConfigProblem[]): ListenAddress | undefined {
  try {
    const address = text('listen');
    return address === undefined ? undefined : parseListenAddress(address);
  } catch (error) {
    if (!(error instanceof UnusableSetting)) throw error;
    problems.push({ setting: WORKER_SETTINGS.listen, problem: error.message, mend: error.mend });
    return undefined;
  }
}
