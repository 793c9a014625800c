/**
 * What the admin API asks of the rest, wired in `app.ts`. Everything here is plain data and functions: this folder
 * knows neither how keys are fetched nor how tokens are signed.
 */
import type { AssertionExplanation } from '../assertion/explain-assertion.ts';
import type { TrustedIssuer } from '../assertion/trusted-issuer.ts';
import type { Clock } from '../clock.ts';
import type { AccessTokenSigningAlg } from '../issuance/client.ts';
import type { SigningKey } from '../issuance/signing-key.ts';
import type { AuditLog } from '../observe/audit-log.ts';
import type { Log } from '../observe/log.ts';
import type { Registry } from '../registry/registry.ts';

/** What came back when an issuer's keys were fetched just now. */
export type TrustedIssuerCheck = {
  readonly passed: boolean;
  readonly discoveryUrl: string | null;
  readonly discoveredIssuer: string | null;
  readonly jwksUrl: string | null;
  readonly keys: readonly {
    readonly kid: string | null;
    readonly algorithms: readonly string[];
    readonly thumbprint: string;
  }[];
  readonly skipped: readonly { readonly kid: string | null; readonly reason: string }[];
  readonly maxAgeSeconds: number | null;
  readonly failure: { readonly code: string; readonly detail: string } | null;
};

/** How an issuer's keys stand in this process. */
export type TrustedIssuerKeyState = {
  readonly loadedAt: number | null;
  readonly stale: boolean;
  readonly lastError: string | null;
  readonly nextTryAt: number | null;
  readonly kids: readonly (string | null)[];
  /** Keys that other issuers publish too, which closes all of them. */
  readonly sharedKeys: readonly {
    readonly thumbprint: string;
    readonly otherIssuers: readonly { readonly id: string; readonly name: string }[];
  }[];
};

/** How an issuer's cluster, which is asked about its tokens, stands in this process. */
export type TrustedIssuerReviewState = {
  readonly breaker: string;
  readonly failures: number;
  readonly lastError: string | null;
  readonly lastAnsweredAt: number | null;
  readonly nextProbeAt: number | null;
};

/** A signing key as the admin API may know it: without its private part. */
export type PublicSigningKey = Pick<
  SigningKey,
  'kid' | 'alg' | 'createdAt' | 'activeFrom' | 'activeUntil' | 'removeAt'
>;

export type AdminDependencies = {
  readonly registry: Registry;
  readonly auditLog: AuditLog;
  readonly clock: Clock;
  /** For faults only: their callers see `internal error` and the request id. */
  readonly log: Pick<Log, 'error'>;
  /** The bearer secret of the admin; null switches the whole API off. */
  readonly adminSecret: string | null;
  /** Whether to serve the GraphiQL page, to whoever can connect: for loopback only. */
  readonly graphiql: boolean;
  /** Runs the verification without claiming the assertion. */
  explainAssertion(assertion: string, requestId: string): Promise<AssertionExplanation>;
  /** Fetches the issuer's keys now, past every cache. */
  checkTrustedIssuer(issuer: TrustedIssuer): Promise<TrustedIssuerCheck>;
  /** Null for an issuer that is not active, or that this process has not noticed yet. */
  keyState(trustedIssuerId: string): TrustedIssuerKeyState | null;
  reviewState(trustedIssuerId: string): TrustedIssuerReviewState | null;
  /** All that are published, or about to sign. */
  listSigningKeys(): Promise<readonly PublicSigningKey[]>;
  /** Makes a new key; the admin API records that it was asked to. */
  rotateSigningKey(rotation: {
    readonly alg: AccessTokenSigningAlg;
    readonly compromised: boolean;
  }): Promise<PublicSigningKey>;
};
