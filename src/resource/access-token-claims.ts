/**
 * The rules for an access token's claims (RFC 9068 §2.2 and §4), and what an API gets to see of one that keeps them.
 * Pure. It knows neither keys nor HTTP.
 */
import { isScopeToken } from '../issuance/scope.ts';
import { err, ok, type Result } from '../result.ts';
import type { AccessTokenRefusal } from './access-token-refusal.ts';

/** Leeway for clocks that differ, in seconds. */
const CLOCK_SKEW_SECONDS = 60;

/** The workload behind the client, as the platform named it; null where the platform says nothing. */
export type Workload = {
  readonly issuer: string;
  readonly subject: string;
  readonly namespace: string | null;
  readonly serviceAccount: string | null;
  readonly serviceAccountUid: string | null;
  readonly pod: string | null;
  readonly podUid: string | null;
  readonly node: string | null;
};

/** Signature, issuer, audience and time hold. */
export type VerifiedAccessToken = {
  /** Who is calling: always a client, never a user, whatever the name looks like. */
  readonly clientId: string;
  readonly scopes: readonly string[];
  readonly organizationId: string | null;
  /** Null for a client that used a secret or a key of its own. */
  readonly workload: Workload | null;
  readonly tokenId: string;
  /** Seconds since the epoch. */
  readonly expiresAt: number;
  /** Everything the token says, for claims that a binding added. */
  readonly claims: Readonly<Record<string, unknown>>;
};

/** What the claim `workload` has for Kubernetes, beside issuer and subject. */
const WORKLOAD_MEMBERS = ['namespace', 'service_account', 'service_account_uid', 'pod', 'pod_uid', 'node'] as const;

export type ClaimExpectations = {
  /** The API's own identifier. */
  readonly audience: string;
  /** Null accepts tokens of every organization and of none. */
  readonly organizationId: string | null;
};

type Claims = Readonly<Record<string, unknown>>;
type Check<T> = Result<T, AccessTokenRefusal>;

/** Checks the claims of a token whose issuer and signature hold, at `now` (seconds since the epoch). */
export function readAccessTokenClaims(
  claims: Claims,
  expected: ClaimExpectations,
  now: number,
): Check<VerifiedAccessToken> {
  const audience = checkAudience(claims.aud, expected.audience);
  if (!audience.ok) return audience;
  const expiresAt = checkTimes(claims, now);
  if (!expiresAt.ok) return expiresAt;
  const clientId = readText(claims, 'client_id');
  if (!clientId.ok) return clientId;
  const subject = readText(claims, 'sub');
  if (!subject.ok) return subject;
  // RFC 9700 §4.15: a token whose subject is somebody else must not be taken for the client's own, nor the reverse.
  if (subject.value !== clientId.value) {
    return err({ reason: 'subject_not_client', subject: subject.value, clientId: clientId.value });
  }
  const tokenId = readText(claims, 'jti');
  if (!tokenId.ok) return tokenId;
  const scopes = readScopes(claims.scope);
  if (!scopes.ok) return scopes;
  // RFC 7800 §3.1: a token bound to a key proves nothing in the hands of a mere bearer, and we can check no binding.
  if (claims.cnf !== undefined) return err({ reason: 'confirmation_unsupported' });
  const organizationId = readOptionalText(claims, 'organization_id');
  if (!organizationId.ok) return organizationId;
  if (expected.organizationId !== null && organizationId.value !== expected.organizationId) {
    return err({ reason: 'organization_mismatch', presented: organizationId.value });
  }
  const workload = readWorkload(claims.workload);
  if (!workload.ok) return workload;
  return ok({
    clientId: clientId.value,
    scopes: scopes.value,
    organizationId: organizationId.value,
    workload: workload.value,
    tokenId: tokenId.value,
    expiresAt: expiresAt.value,
    claims,
  });
}

function checkAudience(aud: unknown, expected: string): Check<void> {
  const presented: readonly unknown[] = Array.isArray(aud) ? aud : [aud];
  const audiences = presented.filter((audience) => typeof audience === 'string');
  if (audiences.length !== presented.length) return invalid('aud');
  return audiences.includes(expected) ? ok(undefined) : err({ reason: 'aud_mismatch', presented: audiences });
}

/** Answers `exp`. */
function checkTimes(claims: Claims, now: number): Check<number> {
  const { exp, iat, nbf } = claims;
  if (!isNumericDate(exp)) return invalid('exp');
  if (!isNumericDate(iat)) return invalid('iat');
  if (nbf !== undefined && !isNumericDate(nbf)) return invalid('nbf');
  if (now >= exp + CLOCK_SKEW_SECONDS) return err({ reason: 'expired', exp, now });
  if (iat > now + CLOCK_SKEW_SECONDS) return err({ reason: 'not_yet_valid', claim: 'iat', value: iat, now });
  if (nbf !== undefined && nbf > now + CLOCK_SKEW_SECONDS) {
    return err({ reason: 'not_yet_valid', claim: 'nbf', value: nbf, now });
  }
  return ok(exp);
}

/** RFC 7519 §2. Never coerced: "1e3" and true are no instants. `1e400` parses to infinity. */
function isNumericDate(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

/** RFC 9068 §2.2.3: one string, names with single spaces between them. Absent means none. */
function readScopes(scope: unknown): Check<readonly string[]> {
  if (scope === undefined || scope === '') return ok([]);
  if (typeof scope !== 'string') return invalid('scope');
  const scopes = scope.split(' ');
  return scopes.every(isScopeToken) ? ok(scopes) : invalid('scope');
}

function readWorkload(workload: unknown): Check<Workload | null> {
  if (workload === undefined) return ok(null);
  if (typeof workload !== 'object' || workload === null || Array.isArray(workload)) return invalid('workload');
  const members: Claims = { ...workload };
  const { issuer, subject } = members;
  if (typeof issuer !== 'string' || typeof subject !== 'string') return invalid('workload');
  const optional = WORKLOAD_MEMBERS.map((name) => readOptionalText(members, name));
  if (!optional.every((member) => member.ok)) return invalid('workload');
  const [namespace = null, serviceAccount = null, serviceAccountUid = null, pod = null, podUid = null, node = null] =
    optional.map((member) => member.value);
  return ok({ issuer, subject, namespace, serviceAccount, serviceAccountUid, pod, podUid, node });
}

function readText(claims: Claims, name: string): Check<string> {
  const value = claims[name];
  return typeof value === 'string' && value !== '' ? ok(value) : invalid(name);
}

function readOptionalText(claims: Claims, name: string): Check<string | null> {
  return claims[name] === undefined ? ok(null) : readText(claims, name);
}

function invalid(claim: string): Result<never, AccessTokenRefusal> {
  return err({ reason: 'claim_invalid', claim });
}
