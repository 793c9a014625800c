/**
 * Client authentication, the same at every endpoint (RFC 7662 §2.1, RFC 7009 §2.1): a workload's assertion, a client's
 * own assertion, or a secret. The caller says what it would grant, so that a request it must deny uses nothing up.
 */

import { VerificationTrace } from '../assertion/verification-trace.ts';
import type { VerifiedWorkload } from '../assertion/verified-workload.ts';
import type { VerificationPorts } from '../assertion/verify-assertion.ts';
import { verifyAssertion } from '../assertion/verify-assertion.ts';
import type { Client } from '../issuance/client.ts';
import { isClientSecretValid } from '../issuance/client-secret.ts';
import type { Clients } from '../issuance/ports.ts';
import { isSelfIssued } from '../issuance/private-key-jwt.ts';
import type { Result } from '../result.ts';
import type { ClientCredentials } from './client-credentials.ts';
import type { AuthenticationRefusal } from './oauth-error.ts';

export type AuthenticationPorts = {
  readonly verification: VerificationPorts<Client>;
  readonly clients: Clients;
};

/** Decides what the authenticated client gets; the workload is null when the client spoke for itself. */
export type AuthorizeClient<G, D> = (client: Client, workload: VerifiedWorkload<Client> | null) => Result<G, D>;

export type AuthenticationOutcome<G, D> = { readonly trace: VerificationTrace } & (
  | { readonly kind: 'accepted'; readonly client: Client; readonly granted: G }
  | { readonly kind: 'denied'; readonly client: Client; readonly denial: D }
  | { readonly kind: 'refused'; readonly refusal: AuthenticationRefusal }
);

/** Authenticates at `now` (seconds). Rejects only on faults. */
export async function authenticateClient<G, D>(
  ports: AuthenticationPorts,
  credentials: ClientCredentials,
  request: { readonly requestId: string; readonly now: number },
  authorize: AuthorizeClient<G, D>,
): Promise<AuthenticationOutcome<G, D>> {
  const trace = new VerificationTrace();
  if (credentials.method === 'secret') return withSecret(ports.clients, credentials, request.now, trace, authorize);
  const { assertion, clientId } = credentials;
  const presented = { assertion, clientId, ...request, purpose: 'authenticate' } as const;
  const outcome = await verifyAssertion(ports.verification, presented, trace, (workload) =>
    authorize(workload.client, isSelfIssued(workload.trustedIssuer) ? null : workload),
  );
  switch (outcome.kind) {
    case 'accepted':
      return { kind: 'accepted', client: outcome.workload.client, granted: outcome.granted, trace };
    case 'denied':
      return { kind: 'denied', client: outcome.workload.client, denial: outcome.denial, trace };
    case 'refused':
      return { kind: 'refused', refusal: outcome.refusal, trace };
  }
}

async function withSecret<G, D>(
  clients: Clients,
  { clientId, secret }: Extract<ClientCredentials, { method: 'secret' }>,
  now: number,
  trace: VerificationTrace,
  authorize: AuthorizeClient<G, D>,
): Promise<AuthenticationOutcome<G, D>> {
  const client = await clients.findByClientId(clientId);
  const secrets = client === null ? [] : await clients.findSecrets(client.id);
  // Computed for an unknown client too, so that time does not tell which clients exist.
  const isValid = isClientSecretValid(secret, secrets, now);
  if (client === null) {
    return { kind: 'refused', refusal: { reason: 'client_unknown', presentedClientId: clientId.slice(0, 255) }, trace };
  }
  trace.note({ clientId: client.clientId });
  if (!isValid) return { kind: 'refused', refusal: { reason: 'client_secret_invalid', clientId }, trace };
  if (!client.isActive) return { kind: 'refused', refusal: { reason: 'client_disabled', clientId }, trace };
  const granted = authorize(client, null);
  return granted.ok
    ? { kind: 'accepted', client, granted: granted.value, trace }
    : { kind: 'denied', client, denial: granted.error, trace };
}
