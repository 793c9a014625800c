import { mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  createTokenClient,
  type TokenClient,
  TokenFileError,
  TokenRequestRefused,
  tokenFileSource,
} from '../../src/client/token-client.ts';
import { aClusterAssertion } from '../fixtures/assertions.ts';
import { type KubeletVolume, mountKubeletVolume } from '../fixtures/kubelet-volume.ts';
import { NOW, type SettableClock, settableClock } from '../fixtures/settable-clock.ts';
import { jsonAnswer, startTokenEndpoint, type TokenEndpoint } from '../fixtures/token-endpoint.ts';

/** The kubelet's token is good for an hour, the access token for half of that. */
const ASSERTION = aClusterAssertion().build();
const ASSERTION_ENDS = NOW + 3600;
const LIFETIME = 1800;
const NEXT_ASSERTION = aClusterAssertion()
  .with({ jti: 'next', iat: NOW + 2880, exp: NOW + 2880 + 3600 })
  .build();

let directory: string;
let volume: KubeletVolume;
let clock: SettableClock;
let endpoint: TokenEndpoint;
let heard: unknown[];
let waits: number[];
let client: TokenClient;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'renewal-'));
  volume = await mountKubeletVolume(join(directory, 'projected'));
  await volume.write(ASSERTION);
  clock = settableClock();
  endpoint = await startTokenEndpoint();
  endpoint.setLifetime(LIFETIME);
  heard = [];
  waits = [];
  client = createTokenClient({
    issuer: endpoint.issuer,
    source: tokenFileSource({ path: volume.tokenPath, clock }),
    clock,
    random: () => 0,
    sleep: async (milliseconds) => waits.push(milliseconds),
    onRenewalFailed: (error) => heard.push(error),
  });
});
afterEach(async () => {
  await endpoint.close();
  await rm(directory, { recursive: true });
});

const assertions = () => endpoint.forms.map((form) => form.get('client_assertion'));
const untilTokenIs = (accessToken: string) =>
  vi.waitFor(async () => expect(await client.getToken()).toMatchObject({ accessToken }), { interval: 2 });
const failure = () =>
  client.getToken().then(
    () => null,
    (error: unknown) => error,
  );

it('every exchange reads the file again, and finds what the kubelet has swapped in', async () => {
  await client.getToken();
  await volume.write(NEXT_ASSERTION);
  clock.advance(LIFETIME);
  await client.getToken();
  expect(assertions()).toEqual([ASSERTION, NEXT_ASSERTION]);
});

describe('while the file cannot be read', () => {
  it('the last good assertion is exchanged until it expires, and the last access token used until that does', async () => {
    await client.getToken();
    await volume.unmount();

    // In its last fifth the access token is renewed with the assertion that was read before.
    clock.set(NOW + 1440);
    await client.getToken();
    await untilTokenIs('access-token-2');
    clock.set(ASSERTION_ENDS - 361);
    await client.getToken();
    await untilTokenIs('access-token-3');
    expect(assertions()).toEqual([ASSERTION, ASSERTION, ASSERTION]);
    expect(heard).toEqual([]);

    // The assertion has expired: no exchange any more, but the access token of a moment ago is good for a while.
    clock.set(ASSERTION_ENDS - 361 + 1440);
    expect(await client.getToken()).toMatchObject({ accessToken: 'access-token-3' });
    await vi.waitFor(() => expect(heard).toHaveLength(1), { interval: 2 });
    clock.set(ASSERTION_ENDS - 361 + LIFETIME - 1);
    expect(await client.getToken()).toMatchObject({ accessToken: 'access-token-3' });

    clock.set(ASSERTION_ENDS - 361 + LIFETIME);
    const error = await failure();
    expect(error).toBeInstanceOf(TokenFileError);
    expect(error).toMatchObject({
      problem: 'unreadable',
      message: `token file ${volume.tokenPath}: cannot be read (ENOENT), and the last good token from it expired at 2026-11-30T13:00:00.000Z`,
    });
    expect(endpoint.forms).toHaveLength(3);
  });

  it('nothing is exchanged when nothing was ever read', async () => {
    await volume.unmount();
    expect(await failure()).toMatchObject({
      name: 'TokenFileError',
      message: `token file ${volume.tokenPath}: cannot be read (ENOENT)`,
    });
    expect(endpoint.forms).toHaveLength(0);
  });

  it('is over as soon as the kubelet has mounted the volume again', async () => {
    await client.getToken();
    await volume.unmount();
    clock.set(ASSERTION_ENDS);
    expect(await failure()).toBeInstanceOf(TokenFileError);
    const again = await mountKubeletVolume(join(directory, 'again'));
    await again.write(NEXT_ASSERTION);
    await rm(join(directory, 'projected'), { recursive: true });
    await rename(join(directory, 'again'), join(directory, 'projected'));
    expect(await client.getToken()).toMatchObject({ accessToken: 'access-token-2' });
  });
});

describe('the server’s answer', () => {
  it('503 temporarily_unavailable with Retry-After is waited out and asked again, with the file read anew', async () => {
    endpoint.queue(
      (request, response) =>
        void volume
          .write(NEXT_ASSERTION)
          .then(() => jsonAnswer(503, { error: 'temporarily_unavailable' }, { 'retry-after': '7' })(request, response)),
    );
    expect(await client.getToken()).toMatchObject({ accessToken: 'access-token-2' });
    expect(waits).toEqual([7125]);
    expect(assertions()).toEqual([ASSERTION, NEXT_ASSERTION]);
  });

  it('400 invalid_client costs one request, however often and fast the caller asks, until the kubelet has another token', async () => {
    endpoint.queue(jsonAnswer(400, { error: 'invalid_client' }));
    for (let calls = 0; calls < 50; calls += 1) expect(await failure()).toBeInstanceOf(TokenRequestRefused);
    expect(endpoint.forms).toHaveLength(1);
    expect(waits).toEqual([]);
    await volume.write(NEXT_ASSERTION);
    expect(await client.getToken()).toMatchObject({ accessToken: 'access-token-2' });
  });
});
