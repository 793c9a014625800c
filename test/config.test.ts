import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ConfigFlags, type ConfigProblem, describeProblems, readConfig, SETTINGS } from '../src/config.ts';
import { isLoopbackHost } from '../src/setting-values.ts';
import { readWorkerConfig, type WorkerFlags } from '../src/worker-config.ts';

type Environment = Readonly<Record<string, string | undefined>>;

const DEFAULTS = {
  issuer: 'http://127.0.0.1:8080',
  listen: { host: '127.0.0.1', port: 8080 },
  databaseUrl: 'sqlite:data/countersign.db',
  adminSecret: null,
  declarativeFile: null,
  privateNetworks: [],
  kubernetesCredentials: null,
  inClusterApiServers: [],
  keyFile: null,
  workers: 1,
  logLevel: 'info',
};
const SECRET = '0123456789abcdef';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'countersign-config-'));
  await writeFile(join(folder, 'admin-secret'), ` ${SECRET} from a file\n`);
  await writeFile(join(folder, 'empty-secret'), '\n');
});
afterAll(() => rm(folder, { recursive: true }));

function configOf(environment: Environment, flags: ConfigFlags = {}) {
  const config = readConfig(flags, environment);
  if (!config.ok) throw new Error(describeProblems(config.error));
  return config.value;
}

function problemsOf(environment: Environment, flags: ConfigFlags = {}): readonly ConfigProblem[] {
  const config = readConfig(flags, environment);
  return config.ok ? [] : config.error;
}

it('an empty environment is a good configuration that trusts nobody', () => {
  expect(configOf({})).toEqual(DEFAULTS);
});

it('a configuration can not be changed afterwards', () => {
  expect(Object.isFrozen(configOf({}))).toBe(true);
});

