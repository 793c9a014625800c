/**
 * The authorization server's public keys, kept by a protected API. The set lives through an outage of the server, a
 * rotation is noticed when its `kid` first shows up, and neither garbage tokens nor an outage can make the API hammer
 * the server. Only ever the keys of the one configured issuer (RFC 9068 §4): nothing in a token points to a key.
 */
import { readJwkSet, type VerificationKey } from '../assertion/key-set.ts';
import { boundedFetch, DEFAULT_FETCH_LIMITS, describeFetchFault, type Fetch } from '../client/bounded-fetch.ts';
import { parseEndpointAddress, requireEndpointAddress } from '../client/endpoint-address.ts';
import { fetchServerMetadata } from '../client/server-metadata.ts';
import type { Clock } from '../clock.ts';
import { err, ok, type Result } from '../result.ts';

/** The `max-age` of the server's JWKS answer. After it the set is renewed in the background. */
const RENEW_AFTER_SECONDS = 300;
/** After twice that a request waits for the renewal, so that an API that was idle does not use a key that is gone. */
const AWAIT_RENEWAL_AFTER_SECONDS = 600;
/** How long the last good set is used while the server is away. */
const MAX_STALE_SECONDS = 86_400;
/** An unknown `kid` costs at most one fetch in this time. */
const UNKNOWN_KID_COOLDOWN_SECONDS = 30;
/** After a failed fetch: short, because an API without keys serves nobody. */
const FAILURE_COOLDOWN_SECONDS = 5;

export type KeyLookup =
  /** The keys with that `kid`; none when the server has no such key. */
  | { readonly available: true; readonly keys: readonly VerificationKey[] }
  | { readonly available: false; readonly detail: string; readonly retryAfterSeconds: number };

export type ServerKeys = { find(kid: string): Promise<KeyLookup> };

export type ServerKeysSettings = {
  readonly issuer: string;
  /** Null: from the issuer's metadata (RFC 8414). */
  readonly jwksUri: string | null;
  readonly allowInsecureEndpoint: boolean;
  readonly fetch: Fetch;
  readonly clock: Clock;
};

/** Fetches nothing before the first `find`. Settings that cannot be used throw a `TypeError`. */
export function createServerKeys({
  issuer,
  jwksUri,
  allowInsecureEndpoint,
  fetch,
  clock,
}: ServerKeysSettings): ServerKeys {
  requireEndpointAddress(jwksUri === null ? 'issuer' : 'jwksUri', jwksUri ?? issuer, allowInsecureEndpoint);
  const limitedFetch = boundedFetch(fetch, DEFAULT_FETCH_LIMITS);
  let loaded: { readonly keys: readonly VerificationKey[]; readonly at: number } | null = null;
  let failure: { readonly detail: string; readonly until: number } | null = null;
  let renewal: Promise<void> | null = null;

  const age = (): number => (loaded === null ? Number.POSITIVE_INFINITY : clock() - loaded.at);

  /** Single flight, and none while the last failure is fresh. Never rejects: a failure is kept instead. */
  function renew(): Promise<void> {
    if (failure !== null && clock() < failure.until) return Promise.resolve();
    renewal ??= load().finally(() => {
      renewal = null;
    });
    return renewal;
  }

  async function load(): Promise<void> {
    const result = await fetchKeys().catch((error: unknown) => err(describeFetchFault(error)));
    if (result.ok) {
      loaded = { keys: result.value, at: clock() };
      failure = null;
    } else {
      failure = { detail: result.error, until: clock() + FAILURE_COOLDOWN_SECONDS };
    }
  }

  async function fetchKeys(): Promise<Result<readonly VerificationKey[], string>> {
    const address = await findJwksUri();
    if (!address.ok) return address;
    const response = await limitedFetch(address.value, { headers: { accept: 'application/json' } });
    if (response.status !== 200) return err(`the key set was answered with ${response.status}`);
    const document: unknown = await response.json();
    const set = await readJwkSet(document);
    return set.ok ? ok(set.value.keys) : set;
  }

  async function findJwksUri(): Promise<Result<string, string>> {
    if (jwksUri !== null) return ok(jwksUri);
    const { metadata } = await fetchServerMetadata(issuer, limitedFetch, allowInsecureEndpoint);
    if (!metadata.ok) return metadata;
    if (metadata.value.jwks_uri === undefined) return err('the metadata has no jwks_uri');
    const address = parseEndpointAddress('jwks_uri of the metadata', metadata.value.jwks_uri, allowInsecureEndpoint);
    return address.ok ? ok(address.value.href) : address;
  }

  return {
    async find(kid) {
      if (age() >= RENEW_AFTER_SECONDS) {
        const renewed = renew();
        if (age() >= AWAIT_RENEWAL_AFTER_SECONDS) await renewed;
      }
      const known = keysOf(loaded, kid);
      if (known.length > 0 && age() < MAX_STALE_SECONDS) return { available: true, keys: known };
      if (age() >= UNKNOWN_KID_COOLDOWN_SECONDS) await renew();
      // While the server cannot be asked, a new key is as likely as a bad token: the caller should come back.
      if (failure !== null) {
        return {
          available: false,
          detail: failure.detail,
          retryAfterSeconds: Math.max(1, failure.until - clock()),
        };
      }
      return { available: true, keys: keysOf(loaded, kid) };
    },
  };
}

function keysOf(set: { readonly keys: readonly VerificationKey[] } | null, kid: string): readonly VerificationKey[] {
  return set?.keys.filter((key) => key.kid === kid) ?? [];
}
