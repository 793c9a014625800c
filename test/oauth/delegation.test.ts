/** Exchange with an actor (RFC 8693 §4.1), and exchange of our own access tokens: what has to be allowed, and what it gives. */
import { decodeJwt } from 'jose';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { WorkloadBinding } from '../../src/assertion/workload-binding.ts';
import type { Client } from '../../src/issuance/client.ts';
import { type AssertionBuilder, AUDIENCE, CLUSTER_ISSUER, SUBJECT } from '../fixtures/assertions.ts';
import { RSA_B } from '../fixtures/keys.ts';
import { BINDING, CLIENT, CLUSTER, DENIAL, PROVIDER } from '../fixtures/rows.ts';
import { ASSERTION_TYPE, freshAssertion } from '../fixtures/running-server.ts';
import { NOW } from '../fixtures/settable-clock.ts';
import { type ExchangeAnswer, type ExchangeServer, startExchangeServer } from './exchange-server.ts';

const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
const JWT = 'urn:ietf:params:oauth:token-type:jwt';
const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token';
const API = 'https://api.example.com';
const REFUSAL = '{"error":"invalid_request","error_description":"the tokens of the exchange are not accepted"}';

type Fields = Readonly<Record<string, string>>;

/** A workload of the CI provider with a client of its own: an actor, as far as a binding lets it be one. */
const actorClient = (name: string): Client => ({ ...CLIENT, id: `row-of-${name}`, clientId: name });
const actorBinding = (name: string): WorkloadBinding => ({
  ...BINDING,
  id: `binding-of-${name}`,
  trustedIssuerId: PROVIDER.id,
  clientRowId: `row-of-${name}`,
  subject: `job:${name}`,
});
const ACTORS = ['agent', 'second', 'third', 'fourth', 'fifth', 'stranger'] as const;

let server: ExchangeServer;

beforeEach(async () => {
  server = await startExchangeServer({
    clients: [CLIENT, ...ACTORS.map(actorClient)],
    issuers: [CLUSTER, PROVIDER],
    bindings: [
      {
        ...BINDING,
        tokenClaims: { runner_id: '{issuer.name}/{kubernetes.node.name}' },
        allowedActors: ACTORS.filter((name) => name !== 'stranger').map((name) => `row-of-${name}`),
      },
      ...ACTORS.map(actorBinding),
    ],
    denied: [],
  });
});
afterEach(() => server.close());

const anActor = (name: string): AssertionBuilder =>
  freshAssertion()
    .with({ iss: PROVIDER.issuerUrl, sub: `job:${name}` })
    .without('kubernetes.io');

const exchange = (subject: string, fields: Fields = {}): Promise<ExchangeAnswer> =>
  server.post('/oauth/token', {
    grant_type: TOKEN_EXCHANGE,
    subject_token: subject,
    subject_token_type: JWT,
    ...fields,
  });
const withActor = (actor: string): Fields => ({ actor_token: actor, actor_token_type: JWT });
const claimsOf = ({ json, text }: ExchangeAnswer) => {
  expect(json.access_token, text).toEqual(expect.any(String));
  return decodeJwt(String(json.access_token));
};
/** The client of the subject, by an assertion of its workload. */
const asClient = (): Fields => ({ client_assertion_type: ASSERTION_TYPE, client_assertion: freshAssertion().build() });
const isActive = async (token: string): Promise<unknown> =>
  (await server.post('/oauth/introspect', { token, ...asClient() })).json.active;

function expectRefused({ status, text, audit }: ExchangeAnswer, reason: string): Readonly<Record<string, unknown>> {
  expect({ status, text }).toEqual({ status: 400, text: REFUSAL });
  expect(audit).toMatchObject({ action: 'token.requested', outcome: 'refused', reason });
  return audit.evidence;
}

function change<T extends { readonly id: string }>(rows: T[], id: string, changes: Partial<T>): void {
  const index = rows.findIndex((row) => row.id === id);
  rows[index] = { ...(rows[index] as T), ...changes };
}

