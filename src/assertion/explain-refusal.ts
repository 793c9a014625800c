/**
 * A refusal in words for the admin: what was found, and what would mend it. Never sent to the caller of the token
 * endpoint. The switch is exhaustive: a new reason does not compile until someone has explained it.
 */
import type { AssertionRefusal } from './refusal.ts';

export type RefusalExplanation = {
  readonly detail: string;
  /** What to change, and where. */
  readonly hint: string;
};

const quote = (value: string): string => JSON.stringify(value);
const list = (values: readonly string[]): string => (values.length === 0 ? 'none' : values.map(quote).join(', '));
const instant = (seconds: number): string => new Date(Math.trunc(seconds) * 1000).toISOString();

/** Detail and hint for one refusal. */
export function explainRefusal(refusal: AssertionRefusal): RefusalExplanation {
  switch (refusal.reason) {
    case 'assertion_too_large':
      return say(
        `${refusal.bytes} bytes, more than ${refusal.maxBytes}`,
        'Send the token alone; real ones have 1 to 4 KiB.',
      );
    case 'assertion_malformed':
      return say(refusal.detail, 'Send the token file byte for byte, without white space or a newline around it.');
    case 'header_member_forbidden':
      return say(
        `the header has ${quote(refusal.member)}`,
        'Platform tokens have only alg, kid and typ in their header.',
      );
    case 'typ_not_allowed':
      return say(`typ is ${quote(refusal.typ)}`, 'Send an assertion, not an access token, ID token or proof.');
    case 'alg_not_allowed':
      return say(
        `alg ${quote(refusal.alg)} is not among ${list(refusal.allowed)}`,
        "Add it to the trusted issuer's algorithms if the platform really signs with it.",
      );
    case 'iss_missing':
      return say('iss is not a non-empty string', 'Every assertion must name its issuer.');
    case 'issuer_not_trusted':
      return say(
        `no trusted issuer is exactly ${quote(refusal.iss)}`,
        'Register it byte for byte as the token says it; a trailing slash counts.',
      );
    case 'issuer_disabled':
      return say(`the trusted issuer ${quote(refusal.iss)} is not active`, 'Set is_active on the trusted issuer.');
    case 'legacy_service_account_token':
      return say(
        'a Secret-based service-account token: it has no audience and never expires',
        'Mount a projected serviceAccountToken volume with our audience instead.',
      );
    case 'sub_missing':
      return say(
        `claim ${quote(refusal.claim)} is not a non-empty string`,
        "Check the trusted issuer's subject_claim.",
      );
    case 'aud_missing':
      return say('aud is missing, empty or not made of strings', 'Request the token for our audience.');
    case 'aud_mismatch':
      return say(
        `aud is ${list(refusal.presented)}, expected ${list(refusal.expected)}`,
        "Set the volume's audience to the expected value, or expected_aud to what the platform sends.",
      );
    case 'aud_not_sole':
      return say(
        `aud names others besides us: ${list(refusal.presented)}`,
        'Request the token for our audience alone; allow_additional_audiences lifts the rule.',
      );
    case 'time_claim_missing':
      return say(`${refusal.claim} is missing`, 'Tokens without an end are refused; use a projected token.');
    case 'time_claim_invalid':
      return say(`${refusal.claim} is ${refusal.presented}`, 'Times are JSON numbers: seconds since the epoch.');
    case 'expired':
      return say(
        `expired at ${readableTime(refusal.exp)}, now is ${instant(refusal.now)}`,
        'Read the token file again on each request: the kubelet replaces it at 80 % of its life.',
      );
    case 'not_yet_valid':
      return say(
        `${refusal.claim} is ${readableTime(refusal.value)}, now is ${instant(refusal.now)}`,
        "Compare the clocks of the issuer's host and of this server.",
      );
    case 'lifetime_too_long':
      return say(
        `a lifetime of ${Math.round(refusal.lifetimeSeconds)} s, more than ${refusal.maxSeconds} s`,
        'Choose a smaller expirationSeconds (not 3607, which means one year), or raise max_token_lifetime_seconds.',
      );
    case 'jti_invalid':
      return say(`jti: ${refusal.detail}`, 'The issuer must send a short string, or none.');
    case 'kid_missing':
      return say(
        `no kid, and the issuer has ${refusal.keys === 1 ? '1 key' : `${refusal.keys} keys`}`,
        'Kubernetes always sends a kid; require_kid: false accepts a token without when one key fits.',
      );
    case 'kid_unknown':
      return say(describeUnknownKid(refusal), describeUnknownKidHint(refusal.origin));
    case 'key_ambiguous':
      return say(`no kid, and ${refusal.keys} keys fit`, 'The issuer must send a kid while it publishes several keys.');
    case 'key_unfit':
      return say(
        `no key ${refusal.kid === null ? '' : `with kid ${quote(refusal.kid)} `}is for ${refusal.alg}`,
        'The key of that kid has another algorithm, type or curve.',
      );
    case 'signature_invalid':
      return say(
        `the signature does not fit the key${refusal.kid === null ? '' : ` ${quote(refusal.kid)}`} (${refusal.alg})`,
        'The token was changed, or another issuer signed it. Clusters that share an issuer string need one each.',
      );
    case 'keys_unavailable':
      return say(
        refusal.detail,
        refusal.cause === 'key_shared'
          ? 'Give each cluster a signing key of its own; if it is one cluster, keep one trusted issuer for it (additional_issuer_urls).'
          : 'Run "countersign issuer check", or paste the keys (key_source_type static_jwks).',
      );
    case 'subject_malformed':
      return say(`subject ${quote(refusal.subject)} is not of the form ${refusal.expectedForm}`, 'Check issuer_type.');
    case 'kubernetes_claims_missing':
      return say(`claim ${refusal.missing} is missing or not a name`, 'Use a token from the TokenRequest API.');
    case 'kubernetes_claims_malformed':
      return say(
        `claim ${refusal.claim} is ${quote(refusal.presented)}, which is not a name of RFC 1123`,
        'A cluster never signs this: find out who did.',
      );
    case 'kubernetes_claims_disagree':
      return say(
        `sub says ${quote(refusal.subject)}, kubernetes.io says ${quote(refusal.fromClaims)}`,
        'A cluster never signs this: find out who did.',
      );
    case 'pod_required':
      return say(
        'the token is not bound to a pod',
        'Use a projected volume, not "kubectl create token"; or unset require_pod.',
      );
    case 'node_required':
      return say('the token names no node', 'Kubernetes 1.30 and later name it; or unset require_node.');
    case 'workload_denied': {
      const until = refusal.expiresAt === null ? 'until it is removed' : `until ${instant(refusal.expiresAt)}`;
      return say(
        `deny list entry ${refusal.entryId} cuts off ${refusal.member} ${quote(refusal.value)} ${until}: ${refusal.denialReason}`,
        'Once the cause is gone, remove the entry: _delete_deny_list_entry, or in the declarative file.',
      );
    }
    case 'subject_not_bound':
      return say(
        `no binding for subject ${quote(refusal.subject)}`,
        'Add a workload binding for exactly this subject.',
      );
    case 'binding_disabled':
      return say(`the binding of ${quote(refusal.subject)} is not active`, 'Set is_active on the workload binding.');
    case 'claim_condition_failed':
      return say(
        `claim ${refusal.claim} is ${refusal.presented}, the binding wants ${refusal.expected}`,
        "Correct the binding's claims; values are compared with their JSON type.",
      );
    case 'client_ambiguous':
      return say(
        `${quote(refusal.subject)} is bound to ${refusal.clients} clients and the request names none`,
        'Send client_id.',
      );
    case 'client_mismatch':
      return say(
        `client_id ${quote(refusal.presentedClientId)} is not bound to ${quote(refusal.subject)}`,
        'Send the client_id of the binding, or none.',
      );
    case 'client_disabled':
      return say(`client ${quote(refusal.clientId)} is not active`, 'Set is_active on the client.');
    case 'organization_mismatch':
      return say(
        `client ${quote(refusal.clientId)} and the trusted issuer belong to different organizations`,
        'Correct organization_id on one of them, or remove the binding.',
      );
    case 'token_claim_unresolved':
      return say(
        `claim ${quote(refusal.claim)}: a value of ${quote(refusal.template)} is not in the assertion`,
        "Correct the binding's token_claims, or require the pod or node that it names.",
      );
    case 'review_denied':
      return say(refusal.detail, 'The pod, its account or its node may be gone; the token may be older than them.');
    case 'review_mismatch':
      return say(
        `the token says ${refusal.claim} is ${quote(refusal.claimed)}, its cluster says ${quote(refusal.reviewed)}`,
        'Check kubernetes_api_server_url: it may be the API server of another cluster.',
      );
    case 'review_unavailable':
      return say(refusal.detail, 'See how the cluster is asked: review { … } of the trusted issuer.');
    case 'replayed':
      return say(
        `first used at ${instant(refusal.firstUsedAt)} by request ${refusal.firstRequestId}`,
        'Keep the access token until it expires; where containers restart, set assertion_use: until_expiry.',
      );
  }
}

function say(detail: string, hint: string): RefusalExplanation {
  return { detail, hint };
}

/** Claims may hold any number; `Date` holds fewer. */
function readableTime(seconds: number): string {
  return Math.abs(seconds) < 8.64e12 ? instant(seconds) : String(seconds);
}

function describeUnknownKid(refusal: Extract<AssertionRefusal, { reason: 'kid_unknown' }>): string {
  const source = refusal.origin === 'static' ? 'the static key set stored' : 'the key set fetched';
  const skipped = refusal.skipped === null ? '' : ` (its entry was skipped: ${refusal.skipped})`;
  const count = refusal.known.length === 1 ? '1 key' : `${refusal.known.length} keys`;
  return `kid ${quote(refusal.kid)} is not in ${source} at ${instant(refusal.loadedAt)} (${count}: ${list(refusal.known)})${skipped}`;
}

function describeUnknownKidHint(origin: 'fetched' | 'static'): string {
  return origin === 'static'
    ? 'The cluster has rotated its keys, or the set is of another cluster: paste the current set, old keys beside new.'
    : 'Compare with the keys that the issuer publishes: "countersign issuer check".';
}