describe('a setting', () => {
  const VALUES: readonly [Exclude<keyof typeof DEFAULTS, 'inClusterApiServers'>, string, unknown][] = [
    ['issuer', 'https://as.example.com', 'https://as.example.com'],
    ['issuer', 'https://as.example.com/', 'https://as.example.com/'],
    ['issuer', 'https://AS.example.com/t1/', 'https://AS.example.com/t1/'],
    ['issuer', 'http://localhost:9000', 'http://localhost:9000'],
    ['issuer', 'http://[::1]:9000', 'http://[::1]:9000'],
    ['issuer', 'http://127.1.2.3', 'http://127.1.2.3'],
    ['listen', '0.0.0.0:80', { host: '0.0.0.0', port: 80 }],
    ['listen', ':8443', { host: '0.0.0.0', port: 8443 }],
    ['listen', '[::]:8080', { host: '::', port: 8080 }],
    ['listen', 'as.internal:0', { host: 'as.internal', port: 0 }],
    ['databaseUrl', 'sqlite::memory:', 'sqlite::memory:'],
    ['databaseUrl', 'sqlite:/var/lib/x.db', 'sqlite:/var/lib/x.db'],
    ['adminSecret', SECRET, SECRET],
    ['privateNetworks', '10.96.0.0/12', ['10.96.0.0/12']],
    ['privateNetworks', ' 10.96.0.0/12 , fd00::/8,', ['10.96.0.0/12', 'fd00::/8']],
    ['keyFile', '/run/secrets/key', '/run/secrets/key'],
    ['workers', '1', 1],
    ['workers', '64', 64],
    ['logLevel', 'silent', 'silent'],
  ];

  it.each(VALUES)('%s may be %j', (name, text, value) => {
    expect(configOf({ [SETTINGS[name].env]: text })).toEqual({ ...DEFAULTS, [name]: value });
    expect(configOf({}, { [name]: text })).toEqual({ ...DEFAULTS, [name]: value });
  });

  it.each(VALUES)('%s as a flag comes before the environment (%j)', (name, text, value) => {
    expect(configOf({ [SETTINGS[name].env]: 'nothing usable' }, { [name]: text })[name]).toEqual(value);
  });

  it.each(Object.values(SETTINGS).map(({ env }) => [env]))('%s that is empty is one that is not set', (env) => {
    expect(configOf({ [env]: '' })).toEqual(DEFAULTS);
  });

  it.each<[keyof typeof SETTINGS, string, string, string]>([
    ['issuer', 'as.example.com', 'is not an http(s) URL', 'https address'],
    ['issuer', 'ftp://as.example.com', 'is not an http(s) URL', 'https address'],
    ['issuer', 'https://', 'is not an http(s) URL', 'https address'],
    ['issuer', 'https://as.example.com?tenant=1', 'has a query or a fragment', 'https address'],
    ['issuer', 'https://as.example.com/?', 'has a query or a fragment', 'https address'],
    ['issuer', 'https://as.example.com/#', 'has a query or a fragment', 'https address'],
    ['issuer', 'https://me:pass@as.example.com', 'has credentials in it', 'https address'],
    ['issuer', 'http://as.example.com', 'is http and not a loopback address', 'https address'],
    ['issuer', 'http://localhost.example.com', 'is http and not a loopback address', 'https address'],
    ['issuer', 'http://10.0.0.1', 'is http and not a loopback address', 'https address'],
    ['issuer', ' https://as.example.com', 'is not an http(s) URL', 'https address'],
    ['issuer', 'https://as.example.com\n', 'is not an http(s) URL', 'https address'],
    ['issuer', 'https:as.example.com', 'is not an http(s) URL', 'https address'],
    ['listen', '8080', 'is not host:port', '127.0.0.1:8080'],
    ['listen', '127.0.0.1', 'is not host:port', '127.0.0.1:8080'],
    ['listen', '127.0.0.1:65536', 'is not host:port', '127.0.0.1:8080'],
    ['listen', '127.0.0.1:-1', 'is not host:port', '127.0.0.1:8080'],
    ['listen', '::1:8080', 'is not host:port', '[::1]:8080'],
    ['listen', 'http://127.0.0.1:8080', 'is not host:port', '127.0.0.1:8080'],
    ['databaseUrl', 'data/countersign.db', 'is not a database', 'sqlite:PATH'],
    ['databaseUrl', 'sqlite:', 'is not a database', 'sqlite:PATH'],
    ['databaseUrl', 'mysql://db', 'is not a database', 'sqlite:PATH'],
    ['databaseUrl', 'postgres://db/x', 'names PostgreSQL, which this version does not support yet', 'sqlite:PATH'],
    ['privateNetworks', '10.0.0.1', 'has "10.0.0.1", which is not a CIDR', '10.96.0.0/12'],
    ['privateNetworks', '10.96.0.0/12,10.0.0.0/33', 'has "10.0.0.0/33", which is not a CIDR', '10.96.0.0/12'],
    ['privateNetworks', '10.96.0.0/12 fd00::/8', 'has "10.96.0.0/12 fd00::/8", which is not a CIDR', '10.96.0.0/12'],
    ['workers', '0', 'is not a number of processes', '1 to 64'],
    ['workers', '65', 'is not a number of processes', '1 to 64'],
    ['workers', '1.5', 'is not a number of processes', '1 to 64'],
    ['workers', 'two', 'is not a number of processes', '1 to 64'],
    ['logLevel', 'verbose', 'is not a log level', 'fatal, error, warn, info, debug, trace, silent'],
  ])('%s may not be %j', (name, text, problem, mend) => {
    const setting = SETTINGS[name].env;
    const expected = [{ setting, problem, mend: expect.stringContaining(mend) }];
    expect(problemsOf({ [setting]: text })).toEqual(expected);
    expect(problemsOf({}, { [name]: text })).toEqual(expected);
  });
});

const SHORT = 'is shorter than 16 characters, and the listen address is not loopback';

