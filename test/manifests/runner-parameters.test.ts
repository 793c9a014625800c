import { describe, expect, it } from 'vitest';
import { type GivenParameters, parseRunnerParameters } from '../../src/manifests/runner-parameters.ts';
import { ALL_CHANGED, parametersOf } from '../k8s/runner-parameters.ts';

/** The flags that are complained about, and what is said of the first. */
function problemsOf(given: GivenParameters): readonly string[] {
  const parameters = parseRunnerParameters(given);
  return parameters.ok ? [] : parameters.error.map(({ flag, problem }) => `${flag} ${problem}`);
}

const NOT_A_LABEL = 'is not a DNS-1123 label of at most 63 characters';
const NOT_A_SUBDOMAIN = 'is not a DNS-1123 subdomain of at most 253 characters';
const NOT_AN_ADDRESS = 'is not an https URL without credentials and fragment';
const NOT_AN_AUDIENCE = 'is not an audience: one to 512 visible ASCII characters without quotes and backslash';
const NOT_A_LIFETIME = "is not a number of seconds from 600, Kubernetes' minimum, to 86400";
const notAName = (name: string) =>
  `has ${JSON.stringify(name)}, which is not a name of Kubernetes users or groups that can be written here`;

describe('parameters', () => {
  it('are complete by default', () => {
    expect(parametersOf({})).toEqual({
      namespace: 'countersign-runner',
      serviceAccount: 'countersign-runner',
      daemonSet: 'countersign-runner',
      image: 'countersign:0.1.0',
      issuer: 'http://127.0.0.1:30080',
      tokenEndpoint: 'http://countersign.countersign.svc:8080/oauth/token',
      jwksUri: 'http://countersign.countersign.svc:8080/.well-known/jwks.json',
      allowInsecureEndpoint: true,
      audience: 'http://127.0.0.1:30080',
      expirationSeconds: 600,
      controllers: ['system:serviceaccount:kube-system:daemon-set-controller', 'system:kube-controller-manager'],
      deployerGroups: ['countersign:runner-deployers'],
      deployerUsers: [],
    });
  });

  it.each([
    ['another issuer', { issuer: 'https://as.example.com' }, { tokenEndpoint: null, jwksUri: null }],
    ['an address of its own', { jwksUri: 'https://as.example.com/keys' }, { tokenEndpoint: null }],
  ])('with %s do not have the example’s addresses, nor its leave for plain http', (_what, given, expected) => {
    expect(parametersOf(given)).toMatchObject({ ...expected, allowInsecureEndpoint: false });
  });

  it.each<[string, GivenParameters, object]>([
    ['an account with dots', { serviceAccount: 'a.b-c.d' }, { serviceAccount: 'a.b-c.d' }],
    ['the longest names', { namespace: 'n'.repeat(63) }, { namespace: 'n'.repeat(63) }],
    ['a plain audience', { audience: 'compass-runner' }, { audience: 'compass-runner' }],
    ['a day', { expirationSeconds: '86400' }, { expirationSeconds: 86_400 }],
    ['white space around names', { deployerGroups: ' a , b c ' }, { deployerGroups: ['a', 'b c'] }],
    ['a name twice', { controllers: 'a,b,a' }, { controllers: ['a', 'b'] }],
    ['users instead of groups', { deployerGroups: '', deployerUsers: 'dana' }, { deployerGroups: [] }],
    ['names in other scripts', { deployerGroups: 'oidc:Süd,運用' }, { deployerGroups: ['oidc:Süd', '運用'] }],
    ['a port and a digest', { image: ALL_CHANGED.image }, { image: ALL_CHANGED.image }],
    ['http to this machine', { tokenEndpoint: 'http://127.0.0.1:1/t' }, { tokenEndpoint: 'http://127.0.0.1:1/t' }],
  ])('may be: %s', (_what, given, expected) => {
    expect(parametersOf(given)).toMatchObject(expected);
  });

  it.each<[string, GivenParameters, string]>([
    ['an empty namespace', { namespace: '' }, `--namespace ${NOT_A_LABEL}`],
    ['a namespace with a dot', { namespace: 'a.b' }, `--namespace ${NOT_A_LABEL}`],
    ['a namespace that ends with a hyphen', { namespace: 'a-' }, `--namespace ${NOT_A_LABEL}`],
    ['a namespace that is too long', { namespace: 'n'.repeat(64) }, `--namespace ${NOT_A_LABEL}`],
    ['a namespace with a line of its own', { namespace: 'a\nspec: {}' }, `--namespace ${NOT_A_LABEL}`],
    ['a namespace with a line end', { namespace: 'a\n' }, `--namespace ${NOT_A_LABEL}`],
    ['a shared namespace', { namespace: 'default' }, "--namespace is default, which is not the runner's own"],
    ['an account in capitals', { serviceAccount: 'Runner' }, `--service-account ${NOT_A_SUBDOMAIN}`],
    ['an account with an empty label', { serviceAccount: 'a..b' }, `--service-account ${NOT_A_SUBDOMAIN}`],
    [
      'an account that is too long',
      { serviceAccount: `a.${'b.'.repeat(126)}c` },
      `--service-account ${NOT_A_SUBDOMAIN}`,
    ],
    ['an account that ends a string', { serviceAccount: "a' || true || '" }, `--service-account ${NOT_A_SUBDOMAIN}`],
    [
      'the default account',
      { serviceAccount: 'default' },
      '--service-account is the account of every pod that names none',
    ],
    ['a DaemonSet with a slash', { daemonSet: 'a/b' }, `--name ${NOT_A_LABEL}`],
    ['an image with a space', { image: 'a b' }, '--image is not an image reference'],
    ['an image with a line of its own', { image: 'a:1\n          command: [sh]' }, '--image is not an image reference'],
    ['an image with half a digest', { image: 'a@sha256:00' }, '--image is not an image reference'],
    ['an issuer over http', { issuer: 'http://as.example.com' }, '--issuer is http and not a loopback address'],
    ['an issuer with a line end', { issuer: 'https://as.example.com\n' }, '--issuer is not an http(s) URL'],
    ['an address that is none', { tokenEndpoint: 'as.example.com' }, `--token-endpoint ${NOT_AN_ADDRESS}`],
    ['an address with credentials', { jwksUri: 'https://a:b@as.example.com/' }, `--jwks-uri ${NOT_AN_ADDRESS}`],
    ['an address with a line end', { jwksUri: 'https://as.example.com/\n' }, `--jwks-uri ${NOT_AN_ADDRESS}`],
    ['an address over http', { tokenEndpoint: 'http://as.svc/t' }, '--token-endpoint is plain http'],
    ['an empty audience', { audience: '' }, `--audience ${NOT_AN_AUDIENCE}`],
    ['an audience that ends a string', { audience: "a'] || true || ['" }, `--audience ${NOT_AN_AUDIENCE}`],
    ['an audience that escapes the quote', { audience: 'a\\' }, `--audience ${NOT_AN_AUDIENCE}`],
    ['an audience with a quote of YAML', { audience: 'a"' }, `--audience ${NOT_AN_AUDIENCE}`],
    ['an audience with a line end', { audience: 'a\n' }, `--audience ${NOT_AN_AUDIENCE}`],
    ['an audience that is too long', { audience: 'a'.repeat(513) }, `--audience ${NOT_AN_AUDIENCE}`],
    ['an issuer that is no audience', { issuer: "https://as.example.com/o'x" }, `--audience ${NOT_AN_AUDIENCE}`],
    ['less than the minimum', { expirationSeconds: '599' }, `--expiration-seconds ${NOT_A_LIFETIME}`],
    ['more than a day', { expirationSeconds: '86401' }, `--expiration-seconds ${NOT_A_LIFETIME}`],
    ['a number in another notation', { expirationSeconds: '6e2' }, `--expiration-seconds ${NOT_A_LIFETIME}`],
    ['more than a number', { expirationSeconds: '600 || true' }, `--expiration-seconds ${NOT_A_LIFETIME}`],
    ['no controller', { controllers: '' }, '--controllers names nobody, so that no pod could start'],
    ['an empty name', { controllers: 'a,,b' }, `--controllers ${notAName('')}`],
    [
      'a name that ends a string',
      { controllers: "a'] || true || ['" },
      `--controllers ${notAName("a'] || true || ['")}`,
    ],
    ['a name that escapes the quote', { deployerGroups: 'a\\' }, `--deployers ${notAName('a\\')}`],
    ['a name of two lines', { deployerGroups: 'a\n---\nb' }, `--deployers ${notAName('a\n---\nb')}`],
    // YAML 1.1, which kubectl reads, ends a line at each of these.
    ['a name with U+0085', { deployerUsers: 'a\u0085b' }, `--deployer-users ${notAName('a\u0085b')}`],
    ['a name with U+2028', { deployerUsers: 'a\u2028b' }, `--deployer-users ${notAName('a\u2028b')}`],
    ['a name that is written backwards', { deployerUsers: 'a\u202eb' }, `--deployer-users ${notAName('a\u202eb')}`],
    ['a name that is too long', { deployerUsers: 'a'.repeat(254) }, `--deployer-users ${notAName('a'.repeat(254))}`],
    [
      'too many names',
      { deployerUsers: Array.from({ length: 51 }, (_, index) => `u${index}`).join(',') },
      '--deployer-users has more than 50 names',
    ],
    ['no deployer', { deployerGroups: '' }, '--deployers names nobody, so that the DaemonSet could never be changed'],
    [
      'everybody as a deployer',
      { deployerGroups: 'release,system:authenticated' },
      '--deployers has system:authenticated, a group that is not chosen',
    ],
    [
      'every workload as a deployer',
      { deployerGroups: 'system:serviceaccounts' },
      '--deployers has system:serviceaccounts, a group that is not chosen',
    ],
  ])('may not be: %s', (_what, given, problem) => {
    expect(problemsOf(given)).toEqual([problem]);
  });

  it('are judged all at once, in the order of the flags', () => {
    const wrong = Object.fromEntries(
      Object.keys(ALL_CHANGED)
        .filter((name) => name !== 'allowInsecureEndpoint')
        .map((name) => [name, "'\n"]),
    );
    expect(
      problemsOf(wrong)
        .map((problem) => problem.split(' ')[0])
        .sort(),
    ).toEqual(
      [
        '--namespace',
        '--service-account',
        '--name',
        '--image',
        '--issuer',
        '--token-endpoint',
        '--jwks-uri',
        '--audience',
        '--expiration-seconds',
        '--controllers',
        '--deployers',
        '--deployer-users',
      ].sort(),
    );
  });
});
