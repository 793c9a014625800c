import { describe, expect, it } from 'vitest';
import type { VerifiedWorkload } from '../../src/assertion/verified-workload.ts';
import type { Client } from '../../src/issuance/client.ts';
import { decideGrant } from '../../src/issuance/grant.ts';
import { CLUSTER_CLAIMS } from '../fixtures/assertions.ts';
import { BINDING, CLIENT, CLUSTER } from '../fixtures/rows.ts';
import { NOW } from '../fixtures/settable-clock.ts';

const OWN_ISSUER = 'https://as.example.com';

function aWorkload(
  changes: { readonly exp?: number; readonly use?: 'once' | 'until_expiry' } = {},
): VerifiedWorkload<Client> {
  return {
    trustedIssuer: { ...CLUSTER, assertionUse: changes.use ?? 'once' },
    subject: BINDING.subject,
    jti: null,
    times: { exp: changes.exp ?? NOW + 3600, iat: NOW },
    claims: CLUSTER_CLAIMS,
    kubernetes: null,
    client: CLIENT,
    binding: BINDING,
    tokenClaims: {},
  };
}

const decide = (options: {
  scope?: string | null;
  resources?: readonly string[];
  client?: Partial<Client>;
  workload?: VerifiedWorkload<Client> | null;
}) =>
  decideGrant(
    { ...CLIENT, ...options.client },
    options.workload ?? null,
    { scope: options.scope ?? null, resources: options.resources ?? [] },
    OWN_ISSUER,
    NOW,
  );

describe('scope', () => {
  it.each<[string, string | null, readonly string[]]>([
    ['none asked gives all that are allowed', null, ['read', 'write']],
    ['one of several', 'read', ['read']],
    ['the order asked', 'write read', ['write', 'read']],
    ['a repetition counts once', 'read read', ['read']],
  ])('%s', (_name, scope, scopes) => {
    expect(decide({ scope })).toMatchObject({ ok: true, value: { scopes } });
  });

  it.each([
    ['more than allowed', 'read admin'],
    ['another case', 'READ'],
    ['two spaces', 'read  write'],
    ['a leading space', ' read'],
    ['a comma', 'read,write'],
    ['a tab', 'read\twrite'],
    ['a quote', 'read "write"'],
    ['not ASCII', 'réad'],
  ])('%s is invalid_scope', (_name, scope) => {
    expect(decide({ scope })).toMatchObject({ ok: false, error: { error: 'invalid_scope' } });
  });
});

describe('resource', () => {
  it.each<[string, readonly string[], Partial<Client>, readonly string[]]>([
    ['none asked gives our issuer identifier', [], {}, [OWN_ISSUER]],
    [
      "none asked gives the client's default",
      [],
      { defaultResource: 'https://default.example' },
      ['https://default.example'],
    ],
    ['an allowed one', ['https://api.example.com'], {}, ['https://api.example.com']],
    [
      'the default one by name',
      ['https://default.example'],
      { defaultResource: 'https://default.example' },
      ['https://default.example'],
    ],
    ['two allowed ones', ['https://api.example.com', OWN_ISSUER], {}, ['https://api.example.com', OWN_ISSUER]],
    [
      'a repetition counts once',
      ['https://api.example.com', 'https://api.example.com'],
      {},
      ['https://api.example.com'],
    ],
  ])('%s', (_name, resources, client, audiences) => {
    expect(decide({ resources, client })).toMatchObject({ ok: true, value: { audiences } });
  });

  it.each([
    ['unknown', 'https://other.example.com'],
    ['with a trailing slash', 'https://api.example.com/'],
    ['in another case', 'HTTPS://api.example.com'],
    ['with the default port', 'https://api.example.com:443'],
    ['relative', '/x'],
    ['not a URI', 'foo'],
    ['with a fragment', 'https://api.example.com#f'],
  ])('%s is invalid_target', (_name, resource) => {
    expect(decide({ resources: [resource] })).toMatchObject({ ok: false, error: { error: 'invalid_target' } });
  });
});

describe('lifetime', () => {
  it.each<[string, VerifiedWorkload<Client> | null, number]>([
    ["the client's for a client with a secret", null, 900],
    ["the client's when the assertion lives longer", aWorkload(), 900],
    ["the assertion's when that is shorter", aWorkload({ exp: NOW + 300 }), 300],
    ['at least a minute for a once-only assertion within the leeway', aWorkload({ exp: NOW - 30 }), 60],
    ["strictly the assertion's when it may be shown again", aWorkload({ exp: NOW + 30.9, use: 'until_expiry' }), 30],
    ['down to one second', aWorkload({ exp: NOW + 1, use: 'until_expiry' }), 1],
  ])('%s', (_name, workload, seconds) => {
    expect(decide({ workload })).toMatchObject({ ok: true, value: { issuedAt: NOW, expiresAt: NOW + seconds } });
  });

  it.each<[string, VerifiedWorkload<Client>, number | undefined, number]>([
    ["the grant type's bound", aWorkload(), 600, 600],
    ["the client's where that is less", aWorkload(), 1200, 900],
    ["the assertion's where that is less", aWorkload({ exp: NOW + 300 }), 600, 300],
  ])('is %s', (_name, workload, maxLifetimeSeconds, seconds) => {
    const access = { scope: null, resources: [], ...(maxLifetimeSeconds !== undefined && { maxLifetimeSeconds }) };
    const granted = decideGrant(CLIENT, workload, access, OWN_ISSUER, NOW);
    expect(granted).toMatchObject({ ok: true, value: { expiresAt: NOW + seconds } });
  });

  it.each<[string, VerifiedWorkload<Client>, VerifiedWorkload<Client>, number]>([
    ["the actor's proof", aWorkload(), aWorkload({ exp: NOW + 100 }), 100],
    ["the subject's proof", aWorkload({ exp: NOW + 90 }), aWorkload({ exp: NOW + 100 }), 90],
    ['at least a minute of once-only proofs', aWorkload({ exp: NOW + 1 }), aWorkload({ exp: NOW + 2 }), 60],
    [
      'strictly that which may be shown again',
      aWorkload({ exp: NOW + 1 }),
      aWorkload({ exp: NOW + 20, use: 'until_expiry' }),
      20,
    ],
  ])('of a delegation is %s', (_name, workload, actor, seconds) => {
    const actors = [{ clientId: 'agent', workload: null }];
    const access = { scope: null, resources: [] };
    expect(decideGrant(CLIENT, workload, access, OWN_ISSUER, NOW, { actor, actors })).toMatchObject({
      ok: true,
      value: { expiresAt: NOW + seconds, actors },
    });
  });
});

it('a protected API without scopes may only introspect', () => {
  const client = { resourceIdentifiers: ['https://api.example.com'], allowedScopes: [] };
  expect(decide({ client })).toMatchObject({ ok: false, error: { error: 'unauthorized_client' } });
});
