/**
 * The configuration: the only file that reads the environment. Flags come before environment variables, and those
 * before defaults. Every problem is reported at once, each naming its setting and the mend. No default grants trust.
 */
import { readFileSync } from 'node:fs';
import ipaddr from 'ipaddr.js';
import { LOG_LEVELS, type LogLevel } from './observe/log.ts';
import { err, ok, type Result } from './result.ts';

export type ListenAddress = { readonly host: string; readonly port: number };

export type Config = {
  /** Our issuer identifier, byte for byte as written: the `iss` of our tokens and the audience of assertions. */
  readonly issuer: string;
  readonly listen: ListenAddress;
  /** `sqlite:PATH` */
  readonly databaseUrl: string;
  /** Null: the admin API is off. */
  readonly adminSecret: string | null;
  /** CIDRs that key fetches may reach besides the public internet. */
  readonly privateNetworks: readonly string[];
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
  privateNetworks: {
    env: 'COUNTERSIGN_PRIVATE_NETWORKS',
    flag: 'private-networks',
    fallback: '',
    help: 'private networks that key fetches may reach, CIDRs separated by commas',
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

/** Settings of `countersign worker`, which is a client and no server. */
const WORKER_ENVIRONMENT = ['COUNTERSIGN_TOKEN_FILE', 'COUNTERSIGN_TOKEN_ENDPOINT', 'COUNTERSIGN_RESOURCE'];
/** What Kubernetes sets for a Service named `countersign` (service links). */
const SERVICE_LINK = /^COUNTERSIGN_(SERVICE_|PORT($|_))/;
/** A shorter secret can be guessed over the network. */
const MIN_ADMIN_SECRET_LENGTH = 16;
const MAX_WORKERS = 64;

/** Reads the configuration from flags and environment. */
export function readConfig(
  flags: ConfigFlags,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Result<Config, readonly ConfigProblem[]> {
  const problems: ConfigProblem[] = [...unknownVariables(environment)];
  const read = <T>(name: SettingName, parse: (text: string) => T): T | null => {
    const { env, fallback } = SETTINGS[name];
    const text = flags[name] ?? (environment[env] === '' ? undefined : environment[env]) ?? fallback;
    if (text === null) return null;
    try {
      return parse(text);
    } catch (error) {
      if (!(error instanceof UnusableSetting)) throw error;
      problems.push({ setting: env, problem: error.message, mend: error.mend });
      return null;
    }
  };
  const issuer = read('issuer', parseIssuer);
  const listen = read('listen', parseListenAddress);
  const databaseUrl = read('databaseUrl', parseDatabaseUrl);
  const secret = read('adminSecret', parseAdminSecret);
  const secretFromFile = read('adminSecretFile', (path) => parseAdminSecret(readSecretFile(path)));
  const privateNetworks = read('privateNetworks', parseNetworks);
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
  return ok(Object.freeze({ issuer, listen, databaseUrl, adminSecret, privateNetworks, keyFile, workers, logLevel }));
}

/** Problems as lines for a terminal. */
export function describeProblems(problems: readonly ConfigProblem[]): string {
  return problems.map(({ setting, problem, mend }) => `${setting} ${problem}: ${mend}`).join('\n');
}

class UnusableSetting extends Error {
  readonly mend: string;
  constructor(problem: string, mend: string) {
    super(problem);
    this.mend = mend;
  }
}

function unknownVariables(environment: Readonly<Record<string, string | undefined>>): readonly ConfigProblem[] {
  const known: readonly string[] = [...Object.values(SETTINGS).map(({ env }) => env), ...WORKER_ENVIRONMENT];
  return Object.keys(environment)
    .filter((name) => name.startsWith('COUNTERSIGN_') && !known.includes(name) && !SERVICE_LINK.test(name))
    .map((setting) => ({ setting, problem: 'is not a setting', mend: `remove it; settings are ${known.join(', ')}` }));
}

function parseIssuer(text: string): string {
  const mend = 'set it to the https address under which clients know this server';
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) throw new UnusableSetting('is not an http(s) URL', mend);
  if (url.search !== '' || url.hash !== '' || text.includes('?') || text.includes('#')) {
    throw new UnusableSetting('has a query or a fragment', mend);
  }
  if (url.username !== '' || url.password !== '') throw new UnusableSetting('has credentials in it', mend);
  if (url.protocol === 'http:' && !isLoopbackHost(url.hostname)) {
    throw new UnusableSetting('is http and not a loopback address', mend);
  }
  return text;
}

/** Whether a URL's host name is this machine itself. */
export function isLoopbackHost(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '');
  return host === 'localhost' || (ipaddr.isValid(host) && ipaddr.process(host).range() === 'loopback');
}

function parseListenAddress(text: string): ListenAddress {
  const [, bracketed, plain, port = ''] = /^(?:\[([^\]]+)\]|([^:]*)):(\d{1,5})$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  if (host === undefined || Number(port) > 65_535) {
    throw new UnusableSetting('is not host:port', 'write it as 127.0.0.1:8080 or [::1]:8080');
  }
  return { host: host === '' ? '0.0.0.0' : host, port: Number(port) };
}

function parseDatabaseUrl(text: string): string {
  if (/^sqlite:.+/.test(text)) return text;
  const mend = 'set it to sqlite:PATH, for example sqlite:data/countersign.db';
  throw new UnusableSetting(
    /^postgres(ql)?:/.test(text) ? 'names PostgreSQL, which this version does not support yet' : 'is not a database',
    mend,
  );
}

function readSecretFile(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    throw new UnusableSetting(`can not be read (${code})`, 'name a file that this process may read');
  }
}

function parseAdminSecret(text: string): string {
  if (text.length >= MIN_ADMIN_SECRET_LENGTH) return text;
  throw new UnusableSetting(
    `is shorter than ${MIN_ADMIN_SECRET_LENGTH} characters`,
    'make one with: openssl rand -base64 32',
  );
}

function parseNetworks(text: string): readonly string[] {
  const networks = text
    .split(',')
    .map((network) => network.trim())
    .filter((network) => network !== '');
  const wrong = networks.find((network) => !ipaddr.isValidCIDR(network));
  if (wrong === undefined) return networks;
  throw new UnusableSetting(`has ${JSON.stringify(wrong)}, which is not a CIDR`, 'write networks as 10.96.0.0/12');
}

function parseWorkers(text: string): number {
  const workers = Number(text);
  if (Number.isInteger(workers) && workers >= 1 && workers <= MAX_WORKERS) return workers;
  throw new UnusableSetting('is not a number of processes', `set it to 1 to ${MAX_WORKERS}`);
}

function parseLogLevel(text: string): LogLevel {
  const level = LOG_LEVELS.find((known) => known === text);
  if (level !== undefined) return level;
  throw new UnusableSetting('is not a log level', `set it to one of ${LOG_LEVELS.join(', ')}`);
}
