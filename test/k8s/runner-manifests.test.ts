/** The runner's manifests as rendered: equal to the shipped ones, safe by construction, and every parameter in its place. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { afterAll, describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { givenParameters, withManifestFlags } from '../../src/command-line/manifest-flags.ts';
import { renderManifests } from '../../src/command-line/manifests.ts';
import { withWorkerFlags } from '../../src/command-line/worker-flags.ts';
import { runnerFiles, runnerStream } from '../../src/manifests/runner-manifests.ts';
import { type GivenParameters, RUNNER_PARAMETERS } from '../../src/manifests/runner-parameters.ts';
import { readWorkerConfig } from '../../src/worker-config.ts';
import { readPolicies } from './admission-evaluator.ts';
import { ALL_CHANGED, parametersOf } from './runner-parameters.ts';
import { NOBODY, UNPRIVILEGED } from './unprivileged.ts';

const SHIPPED = new URL('../../k8s/runner/', import.meta.url);
/** A TokenRequest with less is refused. */
const TOKEN_REQUEST_MINIMUM_SECONDS = 600;

const daemonSetShape = z.object({
  metadata: z.object({ name: z.string(), namespace: z.string() }),
  spec: z.object({
    selector: z.object({ matchLabels: z.record(z.string(), z.string()) }),
    updateStrategy: z.unknown(),
    template: z.object({
      metadata: z.object({ labels: z.record(z.string(), z.string()) }),
      // Strict: hostPath, hostNetwork, initContainers and the like are to be thought about first.
      spec: z.strictObject({
        serviceAccountName: z.string(),
        automountServiceAccountToken: z.boolean(),
        enableServiceLinks: z.boolean(),
        terminationGracePeriodSeconds: z.number(),
        nodeSelector: z.record(z.string(), z.string()),
        securityContext: z.unknown(),
        containers: z.tuple([
          z.looseObject({
            image: z.string(),
            args: z.array(z.string()),
            securityContext: z.unknown(),
            volumeMounts: z.array(z.unknown()),
          }),
        ]),
        volumes: z.tuple([
          z.strictObject({
            name: z.literal('identity'),
            projected: z.strictObject({
              sources: z.tuple([
                z.strictObject({
                  serviceAccountToken: z.strictObject({
                    audience: z.string(),
                    expirationSeconds: z.number(),
                    path: z.string(),
                  }),
                }),
              ]),
            }),
          }),
        ]),
      }),
    }),
  }),
});

function documentsOf(given: GivenParameters) {
  return parseAllDocuments(runnerStream(parametersOf(given)), { strict: true, uniqueKeys: true }).map((document) => {
    expect(document.errors).toEqual([]);
    return z
      .looseObject({
        kind: z.string(),
        metadata: z.looseObject({ name: z.string(), namespace: z.string().optional() }),
      })
      .parse(document.toJS());
  });
}
function daemonSetOf(given: GivenParameters) {
  return daemonSetShape.parse(documentsOf(given).find(({ kind }) => kind === 'DaemonSet'));
}
const tokenOf = (given: GivenParameters) =>
  daemonSetOf(given).spec.template.spec.volumes[0].projected.sources[0].serviceAccountToken;
const argumentsOf = (given: GivenParameters) => daemonSetOf(given).spec.template.spec.containers[0].args;

describe('the shipped kustomize base', () => {
  it('is what the command renders by default: run `npm run manifests` if not', () => {
    const files = runnerFiles(parametersOf({}));
    expect(readdirSync(SHIPPED).sort()).toEqual(files.map(({ name }) => name).sort());
    for (const { name, text } of files) expect(readFileSync(new URL(name, SHIPPED), 'utf8')).toBe(text);
  });

  it('lists its files, the policies before what they guard, and sets no namespace, which would be written into policies', () => {
    expect(parse(readFileSync(new URL('kustomization.yaml', SHIPPED), 'utf8'))).toEqual({
      apiVersion: 'kustomize.config.k8s.io/v1beta1',
      kind: 'Kustomization',
      resources: ['namespace.yaml', 'policies.yaml', 'service-account.yaml', 'daemon-set.yaml'],
      sortOptions: { order: 'fifo' },
    });
  });

  it('has the documents of the stream, in its order', () => {
    const inFiles = runnerFiles(parametersOf({}))
      .slice(1)
      .flatMap(({ text }) => parseAllDocuments(text).map((document) => document.toJS()));
    expect(inFiles).toEqual(documentsOf({}));
  });
});

