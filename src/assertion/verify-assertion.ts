/**
 * The trust decision: is this text the proof of a workload that may act as one of our clients? The order of its steps
 * is written here and nowhere else, with the reason for each place that matters. It knows no HTTP, no SQL, no clock and
 * no fetch: what it needs of the world are the ports, and `now` comes with the request.
 */
import { err, ok, type Result } from '../result.ts';
import { checkAudience } from './audience.ts';
import { type BoundPair, matchBindings, renderTokenClaims, selectClient } from './binding-selection.ts';
import { claimAt } from './claim-path.ts';
import { parseCompactJws, type UnverifiedAssertion } from './compact-jws.ts';
import { denialInForce, membersOf } from './deny-list.ts';
import { isSignatureValid } from './jws-algorithm.ts';
import { selectKeys } from './key-selection.ts';
import type { VerificationKey } from './key-set.ts';
import { isReviewed, isReviewedOnly, reviewAssertion } from './online-review.ts';
import type {
  BoundClients,
  DenyList,
  IssuerKeys,
  KeySetLookup,
  OnlineReviews,
  PlatformRules,
  ReplayStore,
  TrustedIssuers,
  WorkloadBindings,
} from './ports.ts';
import type { AssertionRefusal } from './refusal.ts';
import { assertionDigest, readJti, replayKey } from './replay-key.ts';
import { CLOCK_SKEW_SECONDS, checkTimeClaims } from './time-claims.ts';
import type { TrustedIssuer } from './trusted-issuer.ts';
import type { VerificationTrace } from './verification-trace.ts';
import type { BoundClient, KubernetesIdentity, VerifiedAssertion, VerifiedWorkload } from './verified-workload.ts';

export type VerificationPorts<C extends BoundClient> = {
  readonly trustedIssuers: TrustedIssuers;
  readonly issuerKeys: IssuerKeys;
  readonly denyList: DenyList;
  readonly workloadBindings: WorkloadBindings;
  readonly clients: BoundClients<C>;
  readonly replayStore: ReplayStore;
  readonly onlineReviews: OnlineReviews;
  readonly platformRules: PlatformRules;
};

export type PresentedAssertion = {
  readonly assertion: string;
  /** The request's `client_id`; null when it was not sent. */
  readonly clientId: string | null;
  readonly requestId: string;
  /** Seconds since the epoch. */
  readonly now: number;
  /** `explain` goes through every step and claims nothing. */
  readonly purpose: 'authenticate' | 'explain';
};

/**
 * What the caller of the verification decides about a workload before its assertion is used up: which scope and
 * resource it may have, and whether another proof beside this one holds. A denial there leaves the assertion usable.
 */
export type Authorize<C extends BoundClient, G, D> = (
  workload: VerifiedWorkload<C>,
) => Result<G, D> | Promise<Result<G, D>>;

export type VerificationOutcome<C extends BoundClient, G, D> =
  | { readonly kind: 'accepted'; readonly workload: VerifiedWorkload<C>; readonly granted: G }
  | { readonly kind: 'denied'; readonly workload: VerifiedWorkload<C>; readonly denial: D }
  | { readonly kind: 'refused'; readonly refusal: AssertionRefusal };

