import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADMIN_SECRET, type AdminServer, startAdminServer } from '../fixtures/admin-server.ts';

const JSON_TYPE = 'application/json';
const RESPONSE_TYPE = 'application/graphql-response+json';
const CREATE =
  'mutation { _create_client(params: { name: "n", client_id: "made", allowed_scopes: ["s"] }) { client { id } } }';

let server: AdminServer;
beforeAll(async () => {
  server = await startAdminServer();
});
afterAll(() => server[Symbol.asyncDispose]());

/** A good request, of which a test changes one thing. */
function post(body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}, method = 'POST') {
  return server.fetch({
    method,
    headers: { 'content-type': JSON_TYPE, authorization: `Bearer ${ADMIN_SECRET}`, ...headers },
    body,
  });
}
const query = (text: string, more: object = {}) => JSON.stringify({ query: text, ...more });
const TYPENAME = query('{__typename}');

async function nothingWasMade() {
  expect((await server.stores.registryStore.listClients({ limit: 1, offset: 0 })).total).toBe(0);
}

describe('a request of the admin API', () => {
  it('R-01: is a POST of application/json', async () => {
    const response = await post(TYPENAME);
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ data: { __typename: 'Query' } });
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(response.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
  });

  it.each([
    [RESPONSE_TYPE, RESPONSE_TYPE],
    [JSON_TYPE, JSON_TYPE],
    ['*/*', JSON_TYPE],
    ['application/*', JSON_TYPE],
    [`text/html, ${RESPONSE_TYPE};charset=utf-8`, RESPONSE_TYPE],
    [`${RESPONSE_TYPE};q=0, ${JSON_TYPE}`, JSON_TYPE],
  ])('R-02: with Accept %s is answered as %s', async (accept, type) => {
    const response = await post(TYPENAME, { accept });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe(`${type}; charset=utf-8`);
  });

  it.each(['text/html', 'text/event-stream', 'multipart/mixed', `${JSON_TYPE};charset=utf-16`])(
    'R-05: is not executed for who accepts only %s',
    async (accept) => {
      expect((await post(query(CREATE), { accept })).status).toBe(406);
      await nothingWasMade();
    },
  );

  it.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/graphql',
    `${JSON_TYPE}; charset=utf-16`,
    '',
  ])('R-08: is not executed when it is sent as %j', async (type) => {
    expect((await post(query(CREATE), { 'content-type': type })).status).toBe(415);
    await nothingWasMade();
  });

  it('R-06: may have characters beyond ASCII', async () => {
    const response = await post(
      query('query($a: String!) { _clients { clients { id } } __type(name: $a) { name } }', { variables: { a: '🦊' } }),
      {
        'content-type': `${JSON_TYPE}; charset="UTF-8"`,
      },
    );
    expect(response.status).toBe(200);
  });

  it.each<[string, string | Uint8Array<ArrayBuffer>]>([
    ['is not JSON', 'NONSENSE'],
    ['ends early', '{"query":'],
    ['is empty', ''],
    ['is not UTF-8', Uint8Array.of(0x22, 0xff, 0x22)],
    ['is null', 'null'],
    ['has no query', '{}'],
    ['has a query that is no text', '{"query":{}}'],
    ['has variables that are no object', '{"query":"{__typename}","variables":"x"}'],
    ['has an operationName that is no text', '{"query":"{__typename}","operationName":7}'],
  ])('R-09: whose body %s is a 400', async (_title, body) => {
    const response = await post(body, { accept: RESPONSE_TYPE });
    expect(response.status).toBe(400);
    expect(response.headers.get('content-type')).toBe(`${JSON_TYPE}; charset=utf-8`);
    expect(await response.json()).toMatchObject({ errors: [{ extensions: { code: 'INVALID_ARGUMENT' } }] });
  });

  it('R-16: that succeeds has data and a 200', async () => {
    const response = await post(query('{ _clients { pagination { total } } }'), { accept: RESPONSE_TYPE });
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ data: { _clients: { pagination: { total: 0 } } } });
  });

  it.each<[string, string, object, string]>([
    ['with a syntax error', '{', {}, 'GRAPHQL_PARSE_FAILED'],
    ['of an unknown field', '{ nothing }', {}, 'GRAPHQL_VALIDATION_FAILED'],
    ['of an unknown operation name', '{ __typename }', { operationName: 'x' }, 'OPERATION_RESOLUTION_FAILURE'],
    ['without a variable it needs', 'query($p: ClientRequest!) { _client(params: $p) { id } }', {}, 'INVALID_ARGUMENT'],
  ])('R-18: %s has no data and a 400', async (_title, text, more, code) => {
    const response = await post(query(text, more), { accept: RESPONSE_TYPE });
    expect(response.status).toBe(400);
    const body = (await response.json()) as { errors: { extensions: object }[] };
    expect(body).not.toHaveProperty('data');
    expect(body.errors[0]?.extensions).toMatchObject({ code, request_id: response.headers.get('x-request-id') });
  });

  it('R-20: by GET is not executed, and says what would be', async () => {
    for (const text of [CREATE, '{__typename}']) {
      const response = await server.fetch(
        { headers: { authorization: `Bearer ${ADMIN_SECRET}`, accept: RESPONSE_TYPE } },
        `?query=${encodeURIComponent(text)}`,
      );
      expect(response.status).toBe(405);
      expect(response.headers.get('allow')).toBe('POST');
    }
    await nothingWasMade();
  });

  it.each(['PUT', 'DELETE', 'PATCH', 'OPTIONS'])('R-21: by %s is a 405', async (method) => {
    const response = await post(query(CREATE), {}, method);
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe('POST');
    await nothingWasMade();
  });

  it('R-22: may have members that nobody knows, and null for those it leaves out', async () => {
    const body = query('{__typename}', { foo: 1, variables: null, operationName: null, extensions: null });
    expect((await post(body)).status).toBe(200);
  });

  it.each<[string, Record<string, string>]>([
    ['without credentials', { authorization: '' }],
    ['with a wrong secret', { authorization: `Bearer ${ADMIN_SECRET}x` }],
    ['with the start of the secret', { authorization: `Bearer ${ADMIN_SECRET.slice(0, -1)}` }],
    ['with another scheme', { authorization: `Basic ${ADMIN_SECRET}` }],
    ['with an empty bearer', { authorization: 'Bearer ' }],
    ['with a wrong x-authorizer-admin-secret', { authorization: '', 'x-authorizer-admin-secret': 'wrong' }],
  ])('R-23: %s is a 401 with a challenge, whatever it asks', async (_title, headers) => {
    for (const body of [query(CREATE), 'NONSENSE', query('{__typename}')]) {
      const response = await post(body, headers);
      expect(response.status).toBe(401);
      expect(response.headers.get('www-authenticate')).toMatch(/^Bearer\b/);
      expect(response.headers.get('content-type')).toBe(`${JSON_TYPE}; charset=utf-8`);
      expect(await response.json()).toMatchObject({
        errors: [{ message: 'unauthorized', extensions: { code: 'UNAUTHENTICATED' } }],
      });
    }
    await nothingWasMade();
  });

  it('R-24: without credentials is refused before its method, type or body is looked at', async () => {
    expect((await server.fetch()).status).toBe(401);
    expect((await post('x', { authorization: '', 'content-type': 'text/plain' })).status).toBe(401);
    expect((await post('x'.repeat(300_000), { authorization: '' })).status).toBe(401);
  });

  it.each<[string, Record<string, string>]>([
    ['Authorization: Bearer', { authorization: `Bearer ${ADMIN_SECRET}` }],
    ['Authorization: bearer', { authorization: `bearer  ${ADMIN_SECRET}` }],
    ['x-authorizer-admin-secret', { authorization: '', 'x-authorizer-admin-secret': ADMIN_SECRET }],
  ])('is let in with %s', async (_title, headers) => {
    expect((await post(TYPENAME, headers)).status).toBe(200);
  });

  it('R-25: has a body of at most 256 KiB', async () => {
    const padded = (length: number) => TYPENAME.padEnd(length, ' ');
    expect((await post(padded(256 * 1024))).status).toBe(200);
    const response = await post(padded(256 * 1024 + 1));
    expect(response.status).toBe(413);
    expect(response.headers.get('content-type')).toBe(`${JSON_TYPE}; charset=utf-8`);
  });

  it('R-25: does not get around the limit by leaving out its length', async () => {
    const { hostname, port } = new URL(server.url);
    const socket = connect(Number(port), hostname);
    const answer = new Promise<string>((resolve, reject) => {
      socket.once('data', (data) => resolve(data.toString()));
      socket.once('error', reject);
    });
    socket.write(
      `POST /graphql HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ADMIN_SECRET}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
    );
    for (let chunk = 0; chunk < 5; chunk += 1) socket.write(`10000\r\n${' '.repeat(0x10000)}\r\n`);
    expect((await answer).split('\r\n')[0]).toBe('HTTP/1.1 413 Payload Too Large');
    socket.destroy();
  });

  it.each<[string, string]>([
    ['31 aliases', `{ ${Array.from({ length: 31 }, (_, i) => `a${i}: _signing_keys { kid }`).join(' ')} }`],
    [
      '1000 aliases in few words',
      `{ ...a } fragment a on Query { ${'...b '.repeat(40)} } fragment b on Query { ${Array.from({ length: 25 }, (_, i) => `c${i}: __typename`).join(' ')} }`,
    ],
    ['eleven levels', `{ _clients ${'{ clients '.repeat(10)}{ id } ${'}'.repeat(10)} }`],
    ['a deep introspection', `{ __schema { types ${'{ ofType '.repeat(20)}{ name } ${'}'.repeat(20)} } }`],
    [
      'lists within lists of the introspection',
      '{ __schema { types { fields { type { fields { type { fields { name } } } } } } } }',
    ],
    ['more than 2000 tokens', `{ _clients { clients { ${'id '.repeat(2000)} } } }`],
  ])('R-25: with %s is not executed', async (_title, text) => {
    for (const accept of [JSON_TYPE, RESPONSE_TYPE]) {
      const response = await post(query(text), { accept });
      const body = (await response.json()) as { data?: unknown; errors: { extensions: { code: string } }[] };
      expect(body).not.toHaveProperty('data');
      expect(body.errors[0]?.extensions.code).toMatch(/^(INVALID_ARGUMENT|GRAPHQL_(PARSE|VALIDATION)_FAILED)$/);
      if (accept === RESPONSE_TYPE) expect(response.status).toBe(400);
    }
  });

  it('R-26: is one request, not a list of them', async () => {
    const response = await post(`[${query(CREATE)},${query(CREATE)}]`);
    expect(response.status).toBe(400);
    await nothingWasMade();
  });

  it('lets GraphiQL introspect the schema', async () => {
    const { getIntrospectionQuery } = await import('graphql');
    const response = await post(query(getIntrospectionQuery({ specifiedByUrl: true, inputValueDeprecation: true })));
    expect(await response.json()).toMatchObject({ data: { __schema: { queryType: { name: 'Query' } } } });
  });

  it('serves no GraphiQL page where that is off', async () => {
    const response = await server.fetch({ headers: { accept: 'text/html', authorization: `Bearer ${ADMIN_SECRET}` } });
    expect(response.status).toBe(405);
  });
});

it('R-27: a fault is one sentence and the request id outside, and everything in the log', async () => {
  const fault = new Error('SQLITE_BUSY: select * from signing_keys', { cause: new Error('disk') });
  await using faulty = await startAdminServer({ dependencies: { listSigningKeys: () => Promise.reject(fault) } });
  const answer = await faulty.graphql('{ _signing_keys { kid } }');
  const requestId = answer.headers.get('x-request-id');
  expect(answer.errors).toEqual([
    {
      message: 'internal error',
      locations: expect.anything(),
      path: ['_signing_keys'],
      extensions: { code: 'INTERNAL', request_id: requestId },
    },
  ]);
  expect(JSON.stringify(answer.errors)).not.toMatch(/SQLITE|select|disk|\.ts/);
  expect(faulty.faults).toEqual([{ fields: { request_id: requestId, error: fault }, message: 'fault' }]);
});

it('R-27: an answer of ours that does not fit the schema is a fault, too', async () => {
  const keys = async () => [
    { kid: 'k', alg: 'ES256' as const, createdAt: 0.5, activeFrom: 0, activeUntil: null, removeAt: null },
  ];
  await using faulty = await startAdminServer({ dependencies: { listSigningKeys: keys } });
  const answer = await faulty.graphql('{ _signing_keys { created_at } }');
  expect(answer.errors).toMatchObject([{ message: 'internal error', extensions: { code: 'INTERNAL' } }]);
  expect(faulty.faults).toHaveLength(1);
});

it('is off without an admin secret, whatever is presented', async () => {
  await using off = await startAdminServer({ dependencies: { adminSecret: null } });
  for (const authorization of ['', 'Bearer ', 'Bearer null', `Bearer ${ADMIN_SECRET}`]) {
    const response = await off.fetch({
      method: 'POST',
      headers: { authorization, 'content-type': JSON_TYPE },
      body: TYPENAME,
    });
    expect(response.status).toBe(403);
    expect(await response.json()).toMatchObject({ errors: [{ extensions: { code: 'PERMISSION_DENIED' } }] });
  }
});

it('serves the GraphiQL page where that is on, to GET only, and runs no query from its address', async () => {
  await using loopback = await startAdminServer({ dependencies: { graphiql: true } });
  const page = await loopback.fetch({ headers: { accept: 'text/html' } }, `?query=${encodeURIComponent(CREATE)}`);
  expect(page.status).toBe(200);
  expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
  const html = await page.text();
  expect(html).toMatch(/graphiql/i);
  expect(html).not.toContain(ADMIN_SECRET);
  expect((await loopback.stores.registryStore.listClients({ limit: 1, offset: 0 })).total).toBe(0);
  expect((await loopback.fetch({ method: 'POST', headers: { accept: 'text/html' } })).status).toBe(401);
  expect((await loopback.fetch({ headers: { accept: JSON_TYPE } }, '?query={__typename}')).status).toBe(401);
});

it('repeats no assertion in an error about the fields beside it', async () => {
  await using server = await startAdminServer();
  const assertion = 'eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJ4IiwiYSI6MX0.c2lnbmF0dXJlLWJ5dGVz';
  const document = 'query($d: ExplainAssertionRequest!) { _explain_assertion(params: $d) { accepted } }';
  const byVariable = await server.graphql(document, { d: { assertion, extra: 1 } });
  const byLiteral = await server.graphql(
    `{ _explain_assertion(params: { assertion: "${assertion}", extra: 1 }) { accepted } }`,
  );
  for (const { errors } of [byVariable, byLiteral]) {
    expect(errors.length).toBeGreaterThan(0);
    expect(JSON.stringify(errors)).not.toContain(assertion);
  }
});
