/** An OpenID Connect issuer whose one key is pasted, so that nothing is fetched, and the assertions that it makes. */
import { type JsonWebKey, randomUUID } from 'node:crypto';
import { AssertionBuilder, AUDIENCE } from '../fixtures/assertions.ts';
import type { RunningServer } from '../fixtures/running-server.ts';
import { ecKey, type IssuerKey, keySetOf } from './issuer-key.ts';

type Params = Readonly<Record<string, unknown>>;

export type PinnedIssuer = {
  readonly id: string;
  readonly url: string;
  readonly privateJwk: JsonWebKey;
  /** A valid assertion of this issuer for `sub`, made now and not used yet. */
  assertion(sub: string, claims?: Params): AssertionBuilder;
};

export type PinnedIssuerOptions = {
  /** Fields of its row besides the address and the keys. */
  readonly fields?: Params;
  /** An elliptic key of its own if not given. */
  readonly key?: IssuerKey;
};

/** Registers the issuer `url` and binds `subjects` to a client. */
export async function pinIssuer(
  server: RunningServer,
  url: string,
  clientId: string,
  subjects: readonly string[] = [],
  { fields = {}, key = ecKey('k1') }: PinnedIssuerOptions = {},
): Promise<PinnedIssuer> {
  const { id } = await server.addIssuer({
    name: url.slice(0, 100),
    issuer_url: url,
    issuer_type: 'oidc',
    jwks: JSON.stringify(keySetOf(key)),
    ...fields,
  });
  for (const subject of subjects) await server.addBinding({ trusted_issuer_id: id, client_id: clientId, subject });
  return {
    id,
    url,
    privateJwk: key.privateJwk,
    assertion(sub, claims = {}) {
      const now = server.clock();
      const base = { iss: url, sub, aud: AUDIENCE, iat: now, exp: now + 300, jti: randomUUID() };
      return new AssertionBuilder({ alg: key.alg, kid: key.kid ?? undefined }, { ...base, ...claims }, key.privateJwk);
    },
  };
}
