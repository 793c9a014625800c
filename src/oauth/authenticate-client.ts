/**
 * Client authentication, the same at every endpoint (RFC 7662 §2.1, RFC 7009 §2.1): a workload's assertion, a client's
 * own assertion, or a secret. The caller says what it would grant, so that a request it must deny uses nothing up.
 */

import type { AssertionFacts } from '../assertion/verification-trace.ts';
import type { VerifiedWorkload } from '../assertion/verified-workload.ts';
import type { VerificationPorts } from '../assertion/verify-assertion.ts';
import type { Client } from '../issuance/client.ts';
import { isClientSecretValid } from '../issuance/client-secret.ts';
import type { Clients } from '../issuance/ports.ts';
import { err, ok, type Result } from '../result.ts';
import type { ClientCredentials } from './client-credentials.ts';
import type { AuthenticationRefusal, ProofRole } from './oauth-error.ts';
import type { ProofOutcome, ProofStop } from './proof-outcome.ts';
import { verifyProof } from './verify-proof.ts';

export type AuthenticationPorts = {
  readonly verification: VerificationPorts<Client>;
  readonly clients: Clients;
};

/**
 * Decides what the authenticated client gets, before its own proof is used up; the workload is null when the client
 * spoke for itself with a secret.
 */
export type AuthorizeClient<G> = (
  client: Client,
  workload: VerifiedWorkload<Client> | null,
) => Result<G, ProofStop> | Promise<Result<G, ProofStop>>;

const ROLE = 'client_authentication';

/** Authenticates a client that wants nothing but to be known, at `now` (seconds). Rejects only on faults. */
export async function authenticateOnly(
  ports: AuthenticationPorts,
  credentials: ClientCredentials,
  request: RequestTime,
): Promise<ProofOutcome<Client>> {
  const facts = new Map<ProofRole, AssertionFacts>();
  const granted = await authenticateClient(ports, credentials, request, facts, ok);
  return granted.ok ? { kind: 'accepted', role: ROLE, granted: granted.value, facts } : { ...granted.error, facts };
}

type RequestTime = { readonly requestId: string; readonly now: number };

/** Authenticates, then authorizes. What became known of the client goes into `facts`. Rejects only on faults. */
export async function authenticateClient<G>(
  ports: AuthenticationPorts,
  credentials: ClientCredentials,
  { requestId, now }: RequestTime,
  facts: Map<ProofRole, AssertionFacts>,
  authorize: AuthorizeClient<G>,
): Promise<Result<G, ProofStop>> {
  switch (credentials.method) {
    case 'none':
      return refused({ reason: 'no_client_authentication' });
    case 'secret':
      return withSecret(ports.clients, credentials, now, facts, authorize);
    case 'assertion': {
      const { assertion, clientId } = credentials;
      const presented = { role: ROLE, text: assertion, clientId, requestId, now } as const;
      return verifyProof(ports.verification, presented, facts, (workload) => authorize(workload.client, workload));
    }
  }
}

async function withSecret<G>(
  clients: Clients,
  { clientId, secret }: Extract<ClientCredentials, { method: 'secret' }>,
  now: number,
  facts: Map<ProofRole, AssertionFacts>,
  authorize: AuthorizeClient<G>,
): Promise<Result<G, ProofStop>> {
  const client = await clients.findByClientId(clientId);
  const secrets = client === null ? [] : await clients.findSecrets(client.id);
  // Computed for an unknown client too, so that time does not tell which clients exist.
  const isValid = isClientSecretValid(secret, secrets, now);
  if (client === null) return refused({ reason: 'client_unknown', presentedClientId: clientId.slice(0, 255) });
  facts.set(ROLE, { clientId: client.clientId });
  if (!isValid) return refused({ reason: 'client_secret_invalid', clientId });
  if (!client.isActive) return refused({ reason: 'client_disabled', clientId });
  return authorize(client, null);
}

function refused(refusal: AuthenticationRefusal): Result<never, ProofStop> {
  return err({ kind: 'refused', role: ROLE, refusal });
}
