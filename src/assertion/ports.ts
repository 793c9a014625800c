/**
 * What the trust decision asks of the world. `storage/` and `key-source/` implement these; `app.ts` wires them.
 * Every method may reject: that is a fault (database down, bug) and becomes a 5xx, never bad credentials.
 */
import type { Result } from '../result.ts';
import type { DenyListEntry, IdentityMember } from './deny-list.ts';
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

/** As much of a trusted issuer as the care for its keys needs between two fetches: small, since all of them are kept. */
export type ActiveIssuer = Pick<
  TrustedIssuer,
  'id' | 'name' | 'keySourceType' | 'keySourceRevision' | 'keySourceUpdatedAt' | 'updatedAt'
>;

/** The registry as those see it who care for the keys of all issuers, asked about or not. */
export type ActiveIssuers = {
  /** Another number whenever the registry may have changed. Writes of other processes count within a second. */
  generation(): Promise<number>;
  /** All that are active now. */
  list(): Promise<readonly ActiveIssuer[]>;
  /** One row as it is now. Not kept in memory: each is needed once an hour, and 10,000 of them are large. */
  findById(id: string): Promise<TrustedIssuer | null>;
  /** Calls the listener when a new generation begins. */
  onMove(listener: () => void): void;
};

export type WorkloadBindings = {
  /** All bindings of one subject of one issuer, active or not. */
  findBySubject(trustedIssuerId: string, subject: string): Promise<readonly WorkloadBinding[]>;
};

export type DenyList = {
  /** The issuer's entries that name any of these members, expired ones included. */
  find(trustedIssuerId: string, members: readonly IdentityMember[]): Promise<readonly DenyListEntry[]>;
};

/** Keys of an issuer as they stand, or why there are none to be had right now. */
export type KeySetLookup =
  | { readonly available: true; readonly keySet: KeySet }
  | {
      readonly available: false;
      /** `key_shared`: another issuer publishes one of its keys. `not_loaded`: anything else. */
      readonly cause: 'not_loaded' | 'key_shared';
      /** For the admin: `discovery answered 403`, `connect ECONNREFUSED`, … Never shown to the caller. */
      readonly detail: string;
      readonly retryAfterSeconds: number;
    };

export type IssuerKeys = {
  /** The current set, from the cache where it is fresh. Concurrent calls share one fetch. */
  current(issuer: TrustedIssuer): Promise<KeySetLookup>;
  /**
   * Called when a `kid` is not in the current set: fetches again, at most once per issuer in
   * `UNKNOWN_KID_COOLDOWN_SECONDS`, which says what that costs; within that time it answers with the set that is there.
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

/** What a cluster says about one of its tokens (TokenReview, authentication.k8s.io/v1). */
export type ReviewVerdict =
  | {
      /** Authenticated, and our audience is in the answer. Whom it names is compared with the claims by the rules. */
      readonly kind: 'authenticated';
      readonly username: string;
      /** Of the ServiceAccount; null where the answer has none. */
      readonly uid: string | null;
      readonly podUid: string | null;
      readonly nodeName: string | null;
      /** `authentication.kubernetes.io/credential-id`; null before Kubernetes 1.30. */
      readonly credentialId: string | null;
    }
  /** The cluster's answer is no, or an answer that is not a yes. */
  | { readonly kind: 'denied'; readonly detail: string }
  /** The cluster could not be asked: its fault or ours, never the caller's. */
  | { readonly kind: 'unavailable'; readonly detail: string; readonly retryAfterSeconds: number };

export type OnlineReviews = {
  /**
   * Asks the API server of the issuer's row, and no other, about this assertion. Never rejects for anything that the
   * other side does. `assertion` goes nowhere else, and into no text.
   */
  review(issuer: TrustedIssuer, assertion: string): Promise<ReviewVerdict>;
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
