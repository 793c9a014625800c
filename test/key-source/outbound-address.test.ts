/** Where an outbound fetch may go: no connection at all is made to an address that was not vetted. */
import net from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createOutboundFetch, type FetchJsonRequest } from '../../src/key-source/outbound-fetch.ts';
import { type IssuerServer, startIssuerServer, TEST_CA_PEM } from '../fixtures/issuer-server.ts';

const REQUEST: FetchJsonRequest = { caPem: TEST_CA_PEM, allowPrivateNetwork: true, accept: 'application/json' };
const connect = vi.spyOn(net.Socket.prototype, 'connect');
let server: IssuerServer;

beforeEach(async () => {
  server = await startIssuerServer();
  server.json('/keys', { keys: [] });
  connect.mockClear();
});
afterEach(() => server.close());

describe('FET-01: no connection to an address that is not public, whatever its spelling', () => {
  const fetchJson = createOutboundFetch({ privateNetworks: [] });

  it.each([
    ['http://127.0.0.1:9/', 'plain_http_refused'],
    ['https://127.0.0.1/', 'address_refused'],
    ['https://169.254.169.254/latest/', 'address_refused'],
    ['https://10.0.0.5/', 'address_refused'],
    ['https://172.16.0.1/', 'address_refused'],
    ['https://192.168.1.1/', 'address_refused'],
    ['https://100.64.0.1/', 'address_refused'],
    ['https://0.0.0.0/', 'address_refused'],
    ['https://0/', 'address_refused'],
    ['https://224.0.0.1/', 'address_refused'],
    ['https://240.0.0.1/', 'address_refused'],
    ['https://255.255.255.255/', 'address_refused'],
    ['https://192.0.2.1/', 'address_refused'],
    ['https://198.18.0.1/', 'address_refused'],
    ['https://2130706433/', 'address_refused'],
    ['https://0x7f000001/', 'address_refused'],
    ['https://0x7f.1/', 'address_refused'],
    ['https://0177.0.0.1/', 'address_refused'],
    ['https://017700000001/', 'address_refused'],
    ['https://127.1/', 'address_refused'],
    ['https://①②⑦.⓪.⓪.①/', 'address_refused'],
    ['https://127.0.0.1./', 'address_refused'],
    ['https://[::1]/', 'address_refused'],
    ['https://[::]/', 'address_refused'],
    ['https://[::127.0.0.1]/', 'address_refused'],
    ['https://[::ffff:169.254.169.254]/', 'address_refused'],
    ['https://[::ffff:7f00:1]/', 'address_refused'],
    ['https://[64:ff9b::a9fe:a9fe]/', 'address_refused'],
    ['https://[2002:7f00:1::]/', 'address_refused'],
    ['https://[fe80::1]/', 'address_refused'],
    ['https://[fd00:ec2::254]/', 'address_refused'],
    ['https://[fc00::1]/', 'address_refused'],
    ['https://[ff02::1]/', 'address_refused'],
    ['https://[2001:db8::1]/', 'address_refused'],
    ['https://localhost/', 'address_refused'],
    ['file:///etc/passwd', 'scheme_refused'],
    ['ftp://example.com/', 'scheme_refused'],
    ['data:application/json,{}', 'scheme_refused'],
    ['unix:///var/run/docker.sock', 'scheme_refused'],
    ['https://user:secret@example.com/', 'credentials_in_url'],
    ['https://user@example.com/', 'credentials_in_url'],
    ['https://256.1.1.1/', 'url_invalid'],
    ['https://[fe80::1%25eth0]/', 'url_invalid'],
    ['/keys', 'url_invalid'],
    ['', 'url_invalid'],
  ])('%s is %s', async (url, code) => {
    expect(await fetchJson(url, REQUEST)).toMatchObject({ ok: false, error: { code } });
    expect(connect).not.toHaveBeenCalled();
  });

  it('a final dot does not make localhost another host', async () => {
    expect(await fetchJson('https://localhost./', REQUEST)).toMatchObject({ ok: false });
    expect(connect).not.toHaveBeenCalled();
  });

  it('needs the operator and the row for a private address, and names who is missing', async () => {
    const url = `${server.origin}/keys`;
    const listed = createOutboundFetch({ privateNetworks: ['127.0.0.0/8'] });
    expect(await fetchJson(url, REQUEST)).toMatchObject({ error: { range: 'loopback', remedy: 'operator' } });
    expect(await listed(url, { ...REQUEST, allowPrivateNetwork: false })).toMatchObject({ error: { remedy: 'row' } });
    expect(server.connections()).toBe(0);
    expect(await listed(url, REQUEST)).toMatchObject({ ok: true });
    expect(server.connections()).toBe(1);
  });
});

