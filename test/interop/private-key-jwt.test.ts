import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AssertionBuilder } from '../fixtures/assertions.ts';
import { P256, P256_B, publicJwk } from '../fixtures/keys.ts';
import type { RunningServer } from '../fixtures/running-server.ts';
import { CLIENT_KID, type ReachableServer, startReachableServer } from './reachable-server.ts';

let reachable: ReachableServer;
let server: RunningServer;

beforeAll(async () => {
  reachable = await startReachableServer();
  ({ server } = reachable);
});
afterAll(() => server.close());

/** The valid case: what the client `with-key` says of itself, for five minutes. */
function anOwnAssertion(): AssertionBuilder {
  const now = server.clock();
  return new AssertionBuilder(
    { alg: 'ES256', kid: CLIENT_KID },
    {
      iss: 'with-key',
      sub: 'with-key',
      aud: reachable.issuer,
      iat: now,
      exp: now + 300,
      jti: crypto.randomUUID(),
    },
    P256,
  );
}

async function reasonOf(assertion: string, fields: Readonly<Record<string, string>> = {}): Promise<string | null> {
  const answer = await server.token(assertion, fields);
  if (answer.status === 200) return null;
  expect(answer).toMatchObject({ status: 400, json: { error: 'invalid_client' } });
  return (await server.auditOf(answer)).reason;
}

const ahead = (seconds: number) => server.clock() + seconds;

describe('private_key_jwt', () => {
  it('gives a token to the client itself, without any workload', async () => {
    const { status, json } = await server.token(anOwnAssertion().build());
    expect(status).toBe(200);
    const claims = decodeJwt(String(json.access_token));
    expect(claims).toMatchObject({ sub: 'with-key', client_id: 'with-key', exp: ahead(900) });
    expect(claims).not.toHaveProperty('workload');
  });

  it.each<[string, () => AssertionBuilder, Readonly<Record<string, string>>?]>([
    ['with its client_id in the form', () => anOwnAssertion(), { client_id: 'with-key' }],
    ['with the audience in a list', () => anOwnAssertion().with({ aud: [reachable.issuer] })],
    ['with typ JWT', () => anOwnAssertion().withHeader({ typ: 'JWT' })],
    ['without a kid, as the client has one key', () => anOwnAssertion().withHeader({ kid: undefined })],
    ['without an iat, which RFC 7523 leaves to the client', () => anOwnAssertion().without('iat')],
    ['without a jti, which the signing input stands in for', () => anOwnAssertion().without('jti')],
  ])('is accepted %s', async (_name, assertion, fields = {}) => {
    expect(await reasonOf(assertion().build(), fields)).toBeNull();
  });

  it.each<[string, () => AssertionBuilder, string, Readonly<Record<string, string>>?]>([
    ['for another server', () => anOwnAssertion().with({ aud: 'https://other.example.com' }), 'aud_mismatch'],
    [
      'for our token endpoint, which is not our issuer identifier',
      () => anOwnAssertion().with({ aud: `${reachable.issuer}/oauth/token` }),
      'aud_mismatch',
    ],
    [
      'for us and somebody else, who could use it here',
      () => anOwnAssertion().with({ aud: [reachable.issuer, 'https://other.example.com'] }),
      'aud_not_sole',
    ],
    ['without an audience', () => anOwnAssertion().without('aud'), 'aud_missing'],
    ['for longer than 300 seconds', () => anOwnAssertion().with({ exp: ahead(301) }), 'lifetime_too_long'],
    ['without an end', () => anOwnAssertion().without('exp'), 'time_claim_missing'],
    [
      'for longer than 300 seconds from now, without saying since when',
      () =>
        anOwnAssertion()
          .without('iat')
          .with({ exp: ahead(301) }),
      'lifetime_too_long',
    ],
    ['that has expired', () => anOwnAssertion().with({ iat: ahead(-361), exp: ahead(-61) }), 'expired'],
    ['from the future', () => anOwnAssertion().with({ iat: ahead(61), exp: ahead(301) }), 'not_yet_valid'],
    ['whose sub is another client', () => anOwnAssertion().with({ sub: 'with-secret' }), 'subject_not_bound'],
    ['without a sub', () => anOwnAssertion().without('sub'), 'sub_missing'],
    [
      'whose iss is a client without keys',
      () => anOwnAssertion().with({ iss: 'with-secret', sub: 'with-secret' }),
      'issuer_not_trusted',
    ],
    ['whose iss is nobody', () => anOwnAssertion().with({ iss: 'nobody', sub: 'nobody' }), 'issuer_not_trusted'],
    [
      'whose iss is our own issuer identifier',
      () => anOwnAssertion().with({ iss: reachable.issuer }),
      'issuer_not_trusted',
    ],
    ['signed with another key', () => anOwnAssertion().signedBy(P256_B), 'signature_invalid'],
    ['with an unknown kid', () => anOwnAssertion().withHeader({ kid: 'another' }), 'kid_unknown'],
    ['with an algorithm of secrets', () => anOwnAssertion().withHeader({ alg: 'HS256' }), 'alg_not_allowed'],
    [
      'with its own key in the header',
      () => anOwnAssertion().withHeader({ jwk: publicJwk(P256) }),
      'header_member_forbidden',
    ],
    ['for another client than the form names', () => anOwnAssertion(), 'client_mismatch', { client_id: 'with-secret' }],
  ])('is refused %s', async (_name, assertion, reason, fields = {}) => {
    expect(await reasonOf(assertion().build(), fields)).toBe(reason);
  });

  it('is used up by the first request', async () => {
    const assertion = anOwnAssertion().build();
    expect(await reasonOf(assertion)).toBeNull();
    expect(await reasonOf(assertion)).toBe('replayed');
  });

  it('is not believed for the client of a workload', async () => {
    const assertion = reachable.assertion().with({ iss: 'with-key', sub: 'with-key' }).withHeader({ kid: CLIENT_KID });
    expect(await reasonOf(assertion.build())).not.toBeNull();
  });
});

describe('a change of the client counts from the next request on:', () => {
  const update = (params: Readonly<Record<string, unknown>>) =>
    server.admin('mutation ($params: UpdateClientRequest!) { _update_client(params: $params) { id } }', {
      id: reachable.idOf('with-key'),
      ...params,
    });

  it('its keys', async () => {
    await update({ jwks: JSON.stringify({ keys: [publicJwk(P256_B, { kid: 'client-key-2', alg: 'ES256' })] }) });
    expect(await reasonOf(anOwnAssertion().build())).toBe('kid_unknown');
    const next = anOwnAssertion().withHeader({ kid: 'client-key-2' }).signedBy(P256_B);
    expect(await reasonOf(next.build())).toBeNull();
  });

  it('its activity', async () => {
    const assertion = () => anOwnAssertion().withHeader({ kid: 'client-key-2' }).signedBy(P256_B).build();
    await update({ is_active: false });
    expect(await reasonOf(assertion())).toBe('client_disabled');
    await update({ is_active: true });
    expect(await reasonOf(assertion())).toBeNull();
  });
});
