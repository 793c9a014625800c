/**
 * The parameters of the runner's manifests: their flags, defaults and rules. Whatever passes here can stand in YAML and in
 * CEL; both are written with escapes all the same. All problems are reported at once, each with its flag and the mend.
 */
import { err, ok, type Result } from '../result.ts';
import { parseIssuer, UnusableSetting } from '../setting-values.ts';
import {
  parseAccountName,
  parseAudience,
  parseDeployerGroups,
  parseEndpoint,
  parseExpirationSeconds,
  parseImage,
  parseNames,
  parseNamespace,
  parseResourceName,
} from './parameter-values.ts';

export type RunnerParameters = {
  readonly namespace: string;
  readonly serviceAccount: string;
  readonly daemonSet: string;
  readonly image: string;
  /** Issuer identifier of the server. */
  readonly issuer: string;
  /** Null: where the issuer's metadata says. */
  readonly tokenEndpoint: string | null;
  readonly jwksUri: string | null;
  readonly allowInsecureEndpoint: boolean;
  readonly audience: string;
  readonly expirationSeconds: number;
  /** Users that create the DaemonSet's pods. */
  readonly controllers: readonly string[];
  readonly deployerGroups: readonly string[];
  readonly deployerUsers: readonly string[];
};

export type ParameterProblem = { readonly flag: string; readonly problem: string; readonly mend: string };

type Parameter = { readonly flag: string; readonly value: string; readonly fallback: string; readonly help: string };

/** Every parameter with a value, in the order of the help. */
export const RUNNER_PARAMETERS = {
  namespace: {
    flag: 'namespace',
    value: '<name>',
    fallback: 'countersign-runner',
    help: "the runner's own namespace: exec and the like are closed in all of it",
  },
  serviceAccount: {
    flag: 'service-account',
    value: '<name>',
    fallback: 'countersign-runner',
    help: 'account whose subject is bound to a client',
  },
  daemonSet: { flag: 'name', value: '<name>', fallback: 'countersign-runner', help: 'name of the DaemonSet' },
  image: { flag: 'image', value: '<image>', fallback: 'countersign:0.1.0', help: 'image of the runner' },
  issuer: {
    flag: 'issuer',
    value: '<url>',
    fallback: 'http://127.0.0.1:30080',
    help: 'issuer identifier of the server',
  },
  tokenEndpoint: {
    flag: 'token-endpoint',
    value: '<url>',
    fallback: '',
    help: 'where to ask for tokens, if not where the metadata says',
  },
  jwksUri: {
    flag: 'jwks-uri',
    value: '<url>',
    fallback: '',
    help: "where the server's keys are, if not where the metadata says",
  },
  audience: {
    flag: 'audience',
    value: '<text>',
    fallback: '',
    help: 'audience of the projected token, one of the expected_aud of the trusted issuer (default: that of --issuer)',
  },
  expirationSeconds: {
    flag: 'expiration-seconds',
    value: '<seconds>',
    fallback: '600',
    help: 'life of the projected token; at most max_token_lifetime_seconds of the trusted issuer',
  },
  controllers: {
    flag: 'controllers',
    value: '<users>',
    // The second is the controller's name where the controller manager runs without --use-service-account-credentials.
    fallback: 'system:serviceaccount:kube-system:daemon-set-controller,system:kube-controller-manager',
    help: 'users that create the pods of DaemonSets, separated by commas',
  },
  deployerGroups: {
    flag: 'deployers',
    value: '<groups>',
    fallback: 'countersign:runner-deployers',
    help: 'groups that may create, change and delete the DaemonSet and its account, separated by commas',
  },
  deployerUsers: {
    flag: 'deployer-users',
    value: '<users>',
    fallback: '',
    help: 'users that may do so as well, separated by commas',
  },
} as const satisfies Readonly<Record<string, Parameter>>;

export type RunnerParameterName = keyof typeof RUNNER_PARAMETERS;
/** What was given; what was not is left out. */
export type GivenParameters = Readonly<Partial<Record<RunnerParameterName, string>>> & {
  readonly allowInsecureEndpoint?: boolean | undefined;
};

/** The server of `k8s/countersign.yaml`, reached inside the cluster. Its issuer identifier is the default. */
const EXAMPLE_SERVER = {
  tokenEndpoint: 'http://countersign.countersign.svc:8080/oauth/token',
  jwksUri: 'http://countersign.countersign.svc:8080/.well-known/jwks.json',
} as const;

/** The parameters, complete, or every problem with what was given. */
export function parseRunnerParameters(given: GivenParameters): Result<RunnerParameters, readonly ParameterProblem[]> {
  const problems: ParameterProblem[] = [];
  const read = <T>(
    name: RunnerParameterName,
    parse: (text: string) => T,
    byDefault: string = RUNNER_PARAMETERS[name].fallback,
    standIn = byDefault,
  ): T => {
    try {
      return parse(given[name] ?? byDefault);
    } catch (error) {
      if (!(error instanceof UnusableSetting)) throw error;
      problems.push({ flag: `--${RUNNER_PARAMETERS[name].flag}`, problem: error.message, mend: error.mend });
      // While the others are read; nothing comes of it.
      return parse(standIn);
    }
  };
  // Plain http to an address that was given has to be asked for by name.
  const isExample = [given.issuer, given.tokenEndpoint, given.jwksUri].every((address) => address === undefined);
  const allowInsecureEndpoint = isExample || given.allowInsecureEndpoint === true;
  const readEndpoint = (name: 'tokenEndpoint' | 'jwksUri') =>
    read(name, (text) => parseEndpoint(text, allowInsecureEndpoint), isExample ? EXAMPLE_SERVER[name] : '');
  const issuer = read('issuer', parseIssuer);
  const parameters = {
    namespace: read('namespace', parseNamespace),
    serviceAccount: read('serviceAccount', parseAccountName),
    daemonSet: read('daemonSet', parseResourceName),
    image: read('image', parseImage),
    issuer,
    tokenEndpoint: readEndpoint('tokenEndpoint'),
    jwksUri: readEndpoint('jwksUri'),
    allowInsecureEndpoint,
    audience: read('audience', parseAudience, issuer, RUNNER_PARAMETERS.issuer.fallback),
    expirationSeconds: read('expirationSeconds', parseExpirationSeconds),
    controllers: read('controllers', parseNames),
    deployerGroups: read('deployerGroups', parseDeployerGroups),
    deployerUsers: read('deployerUsers', parseNames),
  };
  if (parameters.controllers.length === 0) {
    const mend = 'name the user that creates the pods of DaemonSets, or leave the flag out';
    problems.push({ flag: '--controllers', problem: 'names nobody, so that no pod could start', mend });
  }
  if (parameters.deployerGroups.length + parameters.deployerUsers.length === 0) {
    const mend = 'name a group, or a user by --deployer-users';
    problems.push({ flag: '--deployers', problem: 'names nobody, so that the DaemonSet could never be changed', mend });
  }
  return problems.length > 0 ? err(problems) : ok(parameters);
}