describe('an actor that the binding names', () => {
  it('K-11, K-14: acts for the subject: the token is the subject’s, act says who holds it', async () => {
    const answer = await exchange(freshAssertion().build(), { ...withActor(anActor('agent').build()), resource: API });
    const claims = claimsOf(answer);
    expect(claims).toMatchObject({
      sub: 'edge-worker',
      client_id: 'edge-worker',
      aud: API,
      scope: 'read write',
      workload: { issuer: CLUSTER_ISSUER, subject: SUBJECT, pod: 'edge-worker-x7k2p' },
      runner_id: 'edge cluster/node-1',
    });
    expect(claims.act).toEqual({ sub: 'agent', workload: { issuer: PROVIDER.issuerUrl, subject: 'job:agent' } });
  });

  it('is in the record, beside the subject', async () => {
    const { audit } = await exchange(freshAssertion().build(), withActor(anActor('agent').build()));
    expect(audit).toMatchObject({ clientId: 'edge-worker', subject: SUBJECT, trustedIssuerId: CLUSTER.id });
    expect(audit.evidence).toMatchObject({
      proof: 'subject_token',
      actors: ['agent'],
      actor_token: { client_id: 'agent', subject: 'job:agent', trusted_issuer_id: PROVIDER.id },
    });
  });

  it('may be a platform’s access token, presented as such', async () => {
    const fields = { actor_token: anActor('agent').build(), actor_token_type: ACCESS_TOKEN };
    expect(claimsOf(await exchange(freshAssertion().build(), fields)).act).toMatchObject({ sub: 'agent' });
  });

  it('K-08: ends the token with its own proof where that may be shown again', async () => {
    const actor = () =>
      anActor('agent')
        .with({ exp: NOW + 100 })
        .build();
    change(server.rows.issuers, PROVIDER.id, { assertionUse: 'until_expiry' });
    expect((await exchange(freshAssertion().build(), withActor(actor()))).json.expires_in).toBe(100);
    const spent = withActor(
      anActor('agent')
        .with({ exp: NOW - 10 })
        .build(),
    );
    expectRefused(await exchange(freshAssertion().build(), spent), 'expired');
  });

  it('K-08: ends the token with a once-only proof too, where the issuer’s row asks for that', async () => {
    const actor = (exp: number) => withActor(anActor('agent').with({ exp }).build());
    expect((await exchange(freshAssertion().build(), actor(NOW + 20))).json.expires_in).toBe(60);
    change(server.rows.issuers, PROVIDER.id, { capToAssertion: true });
    expect((await exchange(freshAssertion().build(), actor(NOW + 20))).json.expires_in).toBe(20);
    expectRefused(await exchange(freshAssertion().build(), actor(NOW)), 'expired');
    const used = anActor('agent').build();
    expect((await exchange(used)).status).toBe(200);
    expectRefused(await exchange(used), 'replayed');
  });

  it('K-13: must be the one that may_act of the subject token names', async () => {
    const exchangeWith = (may_act: unknown) =>
      exchange(freshAssertion().with({ may_act }).build(), withActor(anActor('agent').build()));
    const named = { iss: PROVIDER.issuerUrl, sub: 'job:agent' };
    expect(claimsOf(await exchangeWith(named)).act).toMatchObject({ sub: 'agent' });
    for (const other of [
      { ...named, sub: 'job:second' },
      { ...named, iss: CLUSTER_ISSUER },
      { sub: 'job:agent' },
      { iss: PROVIDER.issuerUrl },
      { ...named, email: 'agent@example.com' },
      'job:agent',
      [named],
      null,
      {},
    ]) {
      const evidence = expectRefused(await exchangeWith(other), 'actor_not_allowed');
      expect(evidence.detail).toBe('may_act of the subject token is not client "agent"');
    }
    const alone = await exchange(
      freshAssertion()
        .with({ may_act: { sub: 'job:second' } })
        .build(),
    );
    expect(claimsOf(alone).act).toBeUndefined();
  });
});