describe('FET-02: every resolved address is vetted at the time of the fetch, and the connection goes there', () => {
  it.each([
    ['a private address', ['10.0.0.5']],
    ['a public and a private address', ['203.0.114.1', '10.0.0.5']],
    ['the metadata service', ['169.254.169.254']],
    ['loopback over IPv6', ['127.0.0.1', '::1']],
    ['an IPv4-mapped address', ['::ffff:10.0.0.5']],
    ['something that is not an address', ['rebind.example.com']],
  ])('a name that resolves to %s is refused without a connection', async (_what, addresses) => {
    const fetchJson = createOutboundFetch({ privateNetworks: ['127.0.0.0/8'], lookup: async () => addresses });
    expect(await fetchJson('https://rebind.example.com/keys', REQUEST)).toMatchObject({
      ok: false,
      error: { code: 'address_refused', host: 'rebind.example.com', address: addresses.at(-1) },
    });
    expect(connect).not.toHaveBeenCalled();
  });

  it('a name is looked up once: its second answer is never used', async () => {
    const answers = [['127.0.0.1'], ['127.0.0.66']];
    const lookup = vi.fn(async () => answers.shift() ?? []);
    const fetchJson = createOutboundFetch({ privateNetworks: ['127.0.0.0/8'], lookup });
    expect(await fetchJson(`https://issuer.test:${server.port}/keys`, REQUEST)).toMatchObject({ ok: true });
    expect(lookup.mock.calls).toEqual([['issuer.test']]);
    expect(server.requests[0]?.headers.host).toBe(`issuer.test:${server.port}`);
  });

  it('a name that was public when it was saved and is private when it is fetched is refused then', async () => {
    const fetchJson = createOutboundFetch({ privateNetworks: [], lookup: async () => ['127.0.0.1'] });
    expect(await fetchJson(`https://issuer.test:${server.port}/keys`, REQUEST)).toMatchObject({
      error: { code: 'address_refused', address: '127.0.0.1' },
    });
    expect(server.connections()).toBe(0);
  });

  it('goes on to the next vetted address when one does not answer', async () => {
    const fetchJson = createOutboundFetch({
      privateNetworks: ['127.0.0.0/8'],
      lookup: async () => ['127.0.0.2', '127.0.0.1'],
    });
    expect(await fetchJson(`https://issuer.test:${server.port}/keys`, REQUEST)).toMatchObject({ ok: true });
  });
});

describe('plain http', () => {
  const lookups: Record<string, readonly string[]> = {
    'inside.test': ['127.0.0.1'],
    'outside.test': ['203.0.114.1'],
    'mixed.test': ['127.0.0.1', '203.0.114.1'],
  };
  const lookup = async (host: string) => lookups[host] ?? [];
  let plain: IssuerServer;
  beforeEach(async () => {
    plain = await startIssuerServer('http');
    plain.json('/keys', { keys: [] });
  });
  afterEach(() => plain.close());

  it('is fetched within an allowed private network', async () => {
    const fetchJson = createOutboundFetch({ privateNetworks: ['127.0.0.0/8'], lookup });
    expect(await fetchJson(`http://inside.test:${plain.port}/keys`, REQUEST)).toMatchObject({ ok: true });
  });

  it.each([
    ['without the row', ['127.0.0.0/8'], 'inside.test', false],
    ['without the operator', [], 'inside.test', true],
    ['to a public address', ['127.0.0.0/8'], 'outside.test', true],
    ['where one address is public', ['127.0.0.0/8'], 'mixed.test', true],
  ])('is refused %s', async (_what, privateNetworks, host, allowPrivateNetwork) => {
    const fetchJson = createOutboundFetch({ privateNetworks, lookup });
    expect(await fetchJson(`http://${host}:${plain.port}/keys`, { ...REQUEST, allowPrivateNetwork })).toEqual({
      ok: false,
      error: { code: 'plain_http_refused', host },
    });
    expect(connect).not.toHaveBeenCalled();
  });
});
