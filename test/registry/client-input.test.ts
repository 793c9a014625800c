import { describe, expect, it } from 'vitest';
import { clientFieldsOf, parseClientInput, parseClientUpdate } from '../../src/registry/client-input.ts';
import { P256, publicJwk, RSA_1024, RSA_A } from '../fixtures/keys.ts';
import { CLIENT } from '../fixtures/rows.ts';

const OWN_ISSUER = 'https://as.example.com';
const MINIMAL = { name: 'edge worker', allowed_scopes: ['jobs:read'] };
const jwks = (...keys: object[]) => JSON.stringify({ keys });
const KEY = publicJwk(P256, { kid: 'k1', alg: 'ES256', use: 'sig' });

const parse = (changes: object) => parseClientInput({ ...MINIMAL, ...changes }, OWN_ISSUER);

describe('a new client', () => {
  it('needs a name and scopes only; everything else has a default', async () => {
    expect(await parseClientInput(MINIMAL, OWN_ISSUER)).toEqual({
      ok: true,
      value: {
        withClientSecret: false,
        fields: {
          clientId: expect.stringMatching(/^[A-Za-z0-9_-]{20,}$/),
          name: 'edge worker',
          description: null,
          allowedScopes: ['jobs:read'],
          allowedResources: [],
          defaultResource: null,
          accessTokenTtlSeconds: 900,
          accessTokenSigningAlg: 'ES256',
          organizationId: null,
          jwks: null,
          resourceIdentifiers: [],
          isActive: true,
        },
      },
    });
  });

  it('gets another client_id each time', async () => {
    const [first, second] = [await parse({}), await parse({})];
    expect(first.ok && second.ok && first.value.fields.clientId !== second.value.fields.clientId).toBe(true);
  });

  it.each<[string, object, object]>([
    [
      'takes a client_id with every character that one may have',
      { client_id: "spiffe://td/ns/a!#$&'()*+,;=@[]~" },
      { clientId: "spiffe://td/ns/a!#$&'()*+,;=@[]~" },
    ],
    ['takes an empty client_id as none', { client_id: '' }, { clientId: expect.stringMatching(/.{20}/) }],
    [
      'takes scopes with commas between them',
      { allowed_scopes: 'jobs:read, jobs:write,' },
      { allowedScopes: ['jobs:read', 'jobs:write'] },
    ],
    ['keeps a comma inside a scope of a list', { allowed_scopes: ['a,b'] }, { allowedScopes: ['a,b'] }],
    ['counts repeated scopes once', { allowed_scopes: ['a', 'b', 'a'] }, { allowedScopes: ['a', 'b'] }],
    [
      'takes resources with commas between them',
      { allowed_resources: 'https://a.example.com,urn:example:b' },
      { allowedResources: ['https://a.example.com', 'urn:example:b'] },
    ],
    [
      'takes a default resource',
      { default_resource: 'https://a.example.com' },
      { defaultResource: 'https://a.example.com' },
    ],
    [
      'takes the resources that it protects',
      { resource_identifiers: ['https://a.example.com'] },
      { resourceIdentifiers: ['https://a.example.com'] },
    ],
    ['takes RS256', { access_token_signing_alg: 'RS256' }, { accessTokenSigningAlg: 'RS256' }],
    ['takes the longest lifetime', { access_token_ttl_seconds: 3600 }, { accessTokenTtlSeconds: 3600 }],
    ['takes the shortest lifetime', { access_token_ttl_seconds: 60 }, { accessTokenTtlSeconds: 60 }],
    ['takes an organization', { organization_id: 'org-1' }, { organizationId: 'org-1' }],
    [
      'takes null as not given',
      { description: null, organization_id: null, is_active: null },
      { description: null, organizationId: null, isActive: true },
    ],
    [
      'may have no scopes when it is a protected API that only introspects',
      { allowed_scopes: [], resource_identifiers: ['https://a.example.com'] },
      { allowedScopes: [], resourceIdentifiers: ['https://a.example.com'] },
    ],
    ['takes keys', { jwks: jwks(KEY) }, { jwks: jwks(KEY) }],
  ])('%s', async (_title, changes, expected) => {
    expect(await parse(changes)).toMatchObject({ ok: true, value: { fields: expected } });
  });

  it.each<[string, object, [string, string]]>([
    ['no name', { name: undefined }, ['name', 'is required']],
    ['a blank name', { name: ' ' }, ['name', 'must not be empty']],
    ['a name of 201 characters', { name: 'n'.repeat(201) }, ['name', 'must not be longer than 200 characters']],
    ['a name with a line break', { name: 'a\nb' }, ['name', 'must not contain control characters']],
    ['no scopes', { allowed_scopes: undefined }, ['allowed_scopes', 'is required']],
    ['an empty list of scopes', { allowed_scopes: [] }, ['allowed_scopes', 'must name at least one scope']],
    ['blank scopes', { allowed_scopes: ' , ' }, ['allowed_scopes', 'must name at least one scope']],
    [
      'scopes that are a number',
      { allowed_scopes: 7 },
      ['allowed_scopes', 'must be a list of texts, or one text with commas between them'],
    ],
    [
      'a scope with a space',
      { allowed_scopes: ['a', 'b c'] },
      ['allowed_scopes.1', 'must be a scope of RFC 6749 §3.3: printable ASCII without spaces, quotes and backslashes'],
    ],
    [
      'the scope openid',
      { allowed_scopes: ['openid'] },
      [
        'allowed_scopes.0',
        'is an OpenID Connect scope for users; this server issues tokens to workloads: leave it out',
      ],
    ],
    [
      'the scope offline_access',
      { allowed_scopes: 'a,offline_access' },
      [
        'allowed_scopes.1',
        'is an OpenID Connect scope for users; this server issues tokens to workloads: leave it out',
      ],
    ],
    [
      '101 scopes',
      { allowed_scopes: Array.from({ length: 101 }, (_, i) => `s${i}`) },
      ['allowed_scopes', 'must not have more than 100 entries'],
    ],
    [
      'a client_id with a space at its end',
      { client_id: 'a ' },
      ['client_id', 'must be 1 to 255 printable ASCII characters without quotes, backslashes and spaces around them'],
    ],
    [
      'a client_id with a quote',
      { client_id: 'a"b' },
      ['client_id', 'must be 1 to 255 printable ASCII characters without quotes, backslashes and spaces around them'],
    ],
    [
      'a client_id with a letter outside ASCII',
      { client_id: 'ä' },
      ['client_id', 'must be 1 to 255 printable ASCII characters without quotes, backslashes and spaces around them'],
    ],
    [
      'a client_id of 256 characters',
      { client_id: 'c'.repeat(256) },
      ['client_id', 'must be 1 to 255 printable ASCII characters without quotes, backslashes and spaces around them'],
    ],
    [
      'our own issuer identifier as client_id',
      { client_id: OWN_ISSUER },
      ['client_id', 'must not be the issuer identifier of this server'],
    ],
    [
      'a resource without a scheme',
      { allowed_resources: ['api.example.com'] },
      ['allowed_resources.0', 'must be an absolute URI without a fragment, such as https://api.example.com'],
    ],
    [
      'a resource with a fragment',
      { default_resource: 'https://a.example.com/#x' },
      ['default_resource', 'must be an absolute URI without a fragment, such as https://api.example.com'],
    ],
    [
      'a resource of 2049 characters',
      { allowed_resources: [`https://a.example.com/${'x'.repeat(2027)}`] },
      ['allowed_resources.0', 'must not be longer than 2048 characters'],
    ],
    [
      'a lifetime of 59 seconds',
      { access_token_ttl_seconds: 59 },
      ['access_token_ttl_seconds', 'must be a whole number from 60 to 3600'],
    ],
    [
      'a lifetime of 3601 seconds',
      { access_token_ttl_seconds: 3601 },
      ['access_token_ttl_seconds', 'must be a whole number from 60 to 3600'],
    ],
    [
      'a lifetime of half seconds',
      { access_token_ttl_seconds: 60.5 },
      ['access_token_ttl_seconds', 'must be a whole number from 60 to 3600'],
    ],
    ['HS256', { access_token_signing_alg: 'HS256' }, ['access_token_signing_alg', 'must be one of ES256, RS256']],
    [
      'an organization of 201 characters',
      { organization_id: 'o'.repeat(201) },
      ['organization_id', 'must not be longer than 200 characters'],
    ],
    ['is_active that is a text', { is_active: 'yes' }, ['is_active', 'must be true or false']],
    ['an unknown field', { verify: false }, ['verify', 'unknown field']],
    ['keys that are not JSON', { jwks: '{' }, ['jwks', 'must be JSON text of a JWK set: not JSON']],
    ['an empty key set', { jwks: jwks() }, ['jwks', 'the JWK set is empty']],
    [
      'a private key',
      { jwks: jwks({ ...P256, kid: 'k1' }) },
      [
        'jwks',
        'holds private or symmetric key material: paste the public keys only, and treat what was pasted as leaked',
      ],
    ],
    [
      'a symmetric key',
      { jwks: jwks(KEY, { kty: 'oct', k: 'AAAA' }) },
      [
        'jwks',
        'holds private or symmetric key material: paste the public keys only, and treat what was pasted as leaked',
      ],
    ],
    [
      'a private key as the document',
      { jwks: JSON.stringify(P256) },
      [
        'jwks',
        'holds private or symmetric key material: paste the public keys only, and treat what was pasted as leaked',
      ],
    ],
    [
      'a weak key beside a good one',
      { jwks: jwks(KEY, publicJwk(RSA_1024, { kid: 'old' })) },
      ['jwks', "has keys that can't be used: kid old: RSA modulus of 1024 < 2048 bits"],
    ],
    [
      'six keys',
      { jwks: jwks(...Array.from({ length: 6 }, (_, i) => publicJwk(RSA_A, { kid: `k${i}` }))) },
      ['jwks', 'must not have more than 5 keys'],
    ],
  ])('is refused with %s', async (_title, changes, [path, message]) => {
    const parsed = await parse(changes);
    expect(parsed).toEqual({ ok: false, error: [{ path: path.split('.'), message }] });
  });

  it('is told everything that is wrong at once', async () => {
    const parsed = await parse({ name: '', allowed_scopes: [], jwks: '[]', client_id: OWN_ISSUER, color: 'red' });
    expect(parsed.ok ? [] : parsed.error.map(({ path }) => path.join('.')).toSorted()).toEqual([
      'allowed_scopes',
      'client_id',
      'color',
      'jwks',
      'name',
    ]);
  });

  it.each([null, 'text', 7, []])('is refused when the input is %j', async (input) => {
    expect(await parseClientInput(input, OWN_ISSUER)).toEqual({
      ok: false,
      error: [{ path: [], message: 'must be an object of fields' }],
    });
  });

  it('is shown under the outside names that it came in with', async () => {
    const input = { ...MINIMAL, client_id: 'edge', organization_id: 'org-1', jwks: jwks(KEY) };
    const parsed = await parseClientInput(input, OWN_ISSUER);
    expect(parsed.ok && clientFieldsOf(parsed.value.fields)).toMatchObject(input);
  });
});

