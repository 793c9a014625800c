/** Cases of the theme `audience`: for whom an assertion was made is compared with configuration and nothing else. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AUDIENCE } from '../fixtures/assertions.ts';
import { ASSERTION_TYPE, freshAssertion, type RunningServer, startServer } from '../fixtures/running-server.ts';
import { expectIssued, expectRefused } from './outcome.ts';
import { type PinnedIssuer, pinIssuer } from './pinned-issuer.ts';

const TOKEN_ENDPOINT = `${AUDIENCE}/oauth/token`;

let server: RunningServer;
let tenant: PinnedIssuer;

beforeAll(async () => {
  server = await startServer();
  await server.trustCluster();
  tenant = await pinIssuer(server, 'https://tenant.example.com', 'edge-worker', ['job'], {
    fields: { expected_aud: ['https://tenant-audience.example.com', TOKEN_ENDPOINT] },
  });
});
afterAll(() => server.close());

const withAudience = (audience: string) => {
  const { aud: _aud, ...claims } = freshAssertion().claims;
  return freshAssertion().build({ claimsText: `{"aud":${audience},${JSON.stringify(claims).slice(1)}` });
};

const post = (assertion: string, headers: Readonly<Record<string, string>>) =>
  server.post(
    '/oauth/token',
    { grant_type: 'client_credentials', client_assertion_type: ASSERTION_TYPE, client_assertion: assertion },
    headers,
  );

describe('AUD-01: the audience is compared with what is configured, never with itself', () => {
  it('AUD-01: an audience of somebody else is refused, however good the signature', async () => {
    const answer = await server.token(withAudience('["https://other.example.com"]'));
    await expectRefused(
      server,
      answer,
      'aud_mismatch',
      'aud is "https://other.example.com", expected "https://as.example.com"',
    );
  });

  it('AUD-01: the setting has an effect: what one issuer’s row expects is refused in the other’s', async () => {
    const audience = 'https://tenant-audience.example.com';
    await expectIssued(server, await server.token(tenant.assertion('job', { aud: audience }).build()));
    await expectRefused(
      server,
      await server.token(tenant.assertion('job').build()),
      'aud_mismatch',
      `aud is "${AUDIENCE}", expected "${audience}", "${TOKEN_ENDPOINT}"`,
    );
    await expectRefused(server, await server.token(withAudience(JSON.stringify(audience))), 'aud_mismatch');
  });
});

describe('AUD-02: aud is a string or an array of strings', () => {
  it.each(['"https://as.example.com"', '["https://as.example.com"]'])('AUD-02: %s is accepted', async (audience) => {
    await expectIssued(server, await server.token(withAudience(audience)));
  });

  it.each([
    ['[]', 'aud_missing'],
    ['null', 'aud_missing'],
    ['123', 'aud_missing'],
    ['{}', 'aud_missing'],
    ['""', 'aud_missing'],
    ['[["https://as.example.com"]]', 'aud_missing'],
    ['["https://as.example.com",5]', 'aud_missing'],
    ['"https://as.example.com/"', 'aud_mismatch'],
    ['"HTTPS://as.example.com"', 'aud_mismatch'],
    ['["https://as.example.com","https://other.example.com"]', 'aud_not_sole'],
  ])('AUD-02: %s is refused as %s', async (audience, reason) => {
    await expectRefused(server, await server.token(withAudience(audience)), reason);
  });

  it('AUD-02: a missing one is refused as aud_missing', async () => {
    await expectRefused(server, await server.token(freshAssertion().without('aud').build()), 'aud_missing');
  });
});

describe('AUD-04: the token endpoint is no audience, unless a row says so', () => {
  it('AUD-04: it is refused by default', async () => {
    const answer = await server.token(withAudience(JSON.stringify(TOKEN_ENDPOINT)));
    await expectRefused(server, answer, 'aud_mismatch', `aud is "${TOKEN_ENDPOINT}", expected "${AUDIENCE}"`);
  });

  it('AUD-04: a row that expects it accepts it', async () => {
    await expectIssued(server, await server.token(tenant.assertion('job', { aud: TOKEN_ENDPOINT }).build()));
  });

  it('AUD-04: no header of the request makes an audience', async () => {
    const headers = { host: 'evil.example', 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https' };
    for (const audience of ['https://evil.example', 'https://evil.example/oauth/token', 'http://evil.example']) {
      await expectRefused(server, await post(withAudience(JSON.stringify(audience)), headers), 'aud_mismatch');
    }
  });
});

describe('AUD-05: the audience is our public name, whatever address the caller used', () => {
  const internal = { host: 'as.ns.svc' };

  it('AUD-05: a POST to the internal service is accepted with the public audience', async () => {
    const answer = await post(withAudience('["https://as.example.com"]'), internal);
    expect(await expectIssued(server, answer)).toMatchObject({ iss: AUDIENCE, aud: AUDIENCE });
  });

  it('AUD-05: the internal address as audience is refused, and the audit log names the expected one', async () => {
    const answer = await post(withAudience('"http://as.ns.svc:8080"'), internal);
    const detail = 'aud is "http://as.ns.svc:8080", expected "https://as.example.com"';
    expect(await expectRefused(server, answer, 'aud_mismatch', detail)).toMatchObject({
      hint: "Set the volume's audience to the expected value, or expected_aud to what the platform sends.",
    });
  });
});

describe('AUD-07: a CI token without any audience', () => {
  const sub = 'project_path:g/p:ref_type:branch:ref:main';

  it('AUD-07: is refused, and accepted with one', async () => {
    const gitlab = await pinIssuer(server, 'https://gitlab.example.com', 'edge-worker', [sub]);
    const old = gitlab.assertion(sub).without('jti', 'iat');
    const answer = await server.token(old.without('aud').build());
    const detail = 'aud is missing, empty or not made of strings';
    expect(await expectRefused(server, answer, 'aud_missing', detail)).toMatchObject({ iss: gitlab.url });
    expect(await expectIssued(server, await server.token(old.build()))).toMatchObject({ workload: { subject: sub } });
  });
});