describe('the admin secret', () => {
  it('is read from its file, without the white space around it', () => {
    const file = join(folder, 'admin-secret');
    expect(configOf({ COUNTERSIGN_ADMIN_SECRET_FILE: file }).adminSecret).toBe(`${SECRET} from a file`);
    expect(configOf({}, { adminSecretFile: file }).adminSecret).toBe(`${SECRET} from a file`);
  });

  it.each([
    ['missing', 'can not be read (ENOENT)', 'name a file that this process may read'],
    ['.', 'can not be read (EISDIR)', 'name a file that this process may read'],
    ['empty-secret', SHORT, 'make one with: openssl rand -base64 32'],
  ])('is refused from the file %s, and nothing of it is shown', (file, problem, mend) => {
    expect(problemsOf({ COUNTERSIGN_ADMIN_SECRET_FILE: join(folder, file) })).toEqual([
      { setting: 'COUNTERSIGN_ADMIN_SECRET_FILE', problem, mend },
    ]);
  });

  it('may be short where only this machine can try it, and nowhere else', () => {
    const problems = [
      { setting: 'COUNTERSIGN_ADMIN_SECRET', problem: SHORT, mend: expect.stringContaining('openssl') },
    ];
    expect(configOf({ COUNTERSIGN_ADMIN_SECRET: 'short' }).adminSecret).toBe('short');
    expect(problemsOf({ COUNTERSIGN_ADMIN_SECRET: 'short', COUNTERSIGN_LISTEN: '0.0.0.0:8080' })).toEqual(problems);
    expect(problemsOf({ COUNTERSIGN_ADMIN_SECRET: 'fifteen letters' }, { listen: '10.0.0.1:80' })).toEqual(problems);
  });

  it('is given in one way only', () => {
    const environment = {
      COUNTERSIGN_ADMIN_SECRET: SECRET,
      COUNTERSIGN_ADMIN_SECRET_FILE: join(folder, 'admin-secret'),
    };
    expect(problemsOf(environment)).toEqual([
      {
        setting: 'COUNTERSIGN_ADMIN_SECRET',
        problem: 'is set together with COUNTERSIGN_ADMIN_SECRET_FILE',
        mend: 'keep one of the two',
      },
    ]);
  });
});

describe('the settings of the declarative file', () => {
  const file = async (text: string) => {
    const path = join(folder, 'declared.yaml');
    await writeFile(path, text);
    return path;
  };

  it('come after flags and environment, and before defaults', async () => {
    const path = await file('settings:\n  listen: 0.0.0.0:1\n  workers: 3\n  log_level: warn\n  issuer: ""\n');
    const flags = { workers: '5' };
    expect(configOf({ COUNTERSIGN_CONFIG: path, COUNTERSIGN_LOG_LEVEL: 'error' }, flags)).toEqual({
      ...DEFAULTS,
      declarativeFile: path,
      listen: { host: '0.0.0.0', port: 1 },
      workers: 5,
      logLevel: 'error',
    });
  });

  it('may be lists, and stand in any document of a folder', async () => {
    const path = await mkdtemp(join(folder, 'documents-'));
    await writeFile(join(path, 'a.yaml'), 'clients: []\n');
    await writeFile(join(path, 'b.yaml'), 'settings: { private_networks: [10.0.0.0/8, "fd00::/8"] }\n');
    expect(configOf({}, { declarativeFile: path }).privateNetworks).toEqual(['10.0.0.0/8', 'fd00::/8']);
    await writeFile(join(path, 'c.yaml'), 'settings: { private_networks: [] }\n');
    expect(problemsOf({}, { declarativeFile: path })).toMatchObject([
      { setting: 'COUNTERSIGN_CONFIG', problem: 'has the setting private_networks in two documents' },
    ]);
  });

  it.each([
    ['{ workers: 0 }', 'settings.workers', 'is not a number of processes'],
    ['{ worker: 1 }', 'settings.worker', 'is not a setting of the file'],
    ['{ admin_secret: 0123456789abcdef }', 'settings.admin_secret', 'is not a setting of the file'],
    ['{ config: other.yaml }', 'settings.config', 'is not a setting of the file'],
  ])('may not be %s', async (settings, setting, problem) => {
    const path = await file(`settings: ${settings}\n`);
    expect(problemsOf({ COUNTERSIGN_CONFIG: path })).toMatchObject([{ setting, problem }]);
  });

  it('can not be had from a file that is not there', () => {
    expect(problemsOf({ COUNTERSIGN_CONFIG: join(folder, 'nowhere') })).toEqual([
      {
        setting: 'COUNTERSIGN_CONFIG',
        problem: 'can not be read (ENOENT)',
        mend: 'name a file or folder that this process may read',
      },
    ]);
  });
});