describe.each([
  ['by default', {}],
  ['with everything changed', ALL_CHANGED],
])('the manifests %s', (_how, given: GivenParameters) => {
  const documents = documentsOf(given);
  const parameters = parametersOf(given);
  const { namespace, serviceAccount, daemonSet } = parameters;
  const { spec } = daemonSetOf(given);
  const pod = spec.template.spec;
  const [container] = pod.containers;

  it('are namespace, policies with their bindings, account and DaemonSet: no role binding, no Secret', () => {
    const policies = ['tokens', 'pods', 'connections', 'workloads', 'account', 'secrets'].flatMap((name) => [
      ['ValidatingAdmissionPolicy', `${namespace}-${name}`, undefined],
      ['ValidatingAdmissionPolicyBinding', `${namespace}-${name}`, undefined],
    ]);
    expect(documents.map(({ kind, metadata }) => [kind, metadata.name, metadata.namespace])).toEqual([
      ['Namespace', namespace, undefined],
      ...policies,
      ['ServiceAccount', serviceAccount, namespace],
      ['DaemonSet', daemonSet, namespace],
    ]);
  });

  it('hold the namespace to the restricted profile', () => {
    expect(documents[0]?.metadata.labels).toEqual({ 'pod-security.kubernetes.io/enforce': 'restricted' });
  });

  it('mount no token for the API server, by account or pod', () => {
    expect(documents.find(({ kind }) => kind === 'ServiceAccount')).toEqual({
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name: serviceAccount, namespace },
      automountServiceAccountToken: false,
    });
    expect(pod).toMatchObject({ serviceAccountName: serviceAccount, automountServiceAccountToken: false });
  });

  it('never have two runners on a node', () => {
    expect(spec.updateStrategy).toEqual({ type: 'RollingUpdate', rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } });
  });

  it('run it as nobody, on a read-only file system, without any privilege', () => {
    expect(pod.securityContext).toEqual(NOBODY);
    expect(container.securityContext).toEqual(UNPRIVILEGED);
  });

  it('select the pods by the labels that they have', () => {
    expect(spec.template.metadata.labels).toEqual(spec.selector.matchLabels);
  });

  it('run the worker with flags and values that it takes', () => {
    const command = withWorkerFlags(new Command('worker'))
      .exitOverride()
      .configureOutput({ writeErr: () => {} });
    expect(container.args[0]).toBe('worker');
    command.parse(container.args.slice(1), { from: 'user' });
    expect(readWorkerConfig(command.opts(), {})).toMatchObject({
      ok: true,
      value: {
        issuer: parameters.issuer,
        tokenEndpoint: parameters.tokenEndpoint,
        jwksUri: parameters.jwksUri,
        credential: { kind: 'token_file', path: `/var/run/secrets/countersign/${tokenOf(given).path}` },
        listen: { host: '0.0.0.0', port: 8081 },
        intervalSeconds: 30,
      },
    });
    expect(command.opts().allowInsecureEndpoint).toBe(true);
  });

  it('mount the token where the worker reads it, and nothing else', () => {
    expect(container.volumeMounts).toEqual([
      { name: 'identity', mountPath: '/var/run/secrets/countersign', readOnly: true },
    ]);
  });

  it('ask for a token that the token policy lets through', () => {
    const { audience, expirationSeconds } = tokenOf(given);
    const text = JSON.stringify(readPolicies(runnerStream(parameters)).policies[0]?.spec.validations);
    expect(text).toContain(`== ['${audience}']`);
    expect(text).toContain(`<= ${expirationSeconds}"`);
  });

  it('have one binding for each policy, which denies and audits', () => {
    const { policies, bindings } = readPolicies(runnerStream(parameters));
    expect(bindings.map(({ spec: { policyName } }) => policyName)).toEqual(
      policies.map(({ metadata }) => metadata.name),
    );
    for (const binding of bindings) expect(binding.spec.validationActions).toEqual(['Deny', 'Audit']);
  });

  it('have policies that fail closed, in the namespace alone, for clients with a 403', () => {
    for (const { spec: policy } of readPolicies(runnerStream(parameters)).policies) {
      expect(policy.failurePolicy).toBe('Fail');
      expect(policy.matchConstraints.namespaceSelector).toEqual({
        matchLabels: { 'kubernetes.io/metadata.name': namespace },
      });
      for (const { reason } of policy.validations) expect(reason).toBe('Forbidden');
    }
  });

  it('use only CEL that Kubernetes 1.29 has, within the limits of the API', () => {
    // Later: ip and cidr (1.30), format and authorizer selectors (1.31), two-variable comprehensions (1.32), semver (1.33).
    const later = /\b(ip|cidr|isIP|isCIDR|format|semver|transformList|transformMap|fieldSelector|labelSelector)\(/;
    for (const { spec: policy } of readPolicies(runnerStream(parameters)).policies) {
      const expressions = [...policy.matchConditions, ...policy.variables, ...policy.validations];
      expect(expressions.filter(({ expression }) => later.test(expression))).toEqual([]);
      for (const { message } of policy.validations) expect(message).toMatch(/^.{1,5120}$/);
    }
  });
});

