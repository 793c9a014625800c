import { describe, expect, it } from 'vitest';
import { parseEndpointAddress } from '../../src/client/endpoint-address.ts';

describe('an endpoint address', () => {
  it.each([
    'https://as.example.com/oauth/token',
    'https://10.0.0.1:8443/token',
    'http://127.0.0.1:8080/oauth/token',
    'http://127.9.9.9/token',
    'http://[::1]:8080/token',
    'http://localhost:8080/token',
  ])('%s may be used', (address) => {
    expect(parseEndpointAddress('tokenEndpoint', address, false)).toMatchObject({ ok: true });
  });

  it.each([
    ['http://countersign.countersign.svc:8080/oauth/token'],
    ['http://10.0.0.1/token'],
    ['http://localhost.example.com/token'],
    ['http://127.0.0.1.example.com/token'],
  ])('%s is plain http over a network, for which the operator must ask', (address) => {
    const refused = parseEndpointAddress('tokenEndpoint', address, false);
    expect(refused).toEqual({
      ok: false,
      error: expect.stringMatching(/^tokenEndpoint must be https: .*allowInsecure/),
    });
    expect(parseEndpointAddress('tokenEndpoint', address, true)).toMatchObject({ ok: true });
  });

  it.each([
    ['not a URL', 'tokenEndpoint is not a URL'],
    ['/oauth/token', 'tokenEndpoint is not a URL'],
    ['file:///etc/passwd', 'tokenEndpoint must be an https URL, not file:'],
    ['https://user:secret@as.example.com/token', 'tokenEndpoint must not contain credentials'],
    ['https://as.example.com/token#x', 'tokenEndpoint must not have a fragment'],
  ])('%s is refused even then', (address, error) => {
    expect(parseEndpointAddress('tokenEndpoint', address, true)).toEqual({ ok: false, error });
  });
});
