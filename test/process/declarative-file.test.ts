/** The declarative file in real processes: SIGHUP, several workers under one primary, and a look before a start. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AUDIENCE, CLUSTER_ISSUER, KID, SUBJECT } from '../fixtures/assertions.ts';
import { publicJwk, RSA_A } from '../fixtures/keys.ts';
import { currentAssertion, killAll, runCommand, ServerProcess } from './command-line.ts';

const JWKS = JSON.stringify({ keys: [publicJwk(RSA_A, { kid: KID, alg: 'RS256', use: 'sig' })] });
const FLEET = `settings: { log_level: debug, issuer: ${AUDIENCE} }
clients:
  - { client_id: edge-worker, allowed_scopes: [read] }
trusted_issuers:
  - name: prod-eks
    issuer_url: ${CLUSTER_ISSUER}
    issuer_type: kubernetes_sa
    jwks: '${JWKS}'
    bindings:
      - { client: edge-worker, subject: "${SUBJECT}" }
`;
const CUT = FLEET.replace('    bindings', '    is_active: false\n    bindings');

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'countersign-declared-'));
});
afterAll(async () => {
  killAll();
  await rm(folder, { recursive: true });
});

/** A folder of its own with the file in it. */
async function folderWith(text: string): Promise<string> {
  const path = await mkdtemp(join(folder, 'server-'));
  await writeFile(join(path, 'fleet.yaml'), text);
  return path;
}
const statusOf = async (server: ServerProcess) => (await server.token(currentAssertion().build())).status;

it.each([['1'], ['2']])('SIGHUP has it read again, with %s workers', async (workers) => {
  const path = await folderWith(FLEET);
  const server = await ServerProcess.start(path, ['--config', 'fleet.yaml'], { COUNTERSIGN_WORKERS: workers });
  expect(await statusOf(server)).toBe(200);
  expect(server.log).toContainEqual(
    expect.objectContaining({
      message: 'declarative file applied',
      file: 'fleet.yaml',
      created: 3,
      updated: 0,
      deleted: 0,
    }),
  );
  await writeFile(join(path, 'fleet.yaml'), CUT);
  server.signal('SIGHUP');
  await expect.poll(() => statusOf(server), { timeout: 10_000 }).toBe(400);

  await writeFile(join(path, 'fleet.yaml'), 'clients: [');
  server.signal('SIGHUP');
  await expect.poll(() => server.log.map(({ message }) => message)).toContain('declarative file refused');
  const metrics = async () => await (await fetch(`${server.url}/metrics`, { headers: { connection: 'close' } })).text();
  expect(await metrics()).toContain('countersign_declaration_refused 1');

  await writeFile(join(path, 'fleet.yaml'), FLEET);
  server.signal('SIGHUP');
  await expect.poll(() => statusOf(server), { timeout: 10_000 }).toBe(200);
  server.signal('SIGTERM');
  expect(await server.ended()).toBe(0);
});

describe('countersign check --config', () => {
  it('says what a start would change, and changes nothing', async () => {
    const path = await folderWith(FLEET);
    const { code, stdout } = await runCommand(path, ['check', '--config', 'fleet.yaml']);
    expect(code).toBe(0);
    expect(stdout.split('\n')).toEqual(
      expect.arrayContaining([
        'database    sqlite:data/countersign.db, not there yet: the first start makes it',
        'file        fleet.yaml, rows that would change: 3',
        '            + client edge-worker',
        '            + trusted_issuer prod-eks',
        `            + workload_binding ${SUBJECT}`,
        'the configuration is good',
      ]),
    );
  });

  it('holds the file against the rows that are there', async () => {
    const path = await folderWith(FLEET);
    const server = await ServerProcess.start(path, ['--config', 'fleet.yaml']);
    const check = () => runCommand(path, ['check', '--config', 'fleet.yaml']);
    expect((await check()).stdout).toContain('file        fleet.yaml, in force as it is\n');
    server.signal('SIGTERM');
    await server.ended();
    await writeFile(
      join(path, 'fleet.yaml'),
      CUT.replace('edge-worker, allowed', 'edge, allowed').replace('client: edge-worker', 'client: edge'),
    );
    expect((await check()).stdout).toContain(
      [
        'file        fleet.yaml, rows that would change: 5',
        '            - client edge-worker',
        '            + client edge',
        '            ~ trusted_issuer prod-eks',
        `            - workload_binding ${SUBJECT}`,
        `            + workload_binding ${SUBJECT}`,
      ].join('\n'),
    );
  });

  it('and serve name every mistake, and end', async () => {
    const path = await folderWith(FLEET.replace('prod-eks', 'Prod').replace('jwks:', 'jwks_text:'));
    const mistakes = [
      'fleet.yaml:5: trusted_issuers.0.name must be 1 to 40 of the characters a-z, 0-9 and -',
      'fleet.yaml:8: trusted_issuers.0.jwks_text unknown field',
      '',
    ].join('\n');
    for (const command of ['check', 'serve']) {
      const environment = { COUNTERSIGN_LISTEN: '127.0.0.1:0', COUNTERSIGN_WORKERS: '2' };
      expect(await runCommand(path, [command, '--config', 'fleet.yaml'], environment)).toMatchObject({
        code: 2,
        stderr: mistakes,
      });
    }
  });

  it('names settings of the file that can not be used', async () => {
    const path = await folderWith(FLEET.replace('debug', 'loud'));
    const { code, stderr } = await runCommand(path, ['check', '--config', 'fleet.yaml']);
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr:
        'settings.log_level is not a log level: set it to one of fatal, error, warn, info, debug, trace, silent\n',
    });
  });
});
