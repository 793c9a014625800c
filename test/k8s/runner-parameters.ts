/** Parameters of the runner's manifests for tests: the defaults, and a set that shares no value with them. */
import {
  type GivenParameters,
  parseRunnerParameters,
  type RunnerParameters,
} from '../../src/manifests/runner-parameters.ts';

export const ALL_CHANGED = {
  namespace: 'fleet',
  serviceAccount: 'edge.agent',
  daemonSet: 'node-agent',
  image:
    'registry.example.com:5000/platform/agent:2.1@sha256:0000000000000000000000000000000000000000000000000000000000000000',
  issuer: 'https://as.example.com/realm',
  tokenEndpoint: 'http://as.fleet.svc:8080/oauth/token',
  jwksUri: 'http://as.fleet.svc:8080/.well-known/jwks.json',
  audience: 'agents',
  expirationSeconds: '1200',
  controllers: 'kcm-a,system:serviceaccount:kube-system:ds-controller-b',
  deployerGroups: 'oidc:Plattform Süd (Betrieb),release',
  deployerUsers: 'system:serviceaccount:flux-system:kustomize-controller',
  allowInsecureEndpoint: true,
} as const satisfies GivenParameters;

/** Good parameters, parsed. */
export function parametersOf(given: GivenParameters): RunnerParameters {
  const parameters = parseRunnerParameters(given);
  if (!parameters.ok) throw new Error(JSON.stringify(parameters.error));
  return parameters.value;
}
