/** What issuing asks of the world; `storage/` implements it and `app.ts` wires it. */
import type { Client, ClientSecret } from './client.ts';
import type { SigningKey } from './signing-key.ts';

export type Clients = {
  findByClientId(clientId: string): Promise<Client | null>;
  findById(id: string): Promise<Client | null>;
  findSecrets(clientRowId: string): Promise<readonly ClientSecret[]>;
};

export type RevokedToken = { readonly jti: string; readonly expiresAt: number; readonly revokedAt: number };

export type RevokedTokens = {
  /** Idempotent. */
  revoke(token: RevokedToken): Promise<void>;
  isRevoked(jti: string): Promise<boolean>;
  /** Deletes at most `limit` entries whose token has expired before `now`; answers how many. */
  purge(now: number, limit: number): Promise<number>;
};

export type SigningKeyStore = {
  /** All keys that are not removed at `now`, private parts unsealed. */
  list(now: number): Promise<readonly SigningKey[]>;
  /** Stores `key` unless one of its algorithm exists already (two replicas' first start). True when stored. */
  insertFirst(key: SigningKey): Promise<boolean>;
  /**
   * In one transaction: stores `next` and ends keys of its algorithm. Normally those that have no end yet; after a
   * compromise (`endAll`) every one that is still published.
   */
  rotate(
    next: SigningKey,
    end: { readonly activeUntil: number; readonly removeAt: number },
    endAll: boolean,
  ): Promise<void>;
};