/** Verifies one presented assertion and, unless it only explains, claims its single use. Rejects only on faults. */
export async function verifyAssertion<C extends BoundClient, G, D>(
  ports: VerificationPorts<C>,
  presented: PresentedAssertion,
  trace: VerificationTrace,
  authorize: Authorize<C, G, D>,
): Promise<VerificationOutcome<C, G, D>> {
  const refused = (refusal: AssertionRefusal) => {
    trace.failed(refusal);
    return { kind: 'refused', refusal } as const;
  };

  // 1. Form and header, from the text alone: rubbish costs nothing but its own length.
  trace.begin('form');
  const parsed = parseCompactJws(presented.assertion);
  if (!parsed.ok) return refused(parsed.error);
  const { alg, kid, claims, signingInput } = parsed.value;
  trace.note({ alg, kid, assertionDigest: assertionDigest(signingInput) });

  // 2. The issuer, matched exactly to one row. An unknown one ends here, before any network access of any kind.
  trace.begin('trusted_issuer');
  const issuer = await findIssuer(ports, parsed.value, trace);
  if (!issuer.ok) return refused(issuer.error);
  trace.note({ trustedIssuer: issuer.value });

  // 3. Claims that cost nothing to check, before any remote work: a stranger's expired token must not make us fetch.
  trace.begin('audience');
  const audience = checkAudience(claims.aud, issuer.value);
  if (!audience.ok) return refused(audience.error);
  trace.begin('time');
  const times = checkTimeClaims(claims, issuer.value, presented.now);
  if (!times.ok) return refused(times.error);
  trace.begin('subject');
  const subject = readSubject(claims, issuer.value);
  if (!subject.ok) return refused(subject.error);
  const jti = readJti(claims);
  if (!jti.ok) return refused(jti.error);
  trace.note({ subject: subject.value, jti: jti.value, exp: times.value.exp });

  // 4. The key, within this issuer's set only, and the signature. From here on the claims are the issuer's word; where
  // only the cluster itself can say so, they are the sender's until step 6, and nothing before it answers otherwise.
  if (!isReviewedOnly(issuer.value)) {
    trace.begin('key');
    const keys = await findKeys(ports.issuerKeys, issuer.value, parsed.value);
    if (!keys.ok) return refused(keys.error);
    trace.note({ staleKeys: keys.value.stale });
    trace.begin('signature');
    const signature = checkSignature(parsed.value, keys.value.candidates);
    if (!signature.ok) return refused(signature.error);
  }

  // 5. What the platform says about the workload, the deny list, and the bindings: who may it act as?
  trace.begin('platform_claims');
  const platform = readPlatformClaims(ports.platformRules, subject.value, claims, issuer.value);
  if (!platform.ok) return refused(platform.error);
  const assertion: VerifiedAssertion = {
    trustedIssuer: issuer.value,
    subject: subject.value,
    jti: jti.value,
    times: times.value,
    claims,
    kubernetes: platform.value,
  };
  trace.note({ kubernetes: platform.value });
  // Only now are node, pod and account the issuer's word. Before the bindings, so that the reason on record is this one
  // whatever they say, and an admin sees that a cut workload still calls.
  trace.begin('deny_list');
  const denial = await findDenial(ports.denyList, assertion, presented.now);
  if (denial !== null) return refused(denial);
  trace.begin('binding');
  const pair = await findClient(ports, assertion, presented.clientId);
  if (!pair.ok) return refused(pair.error);
  trace.note({ clientId: pair.value.client.clientId, bindingId: pair.value.binding.id });
  const tokenClaims = renderTokenClaims(assertion, pair.value);
  if (!tokenClaims.ok) return refused(tokenClaims.error);
  const workload: VerifiedWorkload<C> = { ...assertion, ...pair.value, tokenClaims: tokenClaims.value };

  // 6. The cluster's own word, where it is asked for: after everything that is free, so that a stranger can't make us
  // call a cluster with rubbish, and before the claim, so that a cluster that is down does not burn a good assertion.
  if (isReviewed(issuer.value)) {
    trace.begin('review');
    const review = await reviewAssertion(ports.onlineReviews, assertion, presented.assertion);
    if (review.credentialId !== null) trace.note({ credentialId: review.credentialId });
    if (review.refusal !== null) return refused(review.refusal);
  }
  // What it asks for, decided before the claim: a misspelt scope must not cost a workload its only assertion.
  const granted = await authorize(workload);

  // 7. Single use, last: nothing before it can fail any more, and a loser of the race gets nothing.
  trace.begin('replay');
  const key = replayKey(issuer.value.id, jti.value, subject.value, times.value, signingInput);
  const earlier = await earlierUse(ports.replayStore, key, workload, presented, granted.ok);
  if (earlier !== null) return refused(earlier);
  return granted.ok
    ? { kind: 'accepted', workload, granted: granted.value }
    : { kind: 'denied', workload, denial: granted.error };
}

type FoundKeys = { readonly candidates: readonly VerificationKey[]; readonly stale: boolean };

async function findIssuer<C extends BoundClient>(
  ports: VerificationPorts<C>,
  { claims, alg }: UnverifiedAssertion,
  trace: VerificationTrace,
): Promise<Result<TrustedIssuer, AssertionRefusal>> {
  const { iss } = claims;
  if (typeof iss !== 'string' || iss === '') return err({ reason: 'iss_missing' });
  trace.note({ iss });
  if (ports.platformRules.isLegacyServiceAccountToken(claims)) {
    return err({ reason: 'legacy_service_account_token', iss });
  }
  const issuer = await ports.trustedIssuers.findByIssuerUrl(iss);
  if (issuer === null) return err({ reason: 'issuer_not_trusted', iss });
  if (!issuer.isActive) {
    trace.note({ trustedIssuer: issuer });
    return err({ reason: 'issuer_disabled', iss });
  }
  return isAlgorithmAllowed(alg, issuer.algorithms)
    ? ok(issuer)
    : err({ reason: 'alg_not_allowed', alg, allowed: issuer.algorithms });
}

/** `EdDSA` over Ed25519 and `Ed25519` are one algorithm under two names (RFC 9864). */
function isAlgorithmAllowed(alg: string, allowed: readonly string[]): boolean {
  const names = alg === 'EdDSA' || alg === 'Ed25519' ? ['EdDSA', 'Ed25519'] : [alg];
  return names.some((name) => allowed.includes(name));
}

