/**
 * The whole story on loopback, with real parts: a cluster's token, an admin, a workload without any secret, its token,
 * a protected API; then five forgeries that all get the same answer, each with its true reason in the audit log.
 * Exits 0 only if every step held.
 */
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mountKubeletVolume } from '../test/fixtures/kubelet-volume.ts';
import { runCommand, ServerProcess } from './server-process.ts';
import { StandInCluster } from './stand-in-cluster.ts';

type Row = { readonly id: string };
type AuditRow = { readonly outcome: string; readonly reason: string | null; readonly metadata: string };

let stepNumber = 0;
/** One step: a line when it held, an end of the demo when not. The step answers what the line adds. */
async function step<T>(what: string, perform: () => Promise<T>, added: (value: T) => string = () => ''): Promise<T> {
  stepNumber += 1;
  try {
    const value = await perform();
    const more = added(value);
    process.stdout.write(`ok   ${String(stepNumber).padStart(2)}. ${what}${more === '' ? '' : `: ${more}`}\n`);
    return value;
  } catch (error) {
    process.stdout.write(`FAIL ${String(stepNumber).padStart(2)}. ${what}\n`);
    throw error;
  }
}

async function play(folder: string, ends: (() => unknown)[]): Promise<void> {
  const cluster = await step(
    'a stand-in cluster issues ServiceAccount tokens',
    () => StandInCluster.start(),
    ({ issuer }) => issuer,
  );
  ends.push(() => cluster.stop());
  const server = await step(
    'the server starts on an empty SQLite database',
    () => ServerProcess.start(join(folder, 'data')),
    ({ issuer }) => issuer,
  );
  ends.push(() => server.stop());

  const client = await step(
    'an admin creates a client, without a secret',
    async () => {
      const created = await server.graphql<{ client: Row & { client_id: string }; client_secret: string | null }>(
        'mutation ($params: CreateClientRequest!) { _create_client(params: $params) { client { id client_id } client_secret } }',
        { name: 'Demo worker', client_id: 'demo-worker', allowed_scopes: ['hello:read'] },
      );
      assert.equal(created.client_secret, null);
      return created.client;
    },
    ({ client_id }) => client_id,
  );
  const issuer = await step(
    'and trusts the cluster',
    () =>
      server.graphql<Row>(
        'mutation ($params: AddTrustedIssuerRequest!) { _add_trusted_issuer(params: $params) { id } }',
        {
          name: 'demo cluster',
          issuer_url: cluster.issuer,
          issuer_type: 'kubernetes_sa',
          key_source_type: 'oidc_discovery',
          allow_private_network: true,
        },
      ),
    ({ id }) => `trusted issuer ${id}`,
  );
  const subject = 'system:serviceaccount:demo:worker';
  await step(
    'and binds one service account to the client',
    () =>
      server.graphql<Row>(
        'mutation ($params: AddWorkloadBindingRequest!) { _add_workload_binding(params: $params) { id } }',
        {
          trusted_issuer_id: issuer.id,
          client_id: client.id,
          subject,
        },
      ),
    () => subject,
  );

  const volume = await step('the kubelet mounts a token and rotates it', async () => {
    const mounted = await mountKubeletVolume(join(folder, 'token-volume'));
    await mounted.write(cluster.mint({ audience: server.issuer }));
    await mounted.write(cluster.mint({ audience: server.issuer }));
    return mounted;
  });
  await step(
    'the worker gets an access token and calls GET /hello',
    async () => {
      const worker = await runCommand([
        'worker',
        '--once',
        '--issuer',
        server.issuer,
        '--token-file',
        volume.tokenPath,
        '--scope',
        'hello:read',
      ]);
      assert.equal(worker.code, 0, worker.output);
      return worker.output.trim().split('\n').at(-1) ?? '';
    },
    (line) => line,
  );

  const used = await readFile(volume.tokenPath, 'utf8');
  const mallory = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
  const audience = server.issuer;
  const forgeries = [
    ['a replayed assertion', used, 'replayed'],
    ['an assertion for another audience', cluster.mint({ audience: 'https://other.example.com' }), 'aud_mismatch'],
    ['an unlisted service account', cluster.mint({ audience, serviceAccount: 'intruder' }), 'subject_not_bound'],
    ['an unknown issuer', cluster.mint({ audience, issuer: 'https://evil.example.com' }), 'issuer_not_trusted'],
    ['a forged signature', cluster.mint({ audience, signedBy: mallory }), 'signature_invalid'],
  ] as const;
  const answers = new Set<string>();
  for (const [what, assertion, reason] of forgeries) {
    await step(
      `${what} is refused`,
      async () => {
        const { answer, requestId } = await requestToken(server.issuer, assertion);
        answers.add(answer);
        const row = await auditRow(server, requestId);
        assert.equal(row.reason, reason);
        return `${row.reason} (${String(JSON.parse(row.metadata).detail).slice(0, 90)})`;
      },
      (reason) => `audit log says ${reason}`,
    );
  }
  await step(
    'all five got the same answer, byte for byte',
    async () => {
      assert.equal(answers.size, 1, [...answers].join('\n'));
      return [...answers][0] ?? '';
    },
    (answer) => answer,
  );
  await step('the server drains and ends', async () => assert.equal(await server.stop(), 0));
}

async function requestToken(issuer: string, assertion: string) {
  const response = await fetch(`${issuer}/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: assertion,
    }),
  });
  return { answer: `${response.status} ${await response.text()}`, requestId: response.headers.get('x-request-id') };
}

async function auditRow(server: ServerProcess, requestId: string | null): Promise<AuditRow> {
  const { audit_logs } = await server.graphql<{ audit_logs: AuditRow[] }>(
    'query ($params: ListAuditLogRequest) { _audit_logs(params: $params) { audit_logs { outcome reason metadata } } }',
    { request_id: requestId },
  );
  const [row] = audit_logs;
  assert.ok(row, 'no audit record');
  return row;
}

const folder = await mkdtemp(join(tmpdir(), 'countersign-demo-'));
const ends: (() => unknown)[] = [() => rm(folder, { recursive: true })];
try {
  await play(folder, ends);
  process.stdout.write('every step held\n');
} catch (error) {
  process.stdout.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
} finally {
  for (const end of ends.reverse()) await end();
}
