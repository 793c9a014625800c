/**
 * The configuration: the only file that reads the environment. Flags come before environment variables, those before
 * the `settings` of the declarative file, and those before defaults. Every problem is reported at once, each naming its setting and the mend. No default grants trust.
 */
import { readFileSettings } from './declarative-file/file-settings.ts';
import type { LogLevel } from './observe/log.ts';
import { err, ok, type Result } from './result.ts';
import {
  isLoopbackHost,
  type ListenAddress,
  parseAdminSecret,
  parseDatabaseUrl,
  parseIssuer,
  parseListenAddress,
  parseLogLevel,
  parseNetworks,
  parseWorkers,
  readSettingFile,
  UnusableSetting,
} from './setting-values.ts';

export type Config = {
  /** Our issuer identifier, byte for byte as written: the `iss` of our tokens and the audience of assertions. */
  readonly issuer: string;
  readonly listen: ListenAddress;
  /** `sqlite:PATH` */
  readonly databaseUrl: string;
  /** Null: the admin API is off. */
  readonly adminSecret: string | null;
  /** File or folder of YAML that declares clients, trusted issuers and bindings; null: only the admin API does. */
  readonly declarativeFile: string | null;
  /** CIDRs that key fetches may reach besides the public internet. */
  readonly privateNetworks: readonly string[];
  /** Folder of credentials for API servers that review tokens; null: only the own pod's token is there. */
  readonly kubernetesCredentials: string | null;
  /** API servers of the cluster that this pod runs in, by URL: the own pod's token is for them alone. */
  readonly inClusterApiServers: readonly string[];
  /** File of the key-encryption key; null: beside the SQLite database. */
  readonly keyFile: string | null;
  readonly workers: number;
  readonly logLevel: LogLevel;
};

export type ConfigProblem = { readonly setting: string; readonly problem: string; readonly mend: string };

type Setting = { readonly env: string; readonly flag: string; readonly fallback: string | null; readonly help: string };

/** Every setting, in the order of the documentation. */
export const SETTINGS = {
  issuer: {
    env: 'COUNTERSIGN_ISSUER',
    flag: 'issuer',
    fallback: 'http://127.0.0.1:8080',
    help: 'public issuer identifier; https unless loopback',
  },
  listen: {
    env: 'COUNTERSIGN_LISTEN',
    flag: 'listen',
    fallback: '127.0.0.1:8080',
    help: 'listen address, host:port',
  },
  databaseUrl: {
    env: 'COUNTERSIGN_DATABASE_URL',
    flag: 'database-url',
    fallback: 'sqlite:data/countersign.db',
    help: 'database',
  },
  adminSecret: {
    env: 'COUNTERSIGN_ADMIN_SECRET',
    flag: 'admin-secret',
    fallback: null,
    help: 'admin secret; better by file: flags are visible to other processes',
  },
  adminSecretFile: {
    env: 'COUNTERSIGN_ADMIN_SECRET_FILE',
    flag: 'admin-secret-file',
    fallback: null,
    help: 'file of the admin secret; without one the admin API is off',
  },
  declarativeFile: {
    env: 'COUNTERSIGN_CONFIG',
    flag: 'config',
    fallback: null,
    help: 'declarative file of clients, trusted issuers and bindings: YAML, or a folder of it',
  },
  privateNetworks: {
    env: 'COUNTERSIGN_PRIVATE_NETWORKS',
    flag: 'private-networks',
    fallback: '',
    help: 'private networks that key fetches may reach, CIDRs separated by commas',
  },
  kubernetesCredentials: {
    env: 'COUNTERSIGN_KUBERNETES_CREDENTIALS',
    flag: 'kubernetes-credentials',
    fallback: null,
    help: 'folder of credentials for API servers that review tokens: token files and kubeconfigs',
  },
  keyFile: {
    env: 'COUNTERSIGN_KEY_FILE',
    flag: 'key-file',
    fallback: null,
    help: 'file of the key-encryption key; made beside the SQLite database',
  },
  workers: { env: 'COUNTERSIGN_WORKERS', flag: 'workers', fallback: '1', help: 'worker processes' },
  logLevel: { env: 'COUNTERSIGN_LOG_LEVEL', flag: 'log-level', fallback: 'info', help: 'log level' },
} as const satisfies Readonly<Record<string, Setting>>;

export type SettingName = keyof typeof SETTINGS;
/** Settings given as flags. */
export type ConfigFlags = Readonly<Partial<Record<SettingName, string>>>;

/** Settings of `countersign worker`, which is a client and no server: read by `worker-config.ts`. */
export const WORKER_SETTINGS = {
  issuer: SETTINGS.issuer.env,
  tokenFile: 'COUNTERSIGN_TOKEN_FILE',
  token: 'COUNTERSIGN_TOKEN',
  tokenEndpoint: 'COUNTERSIGN_TOKEN_ENDPOINT',
  jwksUri: 'COUNTERSIGN_JWKS_URI',
  resource: 'COUNTERSIGN_RESOURCE',
  sharedFolders: 'COUNTERSIGN_SHARED_FOLDERS',
  listen: SETTINGS.listen.env,
} as const;
/** What Kubernetes sets for a Service named `countersign` (service links). */
const SERVICE_LINK = /^COUNTERSIGN_(SERVICE_|PORT($|_))/;

export type Environment = Readonly<Record<string, string | undefined>>;

