/**
 * Access tokens for a workload, from the identity that its platform gave it: asks once, keeps the token, renews it
 * before it ends, and is polite to a server that is away or says no. Nothing here runs on a timer; a token is renewed
 * when somebody asks for it.
 *
 * Where the server takes an assertion only once (`assertion_use: once`), a retry after a lost answer, or a renewal
 * before the platform has written a new assertion, is refused. The token in hand stays in use, and the next assertion
 * in the file is tried as soon as it is there.
 *
 * This is the package's `client` entry: what its users need besides is exported again from here.
 */
import { createHash } from 'node:crypto';
import { setTimeout as sleepFor } from 'node:timers/promises';
import { type Clock, systemClock } from '../clock.ts';
import { DEFAULT_ID_CLAIM } from './assigned-id.ts';
import { DEFAULT_FETCH_LIMITS, type Fetch } from './bounded-fetch.ts';
import { cooldownSeconds, retryDelayMilliseconds } from './retry-policy.ts';
import { TokenEndpointUnavailable, TokenRequestRefused } from './token-errors.ts';
import type { TokenSource } from './token-file-source.ts';
import { type AccessToken, createTokenRequest, type TokenRequestOutcome } from './token-request.ts';

export { TokenEndpointUnavailable, TokenRequestRefused } from './token-errors.ts';
export { TokenFileError, type TokenSource, tokenFileSource } from './token-file-source.ts';
export { resolveSharedFolder, TokenFolderExposed } from './token-folder-guard.ts';
export type { AccessToken };

export type TokenClientOptions = {
  /** The authorization server's issuer identifier, exactly as it writes it. */
  readonly issuer: string;
  /** Where to ask; from the issuer's metadata (RFC 8414) where it is left out. */
  readonly tokenEndpoint?: string;
  readonly source: TokenSource;
  /** Needed only where the assertion's subject is bound to several clients. */
  readonly clientId?: string;
  readonly scope?: string;
  /** Resource indicators (RFC 8707): the APIs that the token is for. */
  readonly resource?: string | readonly string[];
  /** Member of the answer, or else claim of the token, that names this workload; `runner_id` where it is left out. */
  readonly idClaim?: string;
  /** Accept plain http to a host that is not loopback: an in-cluster Service. */
  readonly allowInsecureEndpoint?: boolean;
  /** For one request, the whole answer included. */
  readonly timeoutMilliseconds?: number;
  /** Hears, once each, why renewals in the background failed; `getToken` itself goes on with the token it has. */
  readonly onRenewalFailed?: (error: unknown) => void;
  readonly fetch?: Fetch;
  readonly clock?: Clock;
  readonly sleep?: (milliseconds: number) => Promise<unknown>;
  /** In [0, 1). */
  readonly random?: () => number;
};

export type TokenClient = {
  /**
   * A token that has not expired. Rejects with `TokenRequestRefused`, `TokenEndpointUnavailable`, or what the source
   * rejects with.
   */
  getToken(): Promise<AccessToken>;
  /** Forgets the token, after an API has refused it. Given that token, a newer one that is already there stays. */
  invalidate(accessToken?: string): void;
};

/** Share of its life after which a token is renewed. */
const RENEW_AFTER = 0.8;
const MAX_ATTEMPTS = 4;
/** A longer wait is the caller's business: it gets `TokenEndpointUnavailable` at once. */
const MAX_WAIT_MILLISECONDS = 10_000;
/** A refused assertion is not sent again for this long: callers that crash and come back must not hammer the server. */
const REFUSAL_MEMORY_SECONDS = 30;

type Unavailable = Extract<TokenRequestOutcome, { kind: 'unavailable' }>;