it('in a pod, its own API server is known', () => {
  const names = ['https://kubernetes.default.svc', 'https://kubernetes.default.svc.cluster.local'];
  expect(configOf({ KUBERNETES_SERVICE_HOST: '10.96.0.1', KUBERNETES_SERVICE_PORT: '6443' })).toEqual({
    ...DEFAULTS,
    inClusterApiServers: ['https://10.96.0.1:6443', ...names],
  });
  expect(configOf({ KUBERNETES_SERVICE_HOST: 'fd00::1' }).inClusterApiServers).toEqual([
    'https://[fd00::1]:443',
    ...names,
  ]);
});

describe('the environment', () => {
  it.each([['COUNTERSIGN_ISUER'], ['COUNTERSIGN_'], ['COUNTERSIGN_PORTAL'], ['COUNTERSIGN_SECRET']])(
    'may not have %s, which would be a setting that does nothing',
    (setting) => {
      expect(problemsOf({ [setting]: 'x' })).toEqual([
        { setting, problem: 'is not a setting', mend: expect.stringContaining('COUNTERSIGN_ISSUER, ') },
      ]);
    },
  );

  it.each([
    ['COUNTERSIGN_SERVICE_HOST', '10.96.0.7'],
    ['COUNTERSIGN_SERVICE_PORT', '80'],
    ['COUNTERSIGN_SERVICE_PORT_HTTP', '80'],
    ['COUNTERSIGN_PORT', 'tcp://10.96.0.7:80'],
    ['COUNTERSIGN_PORT_80_TCP', 'tcp://10.96.0.7:80'],
    ['COUNTERSIGN_PORT_80_TCP_PROTO', 'tcp'],
    ['COUNTERSIGN_PORT_80_TCP_ADDR', '10.96.0.7'],
    ['PATH', '/bin'],
    ['XCOUNTERSIGN_ISUER', 'x'],
  ])('may have %s, which Kubernetes or somebody else has set', (name, value) => {
    expect(configOf({ [name]: value })).toEqual(DEFAULTS);
  });

  it('of the worker is none of the server’s business, and is no mistake either', () => {
    expect(configOf({ COUNTERSIGN_TOKEN_FILE: '/token', COUNTERSIGN_JWKS_URI: 'x' })).toEqual(DEFAULTS);
  });
});

it('all problems are reported at once, each on a line with setting, problem and mend', () => {
  const problems = problemsOf(
    { COUNTERSIGN_ISUER: 'x', COUNTERSIGN_LISTEN: 'x', COUNTERSIGN_WORKERS: 'x', COUNTERSIGN_LOG_LEVEL: 'x' },
    { issuer: 'x', databaseUrl: 'x', adminSecret: 'x', adminSecretFile: join(folder, 'missing'), privateNetworks: 'x' },
  );
  const lines = describeProblems(problems).split('\n');
  expect(lines.map((line) => line.split(' ')[0])).toEqual([
    'COUNTERSIGN_ISUER',
    'COUNTERSIGN_ISSUER',
    'COUNTERSIGN_LISTEN',
    'COUNTERSIGN_DATABASE_URL',
    'COUNTERSIGN_ADMIN_SECRET',
    'COUNTERSIGN_ADMIN_SECRET_FILE',
    'COUNTERSIGN_PRIVATE_NETWORKS',
    'COUNTERSIGN_WORKERS',
    'COUNTERSIGN_LOG_LEVEL',
  ]);
  for (const line of lines) expect(line).toMatch(/^COUNTERSIGN_[A-Z_]+ (is|has|can) .+: .+$/);
});

