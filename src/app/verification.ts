/** Wires the trust decision: stores, keys of trusted issuers, platform rules, and clients that vouch for themselves. */

import type { VerificationPorts } from '../assertion/verify-assertion.ts';
import type { Clock } from '../clock.ts';
import { systemStopwatch } from '../clock.ts';
import type { Config } from '../config.ts';
import type { Client } from '../issuance/client.ts';
import { withSelfIssuedClients } from '../issuance/private-key-jwt.ts';
import { type CachedIssuerKeys, createIssuerKeys } from '../key-source/issuer-keys.ts';
import { createOutboundFetch } from '../key-source/outbound-fetch.ts';
import { isLegacyServiceAccountToken, readKubernetesIdentity } from '../kubernetes/service-account.ts';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { AppStores } from './stores.ts';

export type Verification = AsyncDisposable & {
  readonly ports: VerificationPorts<Client>;
  readonly issuerKeys: CachedIssuerKeys;
};

/** What is told of key fetches; null for commands, which report by themselves. */
export type VerificationObserver = { readonly log: Log; readonly metrics: Metrics } | null;

/** The verification over the given stores. Disposing it ends its fetches. */
export function createVerification(
  config: Config,
  stores: AppStores,
  clock: Clock,
  observer: VerificationObserver,
): Verification {
  const trust = withSelfIssuedClients(stores, stores.clients, config.issuer);
  const issuerKeys = createIssuerKeys({
    fetchJson: createOutboundFetch({ privateNetworks: config.privateNetworks }),
    trustedIssuers: trust.trustedIssuers,
    clock,
    stopwatch: systemStopwatch,
    jitter: Math.random,
    observer: {
      fetched(issuerId, outcome, seconds) {
        observer?.metrics.keyFetched(issuerId, outcome, seconds);
        if (outcome !== 'ok') observer?.log.warn({ trusted_issuer_id: issuerId, outcome }, 'keys not fetched');
      },
      staleUsed(issuerId) {
        observer?.metrics.staleKeysUsed();
        observer?.log.warn({ trusted_issuer_id: issuerId }, 'stale keys used');
      },
      faulted: (issuerId, error) => observer?.log.error({ trusted_issuer_id: issuerId, error }, 'fault'),
    },
  });
  return {
    issuerKeys,
    ports: {
      ...trust,
      issuerKeys,
      clients: stores.clients,
      replayStore: stores.replayStore,
      platformRules: { isLegacyServiceAccountToken, readKubernetesIdentity },
    },
    [Symbol.asyncDispose]: () => issuerKeys.close(),
  };
}
