/**
 * The name that the authorization server gave this workload, such as `prod-eks/node_7_internal` for the runner of a
 * node: a member of the token response, or else a claim of the access token. Pure. The token came from the server over
 * a connection that the client trusts, so its claims are read and not verified; APIs verify them.
 */
import { readUnverifiedClaims } from './unverified-claims.ts';

/** The claim of the bindings in our documentation. */
export const DEFAULT_ID_CLAIM = 'runner_id';

/** What a token response has besides (RFC 6749 §5.1, OpenID Connect Core §3.1.3.3): a name from there would be a secret. */
const TOKEN_MEMBERS: readonly string[] = ['access_token', 'refresh_token', 'id_token'];

/** One line, with nothing in it that a terminal or a log would obey; no longer than a claim that a binding can add. */
const ASSIGNED_ID = /^[^\p{C}\p{Zl}\p{Zp}]{1,2048}$/u;

/** Whether a name can be read under this claim. */
export function isIdClaim(claim: string): boolean {
  return claim !== '' && !TOKEN_MEMBERS.includes(claim);
}

/**
 * The id, or null where the server gave none. The client_id is no substitute: it is the same for all who share the
 * client, and a runner that took it for its own name would be mistaken for every other.
 */
export function readAssignedId(
  response: Readonly<Record<string, unknown>>,
  accessToken: string,
  claim: string,
): string | null {
  const id = [response, readUnverifiedClaims(accessToken) ?? {}]
    .map((members) => (Object.hasOwn(members, claim) ? members[claim] : undefined))
    .find((value) => typeof value === 'string' && ASSIGNED_ID.test(value));
  return typeof id === 'string' ? id : null;
}