function readSubject(
  claims: Readonly<Record<string, unknown>>,
  issuer: TrustedIssuer,
): Result<string, AssertionRefusal> {
  const subject = claimAt(claims, issuer.subjectClaim);
  return typeof subject === 'string' && subject !== ''
    ? ok(subject)
    : err({ reason: 'sub_missing', claim: issuer.subjectClaim });
}

/** An unknown `kid` is worth one more look at the issuer's set: it may have rotated since. */
async function findKeys(
  issuerKeys: IssuerKeys,
  issuer: TrustedIssuer,
  header: Pick<UnverifiedAssertion, 'alg' | 'kid'>,
): Promise<Result<FoundKeys, AssertionRefusal>> {
  const select = (lookup: KeySetLookup): Result<FoundKeys, AssertionRefusal> => {
    if (!lookup.available) {
      const { cause, detail, retryAfterSeconds } = lookup;
      return err({ reason: 'keys_unavailable', cause, detail, retryAfterSeconds });
    }
    const candidates = selectKeys(header, lookup.keySet, issuer);
    return candidates.ok ? ok({ candidates: candidates.value, stale: lookup.keySet.stale }) : candidates;
  };
  const found = select(await issuerKeys.current(issuer));
  const mayHaveRotated = !found.ok && found.error.reason === 'kid_unknown' && found.error.origin === 'fetched';
  return mayHaveRotated ? select(await issuerKeys.refetch(issuer)) : found;
}

function checkSignature(
  { alg, kid, signingInput, signature }: UnverifiedAssertion,
  keys: readonly VerificationKey[],
): Result<void, AssertionRefusal> {
  return keys.some(({ key }) => isSignatureValid(alg, key, signingInput, signature))
    ? ok(undefined)
    : err({ reason: 'signature_invalid', kid, alg });
}

function readPlatformClaims(
  rules: PlatformRules,
  subject: string,
  claims: Readonly<Record<string, unknown>>,
  issuer: TrustedIssuer,
): Result<KubernetesIdentity | null, AssertionRefusal> {
  return issuer.issuerType === 'kubernetes_sa' ? rules.readKubernetesIdentity(subject, claims, issuer) : ok(null);
}

async function findDenial(
  denyList: DenyList,
  { trustedIssuer, subject, kubernetes }: VerifiedAssertion,
  now: number,
): Promise<AssertionRefusal | null> {
  const members = membersOf({
    subject,
    nodeName: kubernetes?.node?.name,
    podUid: kubernetes?.pod?.uid,
    serviceAccountUid: kubernetes?.serviceAccount.uid,
  });
  const entry = denialInForce(await denyList.find(trustedIssuer.id, members), now);
  if (entry === null) return null;
  const { id: entryId, member, value, reason: denialReason, expiresAt } = entry;
  return { reason: 'workload_denied', entryId, member, value, denialReason, expiresAt };
}

async function findClient<C extends BoundClient>(
  ports: VerificationPorts<C>,
  assertion: VerifiedAssertion,
  presentedClientId: string | null,
): Promise<Result<BoundPair<C>, AssertionRefusal>> {
  const bindings = await ports.workloadBindings.findBySubject(assertion.trustedIssuer.id, assertion.subject);
  const matching = matchBindings(assertion, bindings);
  if (!matching.ok) return matching;
  const pairs = await Promise.all(
    matching.value.map(async (binding) => ({ binding, client: await ports.clients.findById(binding.clientRowId) })),
  );
  const existing = pairs.filter((pair): pair is BoundPair<C> => pair.client !== null);
  return selectClient(assertion, existing, presentedClientId);
}

/** The refusal that an earlier use means, or null. Claims only when it authenticates and something was granted. */
async function earlierUse<C extends BoundClient>(
  replayStore: ReplayStore,
  key: Uint8Array,
  workload: VerifiedWorkload<C>,
  { requestId, now, purpose }: PresentedAssertion,
  isGranted: boolean,
): Promise<AssertionRefusal | null> {
  if (workload.trustedIssuer.assertionUse !== 'once') return null;
  // Accepted until exp + skew; as much again for replicas whose clocks are behind ours.
  const expiresAt = Math.ceil(workload.times.exp) + 2 * CLOCK_SKEW_SECONDS;
  const earlier =
    purpose === 'authenticate' && isGranted
      ? await replayStore.claim({ key, expiresAt, claimedAt: now, requestId })
      : await replayStore.find(key);
  return earlier === null
    ? null
    : { reason: 'replayed', firstUsedAt: earlier.claimedAt, firstRequestId: earlier.requestId };
}
