/** The shipped manifests against the program they run: its settings, its flags, its paths, and least privilege. */
import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { withWorkerFlags } from '../../src/command-line/worker-flags.ts';
import { readConfig, SETTINGS } from '../../src/config.ts';
import { NOBODY, UNPRIVILEGED } from './unprivileged.ts';

const ROOT = new URL('../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, ROOT), 'utf8');
const MANIFESTS = ['countersign.yaml', 'rbac.yaml', 'worker.yaml'] as const;

const probe = z.object({ httpGet: z.object({ path: z.string(), port: z.string() }) });
/** Strict: what is not expected here (`hostNetwork`, `initContainers`, `command` …) is to be thought about first. */
const containerShape = z.strictObject({
  name: z.string(),
  image: z.string(),
  imagePullPolicy: z.literal('IfNotPresent'),
  args: z.array(z.string()),
  env: z.array(z.object({ name: z.string(), value: z.string() })).default([]),
  ports: z.array(z.object({ name: z.string(), containerPort: z.number() })),
  securityContext: z.unknown(),
  startupProbe: probe.optional(),
  livenessProbe: probe,
  readinessProbe: probe,
  resources: z.object({
    requests: z.record(z.string(), z.string()),
    limits: z.record(z.string(), z.string()),
  }),
  volumeMounts: z.array(
    z.object({
      name: z.string(),
      mountPath: z.string(),
      readOnly: z.boolean().optional(),
      subPath: z.string().optional(),
    }),
  ),
});
const podShape = z.strictObject({
  serviceAccountName: z.string(),
  automountServiceAccountToken: z.boolean(),
  enableServiceLinks: z.boolean(),
  terminationGracePeriodSeconds: z.number(),
  securityContext: z.unknown(),
  containers: z.array(containerShape),
  volumes: z.array(z.looseObject({ name: z.string() })),
});
const resourceShape = z.looseObject({
  kind: z.string(),
  metadata: z.looseObject({ name: z.string(), namespace: z.string().optional() }),
});
const deploymentShape = z.object({
  metadata: z.object({ name: z.string(), namespace: z.string() }),
  spec: z.looseObject({
    selector: z.object({ matchLabels: z.record(z.string(), z.string()) }),
    template: z.object({
      metadata: z.object({ labels: z.record(z.string(), z.string()) }),
      spec: podShape,
    }),
  }),
});

function resourcesOf(file: (typeof MANIFESTS)[number]) {
  return parseAllDocuments(read(`k8s/${file}`), { strict: true, uniqueKeys: true }).map((document) => {
    expect(document.errors).toEqual([]);
    return resourceShape.parse(document.toJS());
  });
}
function resourceOf(file: (typeof MANIFESTS)[number], kind: string) {
  const [resource, ...others] = resourcesOf(file).filter((candidate) => candidate.kind === kind);
  expect(others).toEqual([]);
  return resource;
}
function deploymentOf(file: 'countersign.yaml' | 'worker.yaml') {
  const deployment = deploymentShape.parse(resourceOf(file, 'Deployment'));
  const [container, ...others] = deployment.spec.template.spec.containers;
  if (container === undefined || others.length > 0) throw new Error(`${file}: one container expected`);
  return { deployment, pod: deployment.spec.template.spec, container };
}

const server = deploymentOf('countersign.yaml');
const worker = deploymentOf('worker.yaml');
const serverEnv = Object.fromEntries(server.container.env.map(({ name, value }) => [name, value]));
const workerFlags = new Map(
  worker.container.args.slice(1).map((argument) => {
    const [, flag = '', value = ''] = /^(--[a-z-]+)(?:=(.*))?$/.exec(argument) ?? [];
    return [flag, value];
  }),
);
const identityShape = z.object({
  projected: z.object({
    sources: z.tuple([
      z.object({
        serviceAccountToken: z.object({ audience: z.string(), expirationSeconds: z.number(), path: z.string() }),
      }),
    ]),
  }),
});
const identity = identityShape.parse(worker.pod.volumes.find((volume) => volume.name === 'identity'));
const token = identity.projected.sources[0].serviceAccountToken;

describe('every manifest', () => {
  it.each(MANIFESTS)('%s names a namespace for whatever has one', (file) => {
    const clusterScoped = ['Namespace', 'ClusterRoleBinding'];
    for (const resource of resourcesOf(file)) {
      expect(resource.metadata.namespace !== undefined).toBe(!clusterScoped.includes(resource.kind));
    }
  });

  it.each(MANIFESTS.slice(0, 1).concat('worker.yaml'))('%s holds its namespace to the restricted profile', (file) => {
    const labels = z
      .looseObject({ labels: z.record(z.string(), z.string()) })
      .parse(resourceOf(file, 'Namespace')?.metadata).labels;
    expect(labels['pod-security.kubernetes.io/enforce']).toBe('restricted');
  });

  it.each(MANIFESTS)('%s contains no Secret', (file) => {
    expect(resourcesOf(file).map((resource) => resource.kind)).not.toContain('Secret');
  });
});

describe.each([
  ['the server', server],
  ['the worker', worker],
])('%s', (_who, { deployment, pod, container }) => {
  it('runs as nobody, on a read-only file system, without any privilege', () => {
    expect(pod.securityContext).toMatchObject(NOBODY);
    expect(container.securityContext).toEqual(UNPRIVILEGED);
  });

  it('has no API server token and no service links', () => {
    expect(pod).toMatchObject({ automountServiceAccountToken: false, enableServiceLinks: false });
  });

  it('has an account of its own that mounts no token either', () => {
    const file = deployment.metadata.namespace === 'countersign' ? 'countersign.yaml' : 'worker.yaml';
    expect(resourceOf(file, 'ServiceAccount')).toMatchObject({
      metadata: { name: pod.serviceAccountName, namespace: deployment.metadata.namespace },
      automountServiceAccountToken: false,
    });
  });

  it('has requests and limits for CPU, memory and ephemeral storage', () => {
    const names = ['cpu', 'ephemeral-storage', 'memory'];
    expect(Object.keys(container.resources.requests).sort()).toEqual(names);
    expect(Object.keys(container.resources.limits).sort()).toEqual(names);
  });

  it('is selected by the labels that its pods have', () => {
    expect(deployment.spec.template.metadata.labels).toEqual(deployment.spec.selector.matchLabels);
  });

  it('has no volume of the host', () => {
    const kinds = pod.volumes.flatMap(({ name: _name, ...source }) => Object.keys(source));
    expect(['persistentVolumeClaim', 'secret', 'emptyDir', 'projected']).toEqual(expect.arrayContaining(kinds));
  });

  it('mounts only volumes that it has, none by subPath, and writes only where it must', () => {
    expect(container.volumeMounts.map((mount) => mount.name).sort()).toEqual(
      pod.volumes.map(({ name }) => name).sort(),
    );
    expect(container.volumeMounts.filter((mount) => mount.subPath !== undefined)).toEqual([]);
    const writable = container.volumeMounts.filter((mount) => mount.readOnly !== true).map((mount) => mount.mountPath);
    expect(['/data', '/tmp']).toEqual(expect.arrayContaining(writable));
  });

  it('runs the image that the Dockerfile’s comment builds', () => {
    expect(read('k8s/Dockerfile')).toContain(`docker build -f k8s/Dockerfile -t ${container.image} .`);
  });

  it('listens on every address, at the port that its probes use', () => {
    const listen = container === server.container ? serverEnv.COUNTERSIGN_LISTEN : workerFlags.get('--listen');
    expect(container.ports).toEqual([{ name: 'http', containerPort: Number(listen?.replace('0.0.0.0:', '')) }]);
    for (const { httpGet } of [container.livenessProbe, container.readinessProbe]) expect(httpGet.port).toBe('http');
  });
});

describe('the server’s manifest', () => {
  it('sets only variables that are settings, and no secret among them', () => {
    const known: readonly string[] = Object.values(SETTINGS).map(({ env }) => env);
    expect(known).toEqual(expect.arrayContaining(Object.keys(serverEnv)));
    expect(Object.keys(serverEnv)).not.toContain(SETTINGS.adminSecret.env);
  });

  it('sets values that the server accepts', () => {
    // Its secret is a file that exists in the pod only.
    const { COUNTERSIGN_ADMIN_SECRET_FILE: _inThePodOnly, ...environment } = serverEnv;
    expect(readConfig({}, environment)).toMatchObject({
      ok: true,
      value: { listen: { host: '0.0.0.0', port: 8080 }, privateNetworks: ['10.96.0.1/32'] },
    });
  });

  it('reads its secrets from files of a mounted Secret that the world cannot read', () => {
    const mount = server.container.volumeMounts.find(({ name }) => name === 'secrets');
    expect(mount).toMatchObject({ readOnly: true });
    for (const name of ['COUNTERSIGN_ADMIN_SECRET_FILE', 'COUNTERSIGN_KEY_FILE']) {
      expect(serverEnv[name]?.startsWith(`${mount?.mountPath}/`)).toBe(true);
      const key = serverEnv[name]?.split('/').at(-1);
      expect(read('k8s/countersign.yaml')).toContain(`--from-literal=${key}=`);
    }
    const secret = z
      .object({ secret: z.object({ secretName: z.literal('countersign-secrets'), defaultMode: z.number() }) })
      .parse(server.pod.volumes.find(({ name }) => name === 'secrets')).secret;
    expect(secret.defaultMode).toBe(0o440);
  });

  it('keeps its database on the persistent volume, in one pod at a time', () => {
    const data = server.container.volumeMounts.find(({ name }) => name === 'data');
    expect(serverEnv.COUNTERSIGN_DATABASE_URL?.startsWith(`sqlite:${data?.mountPath}/`)).toBe(true);
    expect(server.deployment.spec).toMatchObject({ replicas: 1, strategy: { type: 'Recreate' } });
    const claim = resourceOf('countersign.yaml', 'PersistentVolumeClaim')?.metadata.name;
    expect(server.pod.volumes).toContainEqual({ name: 'data', persistentVolumeClaim: { claimName: claim } });
  });

  it('is alive by /healthz and ready by /readyz', () => {
    expect(server.container.startupProbe?.httpGet.path).toBe('/healthz');
    expect(server.container.livenessProbe.httpGet.path).toBe('/healthz');
    expect(server.container.readinessProbe.httpGet.path).toBe('/readyz');
  });

  it('is reached at the issuer identifier, through the NodePort that kind publishes on loopback', () => {
    const service = z
      .looseObject({
        spec: z.object({
          type: z.literal('NodePort'),
          selector: z.record(z.string(), z.string()),
          ports: z.tuple([
            z.object({ name: z.string(), port: z.number(), targetPort: z.string(), nodePort: z.number() }),
          ]),
        }),
      })
      .parse(resourceOf('countersign.yaml', 'Service')).spec;
    const kind = z
      .object({
        nodes: z.tuple([
          z.looseObject({
            extraPortMappings: z.tuple([
              z.looseObject({ containerPort: z.number(), hostPort: z.number(), listenAddress: z.string() }),
            ]),
          }),
        ]),
      })
      .parse(parse(read('k8s/kind-config.yaml'))).nodes[0].extraPortMappings[0];
    expect(service.selector).toEqual(server.deployment.spec.selector.matchLabels);
    expect(service.ports[0]).toMatchObject({ port: 8080, targetPort: 'http', nodePort: 30080 });
    expect(kind).toMatchObject({ containerPort: 30080, hostPort: 30080, listenAddress: '127.0.0.1' });
    expect(serverEnv.COUNTERSIGN_ISSUER).toBe(`http://${kind.listenAddress}:${kind.hostPort}`);
  });
});

describe('the worker’s manifest', () => {
  it('gives only flags that the worker has', () => {
    const known = withWorkerFlags(new Command('worker')).options.map((option) => option.long);
    expect(worker.container.args[0]).toBe('worker');
    expect(known).toEqual(expect.arrayContaining([...workerFlags.keys()]));
    expect(worker.container.env).toEqual([]);
  });

  it('asks for a token whose audience is the server’s issuer identifier, for an hour', () => {
    expect(token.audience).toBe(serverEnv.COUNTERSIGN_ISSUER);
    expect(workerFlags.get('--issuer')).toBe(serverEnv.COUNTERSIGN_ISSUER);
    expect(token.expirationSeconds).toBe(3600);
  });

  it('reads the token where the kubelet writes it', () => {
    const mount = worker.container.volumeMounts.find(({ name }) => name === 'identity');
    expect(workerFlags.get('--token-file')).toBe(`${mount?.mountPath}/${token.path}`);
  });

  it('asks at the Service’s address, over http that it is allowed by name', () => {
    const { name, namespace } = server.deployment.metadata;
    const service = `http://${name}.${namespace}.svc:8080`;
    expect(workerFlags.get('--token-endpoint')).toBe(`${service}/oauth/token`);
    expect(workerFlags.get('--jwks-uri')).toBe(`${service}/.well-known/jwks.json`);
    expect(workerFlags.has('--allow-insecure-endpoint')).toBe(true);
  });

  it('is alive and ready by /healthz', () => {
    expect(worker.container.livenessProbe.httpGet.path).toBe('/healthz');
    expect(worker.container.readinessProbe.httpGet.path).toBe('/healthz');
  });
});

describe('the right to read the cluster’s keys', () => {
  it('is the discovery role and nothing more, for requests without credentials', () => {
    expect(resourcesOf('rbac.yaml')).toHaveLength(1);
    expect(resourceOf('rbac.yaml', 'ClusterRoleBinding')).toMatchObject({
      roleRef: { kind: 'ClusterRole', name: 'system:service-account-issuer-discovery' },
      subjects: [{ kind: 'Group', name: 'system:unauthenticated' }],
    });
  });
});

describe('the image', () => {
  const dockerfile = read('k8s/Dockerfile');
  const instructions = dockerfile.split('\n').filter((line) => /^[A-Z]+ /.test(line));

  it('runs as a numeric user that is not root, the one of the manifests', () => {
    expect(instructions.filter((line) => line.startsWith('USER '))).toEqual(['USER 10001:10001']);
    const lastStage = instructions.slice(instructions.findLastIndex((line) => line.startsWith('FROM ')));
    expect(lastStage).toContain('USER 10001:10001');
  });

  it('runs the program by Node.js 24 itself, so that signals reach it', () => {
    expect(instructions).toContain('ARG NODE_IMAGE=node:24-bookworm-slim');
    expect(instructions).toContain('ENTRYPOINT ["node", "src/main.ts"]');
  });

  it('has neither development dependencies nor a second Node.js', () => {
    expect(dockerfile).toContain('npm ci --omit=dev --omit=optional --ignore-scripts');
  });

  it('copies only what .dockerignore lets through', () => {
    const ignored = read('.dockerignore')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'));
    expect(ignored[0]).toBe('*');
    const allowed = ignored.slice(1).map((line) => line.replace(/^!/, ''));
    const copied = instructions
      .filter((line) => line.startsWith('COPY ') && !line.includes('--from='))
      .flatMap((line) => line.split(' ').slice(1, -1));
    expect([...new Set(copied)].sort()).toEqual(allowed.sort());
  });
});