describe('the worker’s settings', () => {
  const ENVIRONMENT = { COUNTERSIGN_TOKEN_FILE: '/var/run/token' };
  const READ = {
    issuer: 'http://127.0.0.1:8080',
    credential: { kind: 'token_file', path: '/var/run/token' },
    sharedFolders: [],
    intervalSeconds: 30,
  };
  const STATIC = { COUNTERSIGN_TOKEN_FILE: '', COUNTERSIGN_TOKEN: 'crt_6f1d-0e9a.~+/==' };
  const STATIC_CREDENTIAL = { credential: { kind: 'static_token', token: STATIC.COUNTERSIGN_TOKEN } };

  it.each<[string, WorkerFlags, Environment, object]>([
    ['need the token file alone', {}, {}, {}],
    [
      'are read from the environment',
      {},
      { COUNTERSIGN_ISSUER: 'https://as.example.com' },
      { issuer: 'https://as.example.com' },
    ],
    ['are read from flags', { resource: 'https://api', scope: 'read' }, {}, { resource: 'https://api', scope: 'read' }],
    ['take a flag before the environment', { tokenFile: '/t' }, {}, { credential: { kind: 'token_file', path: '/t' } }],
    ['take an empty variable for none', {}, { COUNTERSIGN_RESOURCE: '' }, {}],
    ['may have a static token instead of the file', {}, STATIC, STATIC_CREDENTIAL],
    [
      'take no line end for a part of the static token',
      {},
      { ...STATIC, COUNTERSIGN_TOKEN: ` ${STATIC.COUNTERSIGN_TOKEN}\r\n` },
      STATIC_CREDENTIAL,
    ],
    ['take an empty static token for none', {}, { COUNTERSIGN_TOKEN: '' }, {}],
    ['may name the claim of the id', { idClaim: 'node' }, {}, { idClaim: 'node' }],
    [
      'may have shared folders',
      {},
      { COUNTERSIGN_SHARED_FOLDERS: '/srv/jobs, /srv/cache/,' },
      { sharedFolders: ['/srv/jobs', '/srv/cache/'] },
    ],
    [
      'may have shared folders as flags, commas and all',
      { sharedFolder: ['/srv/a,b', '/srv/c '] },
      { COUNTERSIGN_SHARED_FOLDERS: '/srv/jobs' },
      { sharedFolders: ['/srv/a,b', '/srv/c '] },
    ],
    ['may say where to serve', { listen: ':9000' }, {}, { listen: { host: '0.0.0.0', port: 9000 } }],
    ['may say how often', { interval: '0.5' }, {}, { intervalSeconds: 0.5 }],
    [
      'may name both endpoints',
      { jwksUri: 'http://a/jwks' },
      { COUNTERSIGN_TOKEN_ENDPOINT: 'http://a/token' },
      { jwksUri: 'http://a/jwks', tokenEndpoint: 'http://a/token' },
    ],
  ])('%s', (_name, flags, environment, changes) => {
    const config = readWorkerConfig(flags, { ...ENVIRONMENT, ...environment });
    expect(config).toEqual({ ok: true, value: { ...READ, ...changes } });
  });

  const TOGETHER = {
    setting: 'COUNTERSIGN_TOKEN',
    problem: 'is set together with COUNTERSIGN_TOKEN_FILE (or --token-file)',
    mend: 'keep the file for an identity that is exchanged for access tokens, or the token for one that is sent as it is',
  };
  const NO_BEARER = {
    setting: 'COUNTERSIGN_TOKEN',
    problem: 'is not a bearer token (RFC 6750 §2.1)',
    mend: 'set it to the token alone, without scheme, quotes or spaces',
  };
  const sharedFolder = (problem: string, mend: string) => ({ setting: 'COUNTERSIGN_SHARED_FOLDERS', problem, mend });
  const RELATIVE = 'write folders as /srv/jobs,/srv/cache, or one --shared-folder for each';

  it.each<[string, WorkerFlags, Environment, ConfigProblem]>([
    ['token file and static token together', {}, { ...STATIC, COUNTERSIGN_TOKEN_FILE: '/t' }, TOGETHER],
    ['the token file as a flag and a static token', { tokenFile: '/t' }, STATIC, TOGETHER],
    [
      'neither of them',
      {},
      {},
      {
        setting: 'COUNTERSIGN_TOKEN_FILE',
        problem: 'is not set, and neither is COUNTERSIGN_TOKEN',
        mend: 'name the file of the projected token, or set the token that is sent as it is',
      },
    ],
    ['a static token with its scheme', {}, { COUNTERSIGN_TOKEN: 'Bearer secret-x' }, NO_BEARER],
    ['a static token in quotes', {}, { COUNTERSIGN_TOKEN: '"secret-x"' }, NO_BEARER],
    ['a static token of two lines', {}, { COUNTERSIGN_TOKEN: 'secret-x\nx: y' }, NO_BEARER],
    ['a static token of spaces', {}, { COUNTERSIGN_TOKEN: '  ' }, NO_BEARER],
    [
      'a shared folder that is relative',
      {},
      { ...ENVIRONMENT, COUNTERSIGN_SHARED_FOLDERS: '/srv/jobs,cache' },
      sharedFolder('has "cache", which is not an absolute path', RELATIVE),
    ],
    [
      'a shared folder that is empty, as a flag',
      { sharedFolder: ['/srv/jobs', ''] },
      ENVIRONMENT,
      sharedFolder('has "", which is not an absolute path', RELATIVE),
    ],
    [
      'shared folders without a token file to keep from them',
      {},
      { ...STATIC, COUNTERSIGN_SHARED_FOLDERS: '/srv/jobs' },
      sharedFolder(
        'is set together with COUNTERSIGN_TOKEN, which has no folder to keep from them',
        'remove it, or use COUNTERSIGN_TOKEN_FILE',
      ),
    ],
  ])('may not be %s, and the token is not shown', (_what, flags, environment, problem) => {
    const config = readWorkerConfig(flags, environment);
    expect(config).toEqual({ ok: false, error: [problem] });
    expect(JSON.stringify(config)).not.toContain('secret-x');
  });

  it('are wrong all at once, each with its mend', () => {
    const config = readWorkerConfig({ listen: 'x', interval: '0' }, { COUNTERSIGN_TOKN_FILE: '/t' });
    expect(config.ok ? [] : config.error.map(({ setting, mend }) => [setting, mend])).toEqual([
      ['COUNTERSIGN_TOKN_FILE', expect.stringContaining('COUNTERSIGN_TOKEN_FILE')],
      ['COUNTERSIGN_TOKEN_FILE', 'name the file of the projected token, or set the token that is sent as it is'],
      ['COUNTERSIGN_LISTEN', 'write it as 127.0.0.1:8080 or [::1]:8080'],
      ['--interval', 'set it to 30, for example'],
    ]);
  });
});

it.each([
  ['localhost', true],
  ['127.0.0.1', true],
  ['127.255.0.1', true],
  ['[::1]', true],
  ['::1', true],
  ['::ffff:127.0.0.1', true],
  ['0.0.0.0', false],
  ['::', false],
  ['10.0.0.1', false],
  ['localhost.example.com', false],
  ['127.0.0.1.example.com', false],
])('the host %s is this machine itself: %s', (host, isLoopback) => {
  expect(isLoopbackHost(host)).toBe(isLoopback);
});