describe('by default', () => {
  it('the token lives no shorter than a TokenRequest may, and no longer than the example’s issuers accept', () => {
    const issuers = z
      .object({
        trusted_issuers: z.array(
          z.object({ require: z.object({ node: z.boolean() }).optional(), max_token_lifetime_seconds: z.number() }),
        ),
      })
      .parse(parse(readFileSync(new URL('../clusters.yaml', SHIPPED), 'utf8'))).trusted_issuers;
    const ofRunners = issuers.filter(({ require }) => require?.node === true);
    expect(ofRunners).not.toEqual([]);
    const { expirationSeconds } = tokenOf({});
    expect(expirationSeconds).toBeGreaterThanOrEqual(TOKEN_REQUEST_MINIMUM_SECONDS);
    for (const issuer of ofRunners) expect(expirationSeconds).toBeLessThanOrEqual(issuer.max_token_lifetime_seconds);
  });

  it('both users that the DaemonSet controller may have are in the policy of pods', () => {
    const pods = JSON.stringify(readPolicies(runnerStream(parametersOf({}))).policies[1]);
    expect(pods).toContain("'system:serviceaccount:kube-system:daemon-set-controller'");
    expect(pods).toContain("'system:kube-controller-manager'");
  });

  it('the server is the one of k8s/countersign.yaml, reached by its Service', () => {
    const server = readFileSync(new URL('../countersign.yaml', SHIPPED), 'utf8');
    expect(server).toContain(`value: ${tokenOf({}).audience}\n`);
    expect(argumentsOf({})).toContain('--token-endpoint=http://countersign.countersign.svc:8080/oauth/token');
    expect(argumentsOf({})).toContain('--allow-insecure-endpoint');
  });
});