describe('without permission', () => {
  it.each<[string, () => void, string, string, string]>([
    [
      'a binding that names nobody',
      () => change(server.rows.bindings, BINDING.id, { allowedActors: [] }),
      'agent',
      'actor_not_allowed',
      'the binding of the subject allows no actors',
    ],
    [
      'another actor than those that are named',
      () => {},
      'stranger',
      'actor_not_allowed',
      'client "stranger" is not an actor of this binding',
    ],
    [
      'a client that took the name of one that is named',
      () => {
        change(server.rows.clients, 'row-of-agent', { id: 'row-made-again' });
        change(server.rows.bindings, 'binding-of-agent', { clientRowId: 'row-made-again' });
      },
      'agent',
      'actor_not_allowed',
      'client "agent" is not an actor of this binding',
    ],
    [
      'an actor of another organization',
      () => {
        change(server.rows.clients, CLIENT.id, { organizationId: 'org-1' });
        change(server.rows.clients, 'row-of-agent', { organizationId: 'org-2' });
      },
      'agent',
      'actor_not_allowed',
      'client "agent" belongs to another organization',
    ],
  ])('%s: is refused, and nothing is used up', async (_name, arrange, name, reason, detail) => {
    arrange();
    const [subject, actor] = [freshAssertion().build(), anActor(name).build()];
    const evidence = expectRefused(await exchange(subject, withActor(actor)), reason);
    expect(evidence).toMatchObject({ proof: 'actor_token', detail, subject_token: { client_id: 'edge-worker' } });
    expect((await exchange(subject)).status).toBe(200);
    expect((await exchange(actor)).status).toBe(200);
  });

  it('of a binding that has the field not at all: none is allowed', async () => {
    const { allowedActors: _none, ...binding } = { ...BINDING, allowedActors: [] };
    server.rows.bindings[0] = binding;
    const answer = await exchange(freshAssertion().build(), withActor(anActor('agent').build()));
    expectRefused(answer, 'actor_not_allowed');
  });

  it('an actor of the same organization, or of none, is not in the way', async () => {
    change(server.rows.clients, CLIENT.id, { organizationId: 'org-1' });
    for (const organizationId of ['org-1', null]) {
      change(server.rows.clients, 'row-of-agent', { organizationId });
      const answer = await exchange(freshAssertion().build(), withActor(anActor('agent').build()));
      expect(claimsOf(answer)).toMatchObject({ organization_id: 'org-1', act: { sub: 'agent' } });
    }
  });
});

describe('K-04: a bad actor token', () => {
  it.each<[string, () => string]>([
    ['assertion_malformed', () => 'a.b.c'],
    ['signature_invalid', () => anActor('agent').signedBy(RSA_B).build()],
    [
      'expired',
      () =>
        anActor('agent')
          .with({ exp: NOW - 61 })
          .build(),
    ],
    ['aud_mismatch', () => anActor('agent').with({ aud: 'https://other.example' }).build()],
    ['subject_not_bound', () => anActor('nobody').build()],
  ])('%s has the answer of a bad subject token, and leaves the subject’s usable', async (reason, actor) => {
    const subject = freshAssertion().build();
    const answer = await exchange(subject, withActor(actor()));
    expect(expectRefused(answer, reason)).toMatchObject({ proof: 'actor_token' });
    expect((await exchange(subject)).status).toBe(200);
  });

  it('is used up with the subject’s', async () => {
    const actor = anActor('agent').build();
    expect((await exchange(freshAssertion().build(), withActor(actor))).status).toBe(200);
    const subject = freshAssertion().build();
    expect(expectRefused(await exchange(subject, withActor(actor)), 'replayed')).toMatchObject({
      proof: 'actor_token',
    });
    expect((await exchange(subject)).status).toBe(200);
  });

  it('is not looked at beside a bad subject token', async () => {
    const actor = anActor('agent').build();
    const answer = await exchange(freshAssertion().signedBy(RSA_B).build(), withActor(actor));
    expect(expectRefused(answer, 'signature_invalid')).not.toHaveProperty('actor_token');
    expect((await exchange(actor)).status).toBe(200);
  });

  it('of ours is refused as what it is', async () => {
    const ours = String((await exchange(anActor('agent').build())).json.access_token);
    for (const actor_token_type of [JWT, ACCESS_TOKEN]) {
      const answer = await exchange(freshAssertion().build(), { actor_token: ours, actor_token_type });
      expectRefused(answer, 'typ_not_allowed');
    }
  });
});