/** The environment of this process. */
export const PROCESS_ENVIRONMENT: Environment = process.env;

/** Reads the configuration from flags and environment. */
export function readConfig(
  flags: ConfigFlags,
  environment: Environment = PROCESS_ENVIRONMENT,
): Result<Config, readonly ConfigProblem[]> {
  const problems: ConfigProblem[] = [...unknownVariables(environment)];
  const given = (name: SettingName): string | undefined => {
    const variable = environment[SETTINGS[name].env];
    return flags[name] ?? (variable === '' ? undefined : variable);
  };
  const declarativeFile = given('declarativeFile') ?? null;
  const inFile = settingsOfFile(declarativeFile, problems);
  const read = <T>(name: SettingName, parse: (text: string) => T): T | null => {
    const { env, fallback } = SETTINGS[name];
    const text = given(name) ?? inFile[name] ?? fallback;
    if (text === null) return null;
    try {
      return parse(text);
    } catch (error) {
      if (!(error instanceof UnusableSetting)) throw error;
      const setting = given(name) === undefined && inFile[name] !== undefined ? `settings.${inFileName(name)}` : env;
      problems.push({ setting, problem: error.message, mend: error.mend });
      return null;
    }
  };
  const issuer = read('issuer', parseIssuer);
  const listen = read('listen', parseListenAddress);
  const databaseUrl = read('databaseUrl', parseDatabaseUrl);
  const isLocal = listen !== null && isLoopbackHost(listen.host);
  const secret = read('adminSecret', (text) => parseAdminSecret(text, isLocal));
  const secretFromFile = read('adminSecretFile', (path) => parseAdminSecret(readSettingFile(path), isLocal));
  const privateNetworks = read('privateNetworks', parseNetworks);
  const kubernetesCredentials = read('kubernetesCredentials', (path) => path);
  const keyFile = read('keyFile', (path) => path);
  const workers = read('workers', parseWorkers);
  const logLevel = read('logLevel', parseLogLevel);
  if (secret !== null && secretFromFile !== null) {
    problems.push({
      setting: SETTINGS.adminSecret.env,
      problem: `is set together with ${SETTINGS.adminSecretFile.env}`,
      mend: 'keep one of the two',
    });
  }
  if (problems.length > 0 || issuer === null || listen === null || databaseUrl === null) return err(problems);
  if (privateNetworks === null || workers === null || logLevel === null) return err(problems);
  const adminSecret = secret ?? secretFromFile;
  return ok(
    Object.freeze({
      issuer,
      listen,
      databaseUrl,
      adminSecret,
      declarativeFile,
      privateNetworks,
      kubernetesCredentials,
      inClusterApiServers: inClusterApiServers(environment),
      keyFile,
      workers,
      logLevel,
    }),
  );
}

/** Where a pod finds its own API server (KUBERNETES_SERVICE_HOST, _PORT, and the Service's name in DNS); none elsewhere. */
function inClusterApiServers(environment: Environment): readonly string[] {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port = '443' } = environment;
  if (host === undefined || host === '') return [];
  const address = `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
  return [address, 'https://kubernetes.default.svc', 'https://kubernetes.default.svc.cluster.local'];
}

/** Secrets have no place in a file under review, and the file can not say where it is itself. */
const NOT_IN_FILE: readonly SettingName[] = ['adminSecret', 'declarativeFile'];

/** A setting's name in the `settings` section: that of its flag, in the file's spelling. */
function inFileName(name: SettingName): string {
  return SETTINGS[name].flag.replaceAll('-', '_');
}

function settingsOfFile(path: string | null, problems: ConfigProblem[]): ConfigFlags {
  if (path === null) return {};
  const { env } = SETTINGS.declarativeFile;
  const settings = readFileSettings(path);
  if (!settings.ok) {
    problems.push({ setting: env, problem: settings.error, mend: 'name a file or folder that this process may read' });
    return {};
  }
  const names = (Object.keys(SETTINGS) as SettingName[]).filter((name) => !NOT_IN_FILE.includes(name));
  const byName = new Map(names.map((name) => [inFileName(name), name]));
  const flags: Partial<Record<SettingName, string>> = {};
  for (const [inFile, text] of Object.entries(settings.value)) {
    const name = byName.get(inFile);
    if (name !== undefined) {
      if (text !== '') flags[name] = text;
      continue;
    }
    const mend = `remove it; settings of the file are ${[...byName.keys()].join(', ')}`;
    problems.push({ setting: `settings.${inFile}`, problem: 'is not a setting of the file', mend });
  }
  return flags;
}

/** Problems as lines for a terminal. */
export function describeProblems(problems: readonly ConfigProblem[]): string {
  return problems.map(({ setting, problem, mend }) => `${setting} ${problem}: ${mend}`).join('\n');
}

/** Variables with our prefix that would do nothing: most are misspelt. */
export function unknownVariables(environment: Environment): readonly ConfigProblem[] {
  const settings = [...Object.values(SETTINGS).map(({ env }) => env), ...Object.values(WORKER_SETTINGS)];
  const known = [...new Set<string>(settings)];
  return Object.keys(environment)
    .filter((name) => name.startsWith('COUNTERSIGN_') && !known.includes(name) && !SERVICE_LINK.test(name))
    .map((setting) => ({ setting, problem: 'is not a setting', mend: `remove it; settings are ${known.join(', ')}` }));
}