describe('parameters', () => {
  it('reach every place: no default is left when all are changed', () => {
    const { allowInsecureEndpoint: _boolean, ...changed } = ALL_CHANGED;
    expect(Object.keys(changed).sort()).toEqual(Object.keys(RUNNER_PARAMETERS).sort());
    const text = runnerStream(parametersOf(ALL_CHANGED));
    const defaults = Object.values(RUNNER_PARAMETERS).flatMap(({ fallback }) => fallback.split(','));
    const inText = [...new Set(defaults)].filter((value) => value !== '' && new RegExp(`\\b${value}\\b`).test(text));
    expect(inText).toEqual([]);
    const given = Object.values(changed).flatMap((value) => value.split(','));
    expect(given.filter((value) => !text.includes(value))).toEqual([]);
  });

  it('of another server leave the addresses to its metadata, and its identifier is the audience', () => {
    const given = { issuer: 'https://as.example.com/realm' };
    expect(argumentsOf(given)).toEqual([
      'worker',
      '--issuer=https://as.example.com/realm',
      '--token-file=/var/run/secrets/countersign/token',
      '--listen=0.0.0.0:8081',
      '--interval=30',
    ]);
    expect(tokenOf(given).audience).toBe('https://as.example.com/realm');
  });

  it('do not become variables of the container', () => {
    const given = { issuer: 'https://as.example.com/$(HOSTNAME)/$$' };
    expect(argumentsOf(given)).toContain('--issuer=https://as.example.com/$$(HOSTNAME)/$$$$');
  });

  it.each([
    ['namespace', 'true'],
    ['namespace', '123'],
    ['namespace', '1e3'],
    ['namespace', 'on'],
    ['serviceAccount', '0x1f'],
    ['serviceAccount', '1.5'],
    ['daemonSet', 'null'],
    ['audience', '~'],
    ['audience', '{a:b}'],
    ['audience', '#x'],
    ['image', 'y'],
  ] as const)('that YAML could take for something else stay text: %s %s', (name, value) => {
    for (const version of ['1.1', '1.2'] as const) {
      const documents = parseAllDocuments(runnerStream(parametersOf({ [name]: value })), { version });
      const text = JSON.stringify(documents.map((document) => document.toJS()));
      expect(text).toContain(`"${value}"`);
    }
  });
});

describe('the command', () => {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-manifests-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  const optionsOf = (...words: readonly string[]) =>
    withManifestFlags(new Command('render')).parse(words, { from: 'user' }).opts();

  it('has a flag for every parameter', () => {
    const words = Object.entries(RUNNER_PARAMETERS).flatMap(([name, { flag }]) => [`--${flag}`, `value of ${name}`]);
    const expected = Object.fromEntries(Object.keys(RUNNER_PARAMETERS).map((name) => [name, `value of ${name}`]));
    expect(givenParameters(optionsOf(...words, '--allow-insecure-endpoint'))).toEqual({
      ...expected,
      allowInsecureEndpoint: true,
    });
    expect(givenParameters(optionsOf())).toEqual({ allowInsecureEndpoint: false });
  });

  it('prints one stream', () => {
    const text = renderManifests(optionsOf('--namespace', 'fleet'));
    expect(`${text}\n`).toBe(runnerStream(parametersOf({ namespace: 'fleet' })));
  });

  it('writes a kustomize base into a folder', () => {
    const base = join(folder, 'new', 'base');
    const text = renderManifests(optionsOf('--name', 'agent', '--output-dir', base));
    const files = runnerFiles(parametersOf({ daemonSet: 'agent' }));
    expect(text).toBe(files.map(({ name }) => `wrote ${join(base, name)}`).join('\n'));
    for (const { name, text: written } of files) expect(readFileSync(join(base, name), 'utf8')).toBe(written);
  });

  it('says why it could not write', () => {
    const file = join(folder, 'file');
    writeFileSync(file, '');
    expect(() => renderManifests(optionsOf('--output-dir', join(file, 'base')))).toThrow(
      '--output-dir can not be written (ENOTDIR): name a folder that this process may write',
    );
  });

  it('reports every problem at once, with flag and mend', () => {
    const wrong = ['--namespace', 'kube-system', '--audience', "a' || true", '--expiration-seconds', '599'];
    expect(() => renderManifests(optionsOf(...wrong))).toThrow(
      [
        "--namespace is kube-system, which is not the runner's own: name a namespace that only the runner is in, for example countersign-runner",
        "--audience is not an audience: one to 512 visible ASCII characters without quotes and backslash: set it to one of the trusted issuer's expected_aud, for example https://as.example.com",
        "--expiration-seconds is not a number of seconds from 600, Kubernetes' minimum, to 86400: set it to 600, and max_token_lifetime_seconds of the trusted issuer to no less",
      ].join('\n'),
    );
  });
});
