/**
 * The engine: oidc-provider behind the decision. It is handed a grant and writes it down as an RFC 6749 token response
 * with an RFC 9068 access token. Nothing of the outside reaches it (`engine-request.ts`), and what it would decide by
 * itself has been decided before (`issuance/grant.ts`). This is the one file that knows its configuration.
 */
import { createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto';
import { type IncomingMessage, ServerResponse } from 'node:http';
import {
  type Adapter,
  type ClientMetadata,
  type Configuration,
  ExternalSigningKey,
  type KoaContextWithOIDC,
  Provider,
} from 'oidc-provider';
import { accessTokenClaims, newTokenId } from '../issuance/access-token.ts';
import type { Grant } from '../issuance/grant.ts';
import type { SigningKey } from '../issuance/signing-key.ts';
import type { SigningKeyRing } from '../issuance/signing-key-ring.ts';
import { ENGINE_TOKEN_PATH, EngineRequest } from './engine-request.ts';
import { EngineTickets } from './engine-ticket.ts';

/** The body of a successful token response (RFC 6749 §5.1). */
export type TokenResponse = {
  readonly access_token: string;
  readonly token_type: string;
  readonly expires_in: number;
  readonly scope?: string;
};

export type IssuedToken = { readonly jti: string; readonly response: TokenResponse };

/** Writes a decided grant down as a token. Rejects only on faults. */
export type TokenIssuer = { issue(grant: Grant): Promise<IssuedToken> };

/**
 * The engine's only client. Whoever holds a ticket is it; which client a token is for is in the grant. Never `none` as
 * its method: the engine would let anyone use client_credentials.
 */
const TICKET_HOLDER = {
  client_id: 'ticket-holder',
  client_secret: 'never compared: see compareTicket',
  token_endpoint_auth_method: 'client_secret_post',
  grant_types: ['client_credentials'],
  response_types: [],
  redirect_uris: [],
} satisfies ClientMetadata;

type Issuing = { readonly grant: Grant; readonly jti: string; answer?: { status: number; body: unknown } };

/** The engine for our issuer identifier; follows key rotation by building itself anew. */
export function createEngine(ownIssuer: string, ring: SigningKeyRing): TokenIssuer {
  let current: { readonly kids: string; readonly engine: Engine } | null = null;
  return {
    async issue(grant) {
      const keys = await ring.active();
      const kids = keys.map(({ kid }) => kid).join();
      // Its keys are fixed at construction. A request under way ends with the instance it began with.
      if (current?.kids !== kids) current = { kids, engine: new Engine(ownIssuer, keys) };
      return current.engine.issue(grant);
    },
  };
}

class Engine {
  readonly #issuing = new WeakMap<object, Issuing>();
  readonly #tickets = new EngineTickets();
  readonly #host: string;
  readonly #handle: ReturnType<Provider['callback']>;

  constructor(ownIssuer: string, keys: readonly SigningKey[]) {
    this.#host = new URL(ownIssuer).host;
    const provider = new Provider(ownIssuer, this.#configuration(ownIssuer, keys));
    const tickets = this.#tickets;
    provider.Client.prototype.compareClientSecret = function compareTicket(ticket: string) {
      return tickets.redeem(ticket);
    };
    provider.use(async (ctx, next) => {
      await next();
      const issuing = this.#issuing.get(ctx.req);
      if (issuing !== undefined) issuing.answer = { status: ctx.status, body: ctx.body };
      ctx.respond = false;
    });
    this.#handle = provider.callback();
  }

  async issue(grant: Grant): Promise<IssuedToken> {
    const ticket = this.#tickets.issue();
    const form = new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: TICKET_HOLDER.client_id,
      client_secret: ticket,
      resource: grant.audiences[0] ?? '',
    });
    if (grant.scopes.length > 0) form.set('scope', grant.scopes.join(' '));
    const request = new EngineRequest(form, this.#host);
    const issuing: Issuing = { grant, jti: newTokenId(grant.client) };
    this.#issuing.set(request, issuing);
    try {
      const incoming = request as unknown as IncomingMessage; // as much of one as the engine reads
      await this.#handle(incoming, new ServerResponse(incoming));
    } finally {
      this.#tickets.redeem(ticket);
    }
    const { answer } = issuing;
    if (answer?.status !== 200) throw new Error(`the engine answered ${answer?.status}`, { cause: answer?.body });
    return { jti: issuing.jti, response: answer.body as TokenResponse };
  }

  #grantOf(ctx: KoaContextWithOIDC): Issuing {
    const issuing = this.#issuing.get(ctx.req);
    if (issuing === undefined) throw new Error('the engine was entered without a grant');
    return issuing;
  }

  #configuration(ownIssuer: string, keys: readonly SigningKey[]): Configuration {
    return {
      adapter: NoState,
      clients: [TICKET_HOLDER],
      jwks: { keys: keys.map((key) => new SealedSigningKey(key)) as never[] }, // the types know JWKs only
      routes: { token: ENGINE_TOKEN_PATH },
      clientAuthMethods: ['client_secret_post'],
      enabledJWA: { idTokenSigningAlgValues: ['ES256', 'RS256'] },
      clientDefaults: { id_token_signed_response_alg: 'ES256' },
      ttl: { ClientCredentials: (ctx) => lifetimeOf(this.#grantOf(ctx as KoaContextWithOIDC).grant) },
      formats: {
        customizers: {
          jwt: (ctx, _token, jwt) => {
            const { grant, jti } = this.#grantOf(ctx as KoaContextWithOIDC);
            jwt.payload = { ...accessTokenClaims(grant, ownIssuer, jti) };
          },
        },
      },
      features: {
        clientCredentials: { enabled: true },
        resourceIndicators: {
          enabled: true,
          getResourceServerInfo: (ctx, resource) => {
            const { grant } = this.#grantOf(ctx as KoaContextWithOIDC);
            return {
              scope: grant.scopes.join(' '),
              audience: resource,
              accessTokenTTL: lifetimeOf(grant),
              accessTokenFormat: 'jwt',
              jwt: { sign: { alg: grant.client.accessTokenSigningAlg } },
            };
          },
        },
        devInteractions: { enabled: false },
        userinfo: { enabled: false },
        rpInitiatedLogout: { enabled: false },
        pushedAuthorizationRequests: { enabled: false },
        dPoP: { enabled: false },
        introspection: { enabled: false },
        revocation: { enabled: false },
        externalSigningSupport: { enabled: true, ack: 'experimental-01' },
      },
    };
  }
}

const lifetimeOf = (grant: Grant): number => grant.expiresAt - grant.issuedAt;

/** The engine keeps nothing: JWT access tokens are not stored, and its only client is static. */
class NoState implements Adapter {
  async find(): Promise<undefined> {}
  async findByUid(): Promise<undefined> {}
  async findByUserCode(): Promise<undefined> {}
  async upsert(): Promise<undefined> {}
  async consume(): Promise<undefined> {}
  async destroy(): Promise<undefined> {}
  async revokeByGrantId(): Promise<undefined> {}
}

/** A key that the engine may use but never see: it signs here, with node:crypto (cheaper than WebCrypto's job queue). */
class SealedSigningKey extends ExternalSigningKey {
  readonly #publicKey: KeyObject;
  readonly #privateKey: KeyObject;

  constructor(key: SigningKey) {
    super();
    Object.assign(this, { kid: key.kid, alg: key.alg }); // setters that the types do not know
    this.#publicKey = createPublicKey({ key: key.publicJwk, format: 'jwk' });
    this.#privateKey = createPrivateKey({ key: Buffer.from(key.privateKeyDer), format: 'der', type: 'pkcs8' });
  }

  override keyObject(): KeyObject {
    return this.#publicKey;
  }

  override async sign(data: Uint8Array): Promise<Uint8Array> {
    return sign('sha256', data, { key: this.#privateKey, dsaEncoding: 'ieee-p1363' });
  }
}
