/** Cases of the theme `leak-oracle`: the log holds no credential, and an answer does not say which one was wrong. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { KID, SUBJECT } from '../fixtures/assertions.ts';
import { RSA_B } from '../fixtures/keys.ts';
import {
  type Answer,
  ASSERTION_TYPE,
  freshAssertion,
  type RunningServer,
  startServer,
} from '../fixtures/running-server.ts';
import { expectIssued, expectRefused } from './outcome.ts';
import { evidenceOf } from './request-error.ts';

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const SECRET = 'hunter2-hunter2-hunter2';

let server: RunningServer;
let clientSecret: string;

beforeAll(async () => {
  server = await startServer({ logLevel: 'trace' });
  await server.trustCluster();
  clientSecret = String((await server.createClient({ client_id: 'batch', with_client_secret: true })).client_secret);
});
afterAll(() => server.close());

const grant = { grant_type: 'client_credentials' };
const basic = (id: string, secret: string) => ({
  authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
});

describe('LEK-01: the log at its most talkative', () => {
  it('LEK-01: has no assertion, no signature, no Authorization header and no secret in it', async () => {
    const assertions = [freshAssertion().build(), freshAssertion().build(), freshAssertion().signedBy(RSA_B).build()];
    const [first = '', second = '', forged = ''] = assertions;
    const withAssertion = (client_assertion: string) => ({ client_assertion_type: ASSERTION_TYPE, client_assertion });

    const issued = await server.token(first);
    await expectIssued(server, issued);
    const token = String(issued.json.access_token);
    const answers = [
      await server.post('/oauth/introspect', { token, ...withAssertion(second) }),
      await server.post('/oauth/revoke', { token, ...withAssertion(freshAssertion().build()) }),
      await server.post('/oauth/revoke', { token, ...withAssertion(forged) }),
      await server.post('/oauth/introspect', { token, client_id: 'batch', client_secret: SECRET }),
      await server.post('/oauth/token', grant, basic('batch', SECRET)),
      await server.post('/oauth/token', grant, { authorization: `Bearer ${token}` }),
      await server.post('/oauth/token', grant, basic('batch', clientSecret)),
      await server.send('POST', '/oauth/token', { headers: FORM, body: `client_assertion=${first}%ZZ` }),
      await server.send('POST', '/oauth/token', {
        headers: { 'content-type': 'application/json' },
        body: `{"a":"${first}`,
      }),
      await server.send('GET', `/oauth/token?client_assertion=${first}`),
      await server.send('GET', `/nowhere/${first}`),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 400, 400, 401, 401, 200, 400, 400, 405, 404]);

    const segments = [...assertions, token].flatMap((jwt) => jwt.split('.').slice(1));
    const headers = [basic('batch', SECRET), basic('batch', clientSecret)].map(({ authorization }) =>
      authorization.slice(6),
    );
    const log = server.logLines.join('');
    expect(log).toContain('decided');
    for (const secret of [...segments, ...headers, SECRET, clientSecret, 'an-admin-secret-for-tests']) {
      expect(log).not.toContain(secret);
    }
  });

  it('LEK-01: instead, the audit log names an assertion by digest, kid, issuer and subject', async () => {
    const answer = await server.token(freshAssertion().signedBy(RSA_B).build());
    await expectRefused(server, answer, 'signature_invalid');
    const row = await server.auditOf(answer);
    expect(row.subject).toBe(SUBJECT);
    expect(evidenceOf(row)).toMatchObject({
      iss: freshAssertion().claims.iss,
      kid: KID,
      assertion_sha256: expect.stringMatching(/^[0-9a-f]{16}$/),
    });
    expect(server.logLines.some((line) => line.includes(row.request_id) && line.includes('signature_invalid'))).toBe(
      true,
    );
  });
});

describe('LEK-03: nobody learns which clients, issuers or subjects there are', () => {
  const withSecret = (client_id: string) => server.post('/oauth/token', { ...grant, client_id, client_secret: SECRET });
  const requests: readonly [string, () => Promise<Answer>][] = [
    ['client_unknown', () => withSecret('nobody')],
    ['client_secret_invalid', () => withSecret('batch')],
    ['client_secret_invalid', () => withSecret('edge-worker')],
    ['signature_invalid', () => server.token(freshAssertion().signedBy(RSA_B).build(), { client_id: 'edge-worker' })],
    ['issuer_not_trusted', () => server.token(freshAssertion().with({ iss: 'https://nobody.example' }).build())],
    [
      'subject_not_bound',
      () => {
        const [, account] = ['kubernetes.io', { namespace: 'a', serviceaccount: { name: 'b', uid: 'c' } }];
        const claims = { sub: 'system:serviceaccount:a:b', 'kubernetes.io': account };
        return server.token(freshAssertion().with(claims).build());
      },
    ],
  ];

  it('LEK-03: all answers are one, and the audit log tells them apart', async () => {
    const visible: unknown[] = [];
    for (const [reason, send] of requests) {
      const answer = await send();
      await expectRefused(server, answer, reason);
      const { date: _date, 'x-request-id': _id, ...headers } = answer.headers;
      visible.push({ status: answer.status, text: answer.text, headers });
    }
    expect(new Set(visible.map((answer) => JSON.stringify(answer))).size).toBe(1);
  });

  it('LEK-03: an unknown client takes as long as a known one with a wrong secret', async () => {
    const milliseconds = { nobody: [] as number[], batch: [] as number[] };
    const pair = ['nobody', 'batch'] as const;
    for (let round = 0; round < 60; round += 1) {
      for (const client of round % 2 === 0 ? pair : pair.toReversed()) {
        const startedAt = performance.now();
        await withSecret(client);
        milliseconds[client].push(performance.now() - startedAt);
      }
    }
    // The fast tenth: on a busy machine the median says more about its neighbours.
    const typical = (values: number[]) => values.toSorted((a, b) => a - b)[values.length / 10] ?? Number.NaN;
    const ratio = typical(milliseconds.nobody) / typical(milliseconds.batch);
    expect(ratio).toBeGreaterThan(0.7);
    expect(ratio).toBeLessThan(1.4);
  });
});