describe('an update of a client', () => {
  const current = { ...CLIENT, description: 'old', organizationId: 'org-1', isActive: false };

  it('changes only what is given; null is not given', async () => {
    const parsed = await parseClientUpdate({ name: 'new', description: null, is_active: null }, current, OWN_ISSUER);
    const { id, managedBy, createdAt, updatedAt, ...fields } = current;
    expect(parsed).toEqual({ ok: true, value: { ...fields, name: 'new' } });
  });

  it('clears a text with an empty one', async () => {
    const parsed = await parseClientUpdate({ description: '', organization_id: '' }, current, OWN_ISSUER);
    expect(parsed).toMatchObject({ ok: true, value: { description: null, organizationId: null } });
  });

  it.each([
    ['client_id', { client_id: 'other' }],
    ['with_client_secret', { with_client_secret: true }],
  ])('can not bring %s', async (name, changes) => {
    expect(await parseClientUpdate(changes, current, OWN_ISSUER)).toEqual({
      ok: false,
      error: [{ path: [name], message: 'can only be given when the client is created' }],
    });
  });

  it('is held to the same rules as a new one', async () => {
    expect(await parseClientUpdate({ allowed_scopes: [] }, current, OWN_ISSUER)).toEqual({
      ok: false,
      error: [{ path: ['allowed_scopes'], message: 'must name at least one scope' }],
    });
  });
});
