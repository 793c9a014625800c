/** Where a credential of ours may go: what the operator's files say, whatever a row says. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { serversOfCredential, withServersOfCredentials } from '../../src/kubernetes/credential-servers.ts';
import { CLUSTER } from '../fixtures/rows.ts';

const folder = mkdtempSync(join(tmpdir(), 'credential-servers-'));
afterAll(() => rmSync(folder, { recursive: true }));
const OPTIONS = { folder, inClusterApiServers: ['https://10.96.0.1:443', 'https://kubernetes.default.svc'] };
const KUBECONFIG = `apiVersion: v1
kind: Config
current-context: east
contexts:
  - { name: west, context: { cluster: w, user: u } }
  - { name: east, context: { cluster: e, user: u } }
clusters:
  - { name: w, cluster: { server: "https://west.example.com" } }
  - { name: e, cluster: { server: "https://east.example.com:6443" } }
users: [{ name: u, user: { token: t } }]
`;
writeFileSync(join(folder, 'kubeconfig'), KUBECONFIG);
writeFileSync(join(folder, 'token'), 'a.b.c');
writeFileSync(join(folder, 'bound'), 'a.b.c');
writeFileSync(join(folder, 'bound.server'), 'https://one.example.com\nhttps://two.example.com\n');

describe('the servers of a credential', () => {
  it.each<[string, string | null, readonly string[]]>([
    ['of the own pod are those of its cluster', null, OPTIONS.inClusterApiServers],
    ['in a kubeconfig are that of its current context', 'kubeconfig', ['https://east.example.com:6443']],
    [
      'in a token file are those of the file beside it',
      'bound',
      ['https://one.example.com', 'https://two.example.com'],
    ],
    ['in a token file alone are none', 'token', []],
    ['that is not there are none', 'nowhere', []],
  ])('%s', async (_title, name, servers) => {
    expect(await serversOfCredential(name, OPTIONS)).toEqual(servers);
  });

  it('are none where there is no folder', async () => {
    expect(await serversOfCredential('bound', { ...OPTIONS, folder: null })).toEqual([]);
  });
});

describe('a review', () => {
  const asked: string[] = [];
  const reviews = withServersOfCredentials(
    {
      async review({ kubernetesApiServerUrl }) {
        asked.push(String(kubernetesApiServerUrl));
        return { kind: 'denied', detail: 'asked' };
      },
    },
    OPTIONS,
  );
  const ask = (name: string | null, url: string | null) =>
    reviews.review({ ...CLUSTER, kubernetesApiServerCredential: name, kubernetesApiServerUrl: url }, 'assertion');

  it.each<[string | null, string]>([
    ['kubeconfig', 'https://east.example.com:6443'],
    ['kubeconfig', 'https://EAST.example.com:6443/k8s/clusters/c-1'],
    ['bound', 'https://two.example.com'],
    ['bound', 'https://two.example.com:443/'],
    [null, 'https://10.96.0.1'],
    [null, 'https://kubernetes.default.svc'],
  ])('with %s goes to %s', async (name, url) => {
    expect(await ask(name, url)).toEqual({ kind: 'denied', detail: 'asked' });
    expect(asked.at(-1)).toBe(url);
  });

  it.each<[string | null, string | null]>([
    ['kubeconfig', 'https://west.example.com'],
    ['kubeconfig', 'https://east.example.com'],
    ['kubeconfig', 'https://east.example.com.attacker.example:6443'],
    ['kubeconfig', 'https://east.example.com:6443@attacker.example'],
    ['bound', 'http://two.example.com'],
    ['token', 'https://attacker.example'],
    [null, 'https://attacker.example'],
    [null, null],
  ])('with %s never goes to %s', async (name, url) => {
    const before = asked.length;
    expect(await ask(name, url)).toMatchObject({ kind: 'unavailable', retryAfterSeconds: 30 });
    expect(asked).toHaveLength(before);
  });
});
