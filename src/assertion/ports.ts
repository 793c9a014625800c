/**
 * What the trust decision asks of the world. `storage/` and `key-source/` implement these; `app.ts` wires them.
 * Every method may reject: that is a fault (database down, bug) and becomes a 5xx, never bad credentials.
 */
import type { Result } from '../result.ts';
import type { KeySet } from './key-set.ts';
import type { AssertionRefusal } from './refusal.ts';
import type { TrustedIssuer } from './trusted-issuer.ts';
import type { BoundClient, KubernetesIdentity } from './verified-workload.ts';
import type { WorkloadBinding } from './workload-binding.ts';

export type TrustedIssuers = {
  /** The row whose `issuerUrl` or one of whose `additionalIssuerUrls` is exactly `iss`, active or not. */
  findByIssuerUrl(iss: string): Promise<TrustedIssuer | null>;
  findById(id: string): Promise<TrustedIssuer | null>;
};

export type WorkloadBindings = {
  /** All bindings of one subject of one issuer, active or not. */
  findBySubject(trustedIssuerId: string, subject: string): Promise<readonly WorkloadBinding[]>;
};

/** Keys of an issuer as they stand, or why there are none to be had right now. */
export type KeySetLookup =
  | { readonly available: true; readonly keySet: KeySet }
  | {
      readonly available: false;
      /** For the admin: `discovery answered 403`, `connect ECONNREFUSED`, … Never shown to the caller. */
      readonly detail: string;
      readonly retryAfterSeconds: number;
    };

export type IssuerKeys = {
  /** The current set, from the cache where it is fresh. Concurrent calls share one fetch. */
  current(issuer: TrustedIssuer): Promise<KeySetLookup>;
  /**
   * Called when a `kid` is not in the current set: fetches again, at most once per issuer in
   * `UNKNOWN_KID_COOLDOWN_SECONDS`; within that time it answers with the set that is there.
   */
  refetch(issuer: TrustedIssuer): Promise<KeySetLookup>;
};

export type ReplayClaim = {
  /** 32 bytes, from `replayKey`. */
  readonly key: Uint8Array;
  /** `exp` plus skew: kept at least as long as the assertion would be accepted. */
  readonly expiresAt: number;
  readonly claimedAt: number;
  readonly requestId: string;
};

export type ReplayStore = {
  /** One atomic insert. Answers null to the first claim of a key, and the first claim to every other. */
  claim(claim: ReplayClaim): Promise<ReplayClaim | null>;
  /** The claim of a key, if there is one; claims nothing. */
  find(key: Uint8Array): Promise<ReplayClaim | null>;
  /** Deletes at most `limit` claims that expired before `now`; answers how many. */
  purge(now: number, limit: number): Promise<number>;
};

/** As much of the clients as the decision needs; `issuance/` has the whole of them. */
export type BoundClients<C extends BoundClient> = {
  findById(id: string): Promise<C | null>;
};

/**
 * What a platform's claims say beyond `sub`, one rule per issuer type that has any: `kubernetes/` implements the one
 * for `kubernetes_sa`.
 */
export type PlatformRules = {
  readonly isLegacyServiceAccountToken: (claims: Readonly<Record<string, unknown>>) => boolean;
  readonly readKubernetesIdentity: (
    subject: string,
    claims: Readonly<Record<string, unknown>>,
    issuer: TrustedIssuer,
  ) => Result<KubernetesIdentity, AssertionRefusal>;
};