describe('an access token of ours as the subject token', () => {
  beforeEach(() => change(server.rows.clients, CLIENT.id, { allowAccessTokenExchange: true, allowedResources: [API] }));

  const ours = async (fields: Fields = {}): Promise<string> =>
    String((await exchange(freshAssertion().build(), fields)).json.access_token);
  const exchangeOwn = (token: string, fields: Fields = {}) =>
    exchange(token, { subject_token_type: ACCESS_TOKEN, ...asClient(), ...fields });

  it('gives its client another one: for another API, with what it says of the workload', async () => {
    const token = await ours();
    const answer = await exchangeOwn(token, { resource: API, scope: 'read' });
    const before = decodeJwt(token);
    const after = claimsOf(answer);
    expect(after).toEqual({ ...before, jti: expect.any(String), aud: API, scope: 'read' });
    expect(after.jti).not.toBe(before.jti);
    expect(answer.json.issued_token_type).toBe(ACCESS_TOKEN);
    expect(await isActive(String(answer.json.access_token))).toBe(true);
    expect(answer.audit).toMatchObject({ clientId: 'edge-worker', subject: SUBJECT, trustedIssuerId: CLUSTER.id });
    expect(answer.audit.evidence).toMatchObject({
      proof: 'subject_token',
      jti: before.jti,
      client_authentication: { client_id: 'edge-worker', subject: SUBJECT },
    });
  });

  it.each<[string, (token: string) => Promise<ExchangeAnswer>, string]>([
    [
      'from a client that may not',
      (token) => {
        change(server.rows.clients, CLIENT.id, { allowAccessTokenExchange: false });
        return exchangeOwn(token);
      },
      'the client may not exchange access tokens of ours',
    ],
    [
      'from a client of which nobody said that it may',
      (token) => {
        server.rows.clients[0] = CLIENT;
        return exchangeOwn(token);
      },
      'the client may not exchange access tokens of ours',
    ],
    [
      'from nobody, with the token alone',
      (token) => exchange(token, { subject_token_type: ACCESS_TOKEN }),
      'the request has no client authentication, and the token alone is no proof',
    ],
    [
      'from nobody, with the client’s name',
      (token) => exchange(token, { subject_token_type: ACCESS_TOKEN, client_id: 'edge-worker' }),
      'the request has no client authentication, and the token alone is no proof',
    ],
    [
      'K-10: from another client that may exchange its own',
      (token) => {
        change(server.rows.clients, 'row-of-agent', { allowAccessTokenExchange: true });
        return exchangeOwn(token, { client_assertion: anActor('agent').build() });
      },
      'the token was issued to another client',
    ],
  ])('is refused %s', async (_name, request, detail) => {
    const answer = await request(await ours());
    expect(expectRefused(answer, 'exchange_not_allowed').detail).toBe(detail);
  });

  it.each<[string, (token: string) => string | Promise<string>]>([
    [
      'once it has expired',
      (token) => {
        server.clock.advance(900);
        return token;
      },
    ],
    [
      'once it is revoked',
      async (token) => {
        await server.revoke(String(decodeJwt(token).jti));
        return token;
      },
    ],
    ['with another signature', (token) => `${token.slice(0, -8)}AAAAAAAA`],
    [
      'that only says that it is ours',
      () => freshAssertion().with({ iss: AUDIENCE }).withHeader({ typ: 'at+jwt' }).build(),
    ],
    [
      'once its binding is gone and another one lets the client in',
      (token) => {
        change(server.rows.bindings, BINDING.id, { isActive: false });
        server.rows.bindings.push({ ...actorBinding('ci'), clientRowId: CLIENT.id });
        return token;
      },
    ],
  ])('is refused %s', async (_name, prepare) => {
    const token = await prepare(await ours());
    const iat = server.clock();
    const viaOther = server.rows.bindings.at(-1)?.clientRowId === CLIENT.id;
    const own = viaOther ? anActor('ci') : freshAssertion();
    const answer = await exchangeOwn(token, { client_assertion: own.with({ iat, nbf: iat, exp: iat + 600 }).build() });
    expectRefused(answer, 'own_token_not_live');
  });

  it('is none under the type jwt', async () => {
    expectRefused(await exchangeOwn(await ours(), { subject_token_type: JWT }), 'typ_not_allowed');
  });

  it('K-08: never gives a token that outlives it', async () => {
    const token = await ours();
    server.clock.advance(600);
    const iat = server.clock();
    const client_assertion = freshAssertion().with({ iat, nbf: iat }).build();
    const answer = await exchangeOwn(token, { client_assertion });
    expect(answer.json.expires_in).toBe(300);
    expect(claimsOf(answer).exp).toBe(decodeJwt(token).exp);
  });

  it('K-07: never gives more scope than it has, nor more than the client has left', async () => {
    const token = await ours({ scope: 'read' });
    expect((await exchangeOwn(token)).json.scope).toBe('read');
    const more = await exchangeOwn(token, { scope: 'read write' });
    expect([more.status, more.json.error]).toEqual([400, 'invalid_scope']);
    const both = await ours();
    change(server.rows.clients, CLIENT.id, { allowedScopes: ['write'] });
    expect((await exchangeOwn(both)).json.scope).toBe('write');
    expect((await exchangeOwn(both, { scope: 'read' })).json.error).toBe('invalid_scope');
  });

  it('K-12: carries on who acted before, up to four', async () => {
    let token = await ours(withActor(anActor('agent').build()));
    const expected = (names: readonly string[]): unknown =>
      names.reduceRight<unknown>(
        (act, name) => ({
          sub: name,
          workload: { issuer: PROVIDER.issuerUrl, subject: `job:${name}` },
          ...(act !== undefined && { act }),
        }),
        undefined,
      );
    const chain = ['agent'];
    for (const name of ['second', 'third', 'fourth']) {
      const answer = await exchangeOwn(token, withActor(anActor(name).build()));
      chain.unshift(name);
      token = String(answer.json.access_token);
      expect(decodeJwt(token).act).toEqual(expected(chain));
    }
    const fifth = anActor('fifth').build();
    const refused = await exchangeOwn(token, withActor(fifth));
    expect(expectRefused(refused, 'actor_chain_too_long').detail).toBe(
      'the token would have 5 actors, at most 4 are allowed',
    );
    expect((await exchange(fifth)).status).toBe(200);
    // No actor of this exchange does not mean that there never was one.
    expect(claimsOf(await exchangeOwn(token)).act).toEqual(expected(chain));
  });

  it.each<[string, () => void]>([
    ['disabled', () => change(server.rows.clients, 'row-of-agent', { isActive: false })],
    ['unbound', () => void server.rows.bindings.splice(1, 1)],
    ['without its trusted issuer', () => change(server.rows.issuers, PROVIDER.id, { isActive: false })],
    [
      'on the deny list',
      () =>
        void server.rows.denied.push({
          ...DENIAL,
          trustedIssuerId: PROVIDER.id,
          member: 'subject',
          value: 'job:agent',
        }),
    ],
  ])('with an actor that is %s since is not active, and not exchangeable', async (_name, cut) => {
    const token = await ours(withActor(anActor('agent').build()));
    expect(await isActive(token)).toBe(true);
    cut();
    expect(await isActive(token)).toBe(false);
    expectRefused(await exchangeOwn(token), 'own_token_not_live');
  });
});
