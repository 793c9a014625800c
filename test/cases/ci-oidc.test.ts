/** Cases of the theme `ci-oidc`: the tokens of CI systems, whose subjects change and whose hosts are out of reach. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Claims, SUBJECT } from '../fixtures/assertions.ts';
import { type RunningServer, startServer } from '../fixtures/running-server.ts';
import { keyFetchCount } from './key-fetch-count.ts';
import { expectIssued, expectRefused } from './outcome.ts';
import { type PinnedIssuer, pinIssuer } from './pinned-issuer.ts';

let server: RunningServer;

beforeAll(async () => {
  server = await startServer();
  await server.createClient({ client_id: 'deployer' });
});
afterAll(() => server.close());

describe('CIO-01: the platform changed the form of its subjects', () => {
  const former = 'repo:org/app:ref:refs/heads/main';
  const current = 'repo:org@123456/app@456789:ref:refs/heads/main';

  it('CIO-01: the new form is refused until it is bound too, and the old one goes on working', async () => {
    const ci = await pinIssuer(server, 'https://token.ci.example.com', 'deployer', [former]);
    const present = (sub: string) => server.token(ci.assertion(sub).build());
    await expectIssued(server, await present(former));

    const refused = await present(current);
    await expectRefused(server, refused, 'subject_not_bound', `no binding for subject "${current}"`);
    expect(await server.auditOf(refused)).toMatchObject({ subject: current, trusted_issuer_id: ci.id });

    await server.addBinding({ trusted_issuer_id: ci.id, client_id: 'deployer', subject: current });
    expect(await expectIssued(server, await present(current))).toMatchObject({ workload: { subject: current } });
    await expectIssued(server, await present(former));
    await expectRefused(server, await present(current.replace('@456789', '@456780')), 'subject_not_bound');
  });
});

describe('CIO-03: the subject says the environment, and further claims say the branch', () => {
  const sub = 'repo:org/app:environment:Production';
  const claims = { ref: 'refs/heads/main', repository_id: '456789' };
  let ci: PinnedIssuer;

  beforeAll(async () => {
    ci = await pinIssuer(server, 'https://environments.ci.example.com', 'deployer');
    await server.addBinding({ trusted_issuer_id: ci.id, client_id: 'deployer', subject: sub, claims });
  });

  it('CIO-03: is accepted when the subject and all of them are exact', async () => {
    await expectIssued(server, await server.token(ci.assertion(sub, claims).build()));
  });

  it.each<[string, Claims, string, string]>([
    ['another branch', { ref: 'refs/heads/dev' }, 'ref', '"refs/heads/dev"'],
    ['a longer branch', { ref: 'refs/heads/main2' }, 'ref', '"refs/heads/main2"'],
    ['another repository', { repository_id: '456780' }, 'repository_id', '"456780"'],
    ['a number for a string', { repository_id: 456789 }, 'repository_id', '456789'],
    ['a list around it', { ref: ['refs/heads/main'] }, 'ref', '["refs/heads/main"]'],
    ['no branch', { ref: undefined }, 'ref', 'absent'],
  ])('CIO-03: %s is refused', async (_name, change, claim, presented) => {
    const answer = await server.token(ci.assertion(sub, { ...claims, ...change }).build());
    const wanted = JSON.stringify(claims[claim === 'ref' ? 'ref' : 'repository_id']);
    const detail = `claim ${claim} is ${presented}, the binding wants ${wanted}`;
    await expectRefused(server, answer, 'claim_condition_failed', detail);
  });

  it('CIO-03: another environment is refused although the claims hold', async () => {
    const other = 'repo:org/app:environment:production';
    await expectRefused(server, await server.token(ci.assertion(other, claims).build()), 'subject_not_bound');
  });
});

describe('CIO-05: a CI system that can not be reached', () => {
  it('CIO-05: works with pasted keys, without any traffic, and its issuer is still compared', async () => {
    const ci = await pinIssuer(server, 'https://gitlab.internal.example.com', 'deployer', [SUBJECT]);
    await expectIssued(server, await server.token(ci.assertion(SUBJECT).build()));
    const other = ci.assertion(SUBJECT, { iss: 'https://gitlab.example.com' });
    await expectRefused(server, await server.token(other.build()), 'issuer_not_trusted');
    const unknownKey = ci.assertion(SUBJECT).withHeader({ kid: 'k2' });
    await expectRefused(server, await server.token(unknownKey.build()), 'kid_unknown');
    expect(await keyFetchCount(server)).toBe(0);
  });
});