/** A token client; one for each set of scopes and resources. Unusable settings throw a `TypeError`. */
export function createTokenClient(options: TokenClientOptions): TokenClient {
  const { source, clock = systemClock, sleep = sleepFor, random = Math.random, onRenewalFailed } = options;
  const request = createTokenRequest({
    issuer: options.issuer,
    tokenEndpoint: options.tokenEndpoint ?? null,
    clientId: options.clientId ?? null,
    scope: options.scope ?? null,
    resources: [options.resource ?? []].flat(),
    idClaim: options.idClaim ?? DEFAULT_ID_CLAIM,
    allowInsecureEndpoint: options.allowInsecureEndpoint ?? false,
    timeoutMilliseconds: options.timeoutMilliseconds ?? DEFAULT_FETCH_LIMITS.timeoutMilliseconds,
    fetch: options.fetch ?? globalThis.fetch,
    clock,
  });

  let kept: { readonly token: AccessToken; readonly renewAt: number } | null = null;
  let acquisition: Promise<AccessToken> | null = null;
  let refusal: { readonly digest: string; readonly until: number; readonly error: TokenRequestRefused } | null = null;
  let reported: unknown = null;
  let outage: { readonly failedSeries: number; readonly until: number; readonly fault: Unavailable } | null = null;

  /** Single flight: whoever asks while a request is on its way gets its answer. */
  function acquireOnce(): Promise<AccessToken> {
    acquisition ??= acquire().finally(() => {
      acquisition = null;
    });
    return acquisition;
  }

  async function acquire(): Promise<AccessToken> {
    if (outage !== null && clock() < outage.until) throw unavailableError(outage.fault, outage.until - clock());
    for (let failedAttempts = 0; ; ) {
      const startedAt = clock();
      // Read again for each attempt: the file may hold a newer assertion by now.
      const assertion = await source.read();
      const digest = createHash('sha256').update(assertion).digest('base64url');
      if (refusal?.digest === digest && startedAt < refusal.until) throw refusal.error;
      const outcome = await request(assertion);
      if (outcome.kind === 'issued') return keep(outcome.token, startedAt);
      if (outcome.kind === 'refused') {
        outage = null;
        const error = new TokenRequestRefused(outcome);
        refusal = { digest, until: clock() + REFUSAL_MEMORY_SECONDS, error };
        throw error;
      }
      failedAttempts += 1;
      const wait = retryDelayMilliseconds(failedAttempts, outcome.retryAfterSeconds, random());
      if (!outcome.isTransient || failedAttempts === MAX_ATTEMPTS || wait > MAX_WAIT_MILLISECONDS) {
        throw startOutage(outcome);
      }
      await sleep(wait);
    }
  }

  function keep(token: AccessToken, startedAt: number): AccessToken {
    kept = { token, renewAt: startedAt + (token.expiresAt - startedAt) * RENEW_AFTER };
    refusal = null;
    outage = null;
    return token;
  }

  function startOutage(fault: Unavailable): TokenEndpointUnavailable {
    const failedSeries = (outage?.failedSeries ?? 0) + 1;
    const pause = cooldownSeconds(failedSeries, fault.retryAfterSeconds, random());
    outage = { failedSeries, until: clock() + pause, fault };
    return unavailableError(fault, pause);
  }

  function reportRenewalFailure(error: unknown): void {
    // A remembered refusal is the same error every time.
    if (error !== reported) onRenewalFailed?.(error);
    reported = error;
  }

  return {
    async getToken() {
      if (kept === null || clock() >= kept.token.expiresAt) return acquireOnce();
      const { token, renewAt } = kept;
      const isPaused = outage !== null && clock() < outage.until;
      if (clock() >= renewAt && acquisition === null && !isPaused) acquireOnce().catch(reportRenewalFailure);
      return token;
    },
    invalidate(accessToken) {
      if (accessToken === undefined || accessToken === kept?.token.accessToken) kept = null;
    },
  };
}

function unavailableError(fault: Unavailable, retryAfterSeconds: number): TokenEndpointUnavailable {
  return new TokenEndpointUnavailable({ ...fault, retryAfterSeconds });
}
