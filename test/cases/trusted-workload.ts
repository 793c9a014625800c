/**
 * A trusted issuer, a client and the binding between them, made through the admin API as an admin would, and the
 * tokens that a workload of that issuer asks for.
 */
import { randomUUID } from 'node:crypto';
import { type AssertionBuilder, aClusterAssertion } from '../fixtures/assertions.ts';
import { TEST_CA_PEM } from '../fixtures/issuer-server.ts';
import type { Answer, RunningServer } from '../fixtures/running-server.ts';
import type { IssuerKey } from './issuer-key.ts';

export type IssuerFields = Readonly<Record<string, unknown>>;

export type SavedIssuer = { readonly id: string; readonly warnings: readonly string[] };

export type RefusedSave = { readonly code: string; readonly message: string };

export type KeysState = {
  readonly loaded_at: number | null;
  readonly stale: boolean;
  readonly last_error: string | null;
  readonly next_try_at: number | null;
  readonly kids: readonly (string | null)[];
};

const ADD = 'mutation ($params: AddTrustedIssuerRequest!) { _add_trusted_issuer(params: $params) { id warnings } }';
const UPDATE =
  'mutation ($params: UpdateTrustedIssuerRequest!) { _update_trusted_issuer(params: $params) { id warnings } }';
const DELETE = 'mutation ($params: TrustedIssuerRequest!) { _delete_trusted_issuer(params: $params) { message } }';
const KEYS = `query ($params: TrustedIssuerRequest!) { _trusted_issuer(params: $params) {
  keys { loaded_at stale last_error next_try_at kids } } }`;

/** What stand-in issuers on loopback need, besides where their keys are. */
const ON_LOOPBACK: IssuerFields = {
  name: 'stand-in issuer',
  issuer_type: 'kubernetes_sa',
  allow_private_network: true,
  ca_pem: TEST_CA_PEM,
};

/** An issuer's fields as an admin would send them. */
export function issuerFields(fields: IssuerFields): IssuerFields {
  return { ...ON_LOOPBACK, ...fields };
}

/** Registers an issuer that must be accepted. */
export function saveIssuer(server: RunningServer, fields: IssuerFields): Promise<SavedIssuer> {
  return server.admin(ADD, issuerFields(fields));
}

/** Tries to register an issuer that must be refused. */
export async function refusedIssuer(server: RunningServer, fields: IssuerFields): Promise<RefusedSave & Answer> {
  const answer = await server.graphql(ADD, { params: issuerFields(fields) });
  const { errors } = JSON.parse(answer.text) as {
    errors?: readonly { message: string; extensions?: { code?: string } }[];
  };
  const [error] = errors ?? [];
  if (error === undefined) throw new Error(`the issuer was saved: ${answer.text}`);
  return { ...answer, code: error.extensions?.code ?? 'none', message: error.message };
}

/** A workload of one trusted issuer. */
export class TrustedWorkload {
  readonly server: RunningServer;
  readonly issuerId: string;
  readonly issuerUrl: string;
  readonly clientId: string;
  /** Of the write that made the issuer. */
  readonly warnings: readonly string[];

  constructor(server: RunningServer, saved: SavedIssuer, issuerUrl: string, clientId: string) {
    this.server = server;
    this.issuerId = saved.id;
    this.issuerUrl = issuerUrl;
    this.clientId = clientId;
    this.warnings = saved.warnings;
  }

  /** An assertion of this issuer, made now and not used yet. */
  assertion(key: IssuerKey): AssertionBuilder {
    const now = this.server.clock();
    return aClusterAssertion()
      .with({ iss: this.issuerUrl, iat: now, nbf: now, exp: now + 3600, jti: randomUUID() })
      .withHeader({ alg: key.alg, kid: key.kid ?? undefined })
      .signedBy(key.privateJwk);
  }

  /** Asks for a token with such an assertion. */
  token(key: IssuerKey): Promise<Answer> {
    return this.server.token(this.assertion(key).build());
  }

  /** Changes the trusted issuer. */
  update(fields: IssuerFields): Promise<SavedIssuer> {
    return this.server.admin(UPDATE, { id: this.issuerId, ...fields });
  }

  /** Deletes the trusted issuer, and with it the binding. */
  async remove(): Promise<void> {
    await this.server.admin(DELETE, { id: this.issuerId });
  }

  /** How the issuer's keys stand in the server that is asked. */
  async keys(server: RunningServer = this.server): Promise<KeysState | null> {
    const { keys } = await server.admin<{ keys: KeysState | null }>(KEYS, { id: this.issuerId });
    return keys;
  }
}

/** Registers the issuer of `fields`, a client of its own, and a binding between them. */
export async function trustWorkload(
  server: RunningServer,
  fields: IssuerFields & { readonly issuer_url: string },
): Promise<TrustedWorkload> {
  const saved = await saveIssuer(server, fields);
  const { client } = await server.createClient({ client_id: `client-of-${saved.id}` });
  await server.addBinding({ trusted_issuer_id: saved.id, client_id: client.id });
  return new TrustedWorkload(server, saved, fields.issuer_url, client.client_id);
}
