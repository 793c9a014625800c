/**
 * The key cache over a registry that the test writes, real issuers on loopback, and a clock that only the test moves. A
 * `kid` stands for a signature here: what is in the set decides which tokens can be verified.
 */
import type { ServerResponse } from 'node:http';
import { expect } from 'vitest';
import type { KeySetLookup } from '../../src/assertion/ports.ts';
import type { TrustedIssuer } from '../../src/assertion/trusted-issuer.ts';
import { type CachedIssuerKeys, createIssuerKeys } from '../../src/key-source/issuer-keys.ts';
import { createOutboundFetch, type FetchJson } from '../../src/key-source/outbound-fetch.ts';
import { type IssuerServer, startIssuerServer } from '../fixtures/issuer-server.ts';
import { type SettableClock, settableClock } from '../fixtures/settable-clock.ts';
import { issuerRow } from './issuer-row.ts';
import { ecJwk, type PublicJwk } from './public-jwk.ts';

/** Any name is loopback, but for one that does not resolve. */
export const fetchJson = createOutboundFetch({
  privateNetworks: ['127.0.0.0/8'],
  lookup: async (host) => {
    if (host === 'nowhere.test') throw Object.assign(new Error('no such name'), { code: 'ENOTFOUND' });
    return ['127.0.0.1'];
  },
});

export type Held = { readonly waiting: ServerResponse[]; readonly arrived: (count: number) => Promise<void> };

export class IssuerWorld {
  readonly server: IssuerServer;
  readonly clock: SettableClock = settableClock();
  /** The registry. */
  readonly rows = new Map<string, TrustedIssuer>();
  /** What the observer was told. */
  readonly events: (readonly [string, ...unknown[]])[] = [];
  /** How often all rows were read. */
  listings = 0;
  jitter = 0;
  /** Set by a test that wants the registry to stand still, or to be away. */
  generation: number | null = null;
  isRegistryDown = false;
  readonly #listeners: (() => void)[] = [];
  readonly #opened: CachedIssuerKeys[] = [];
  #reads = 0;

  constructor(server: IssuerServer) {
    this.server = server;
  }

  open(fetch: FetchJson = fetchJson): CachedIssuerKeys {
    const { rows, events } = this;
    const keys = createIssuerKeys({
      fetchJson: fetch,
      trustedIssuers: { findById: async (id) => rows.get(id) ?? null },
      activeIssuers: {
        generation: async () => {
          if (this.isRegistryDown) throw new Error('the database is away');
          this.#reads += 1;
          return this.generation ?? this.#reads;
        },
        list: async () => {
          this.listings += 1;
          return [...rows.values()].filter(({ isActive }) => isActive);
        },
        findById: async (id) => rows.get(id) ?? null,
        onMove: (listener) => void this.#listeners.push(listener),
      },
      isSelfIssued: ({ id }) => id.startsWith('client:'),
      clock: this.clock,
      stopwatch: () => performance.now() / 1000,
      jitter: () => this.jitter,
      frugally: (work) => work(),
      observer: {
        fetched: ({ issuer, outcome }) => void events.push(['fetched', issuer.id, outcome]),
        staleUsed: (id) => void events.push(['staleUsed', id]),
        keyShared: (_thumbprint, holders) => void events.push(['keyShared', ...holders.map(({ id }) => id)]),
        faulted: (id, error) => void events.push(['faulted', id, error]),
      },
    });
    this.#opened.push(keys);
    return keys;
  }

  /** A stored row whose keys are served at `/<id>`. */
  row(change: Partial<TrustedIssuer> = {}): TrustedIssuer {
    const id = change.id ?? 'one';
    const jwksUrl = `${this.server.origin}/${id}`;
    const stored = issuerRow({ id, name: `issuer ${id}`, keySourceType: 'static_jwks_url', jwksUrl, ...change });
    this.rows.set(id, stored);
    return stored;
  }

  /** Says that the registry has changed, as a write of this process does. */
  moved(): void {
    for (const listener of this.#listeners) listener();
  }

  /** Serves keys of an issuer's own, also where two use one kid. */
  publish(id: string, kids: readonly string[], headers: Record<string, string> = {}): void {
    this.server.json(`/${id}`, keySetOf(id, kids), headers);
  }

  /** Lets requests arrive, and answers them when the test says so. */
  hold(path: string): Held {
    const waiting: ServerResponse[] = [];
    this.server.route(path, (_request, response) => void waiting.push(response));
    return { waiting, arrived: (count) => until(() => waiting.length >= count) };
  }

  async close(): Promise<void> {
    await Promise.all(this.#opened.map((keys) => keys.close()));
    await this.server.close();
  }
}

export async function startIssuerWorld(): Promise<IssuerWorld> {
  return new IssuerWorld(await startIssuerServer());
}

function keySetOf(id: string, kids: readonly string[]) {
  return { keys: kids.map((kid): PublicJwk => ({ ...ecJwk(`${id} ${kid}`), kid })) };
}

/** Ends a held request with the keys that an issuer would publish. */
export function answer(response: ServerResponse | undefined, id: string, kids: readonly string[]): void {
  response?.end(JSON.stringify(keySetOf(id, kids)));
}

export async function until(condition: () => boolean): Promise<void> {
  for (let tries = 0; !condition() && tries < 1000; tries += 1) await new Promise((resolve) => setTimeout(resolve, 1));
  expect(condition()).toBe(true);
}

export const kidsOf = (lookup: KeySetLookup) =>
  lookup.available ? lookup.keySet.keys.map((key) => key.kid) : `unavailable: ${lookup.detail}`;

/** As the verification does it: the set that is there, and one more look for a kid that is not in it. */
export async function knows(
  keys: CachedIssuerKeys,
  issuer: TrustedIssuer,
  kid: string,
): Promise<boolean | 'unavailable'> {
  const has = (lookup: KeySetLookup) =>
    lookup.available ? lookup.keySet.keys.some((key) => key.kid === kid) : ('unavailable' as const);
  const first = has(await keys.current(issuer));
  return first === false ? has(await keys.refetch(issuer)) : first;
}
