/** Wires the trust decision: stores, keys of trusted issuers, platform rules, and clients that vouch for themselves. */
import type { VerificationPorts } from '../assertion/verify-assertion.ts';
import type { Clock } from '../clock.ts';
import { systemStopwatch } from '../clock.ts';
import type { Config } from '../config.ts';
import type { Client } from '../issuance/client.ts';
import { isSelfIssued, withSelfIssuedClients } from '../issuance/private-key-jwt.ts';
import { createApiServerPost } from '../key-source/api-server-post.ts';
import { type CachedIssuerKeys, createIssuerKeys } from '../key-source/issuer-keys.ts';
import { createOutboundFetch } from '../key-source/outbound-fetch.ts';
import { createApiServerCredentials, credentialsInFolder } from '../kubernetes/api-server-credential.ts';
import { withServersOfCredentials } from '../kubernetes/credential-servers.ts';
import { type ClusterReviews, createOnlineReviews } from '../kubernetes/online-reviews.ts';
import { isLegacyServiceAccountToken, readKubernetesIdentity } from '../kubernetes/service-account.ts';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import { frugally } from './frugal-work.ts';
import type { AppStores } from './stores.ts';

export type Verification = AsyncDisposable & {
  readonly ports: VerificationPorts<Client>;
  readonly issuerKeys: CachedIssuerKeys;
  readonly onlineReviews: ClusterReviews;
};

/** Issuers that one line names at most. */
const MAX_LOGGED_HOLDERS = 20;

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
    activeIssuers: stores.activeIssuers,
    isSelfIssued,
    clock,
    stopwatch: systemStopwatch,
    jitter: Math.random,
    frugally,
    observer: {
      fetched({ issuer, outcome, seconds, isNews }) {
        observer?.metrics.keyFetched(issuer.id, outcome, seconds);
        if (!isNews) return;
        const facts = { trusted_issuer_id: issuer.id, name: issuer.name, outcome };
        if (outcome === 'ok') observer?.log.info(facts, 'keys fetched again');
        else observer?.log.warn(facts, 'keys not fetched');
      },
      keyShared(thumbprint, holders) {
        const facts = { thumbprint, trusted_issuers: holders.slice(0, MAX_LOGGED_HOLDERS), count: holders.length };
        if (holders.length > 1) observer?.log.warn(facts, 'signing key shared: every issuer that has it is refused');
        else observer?.log.info(facts, 'signing key no longer shared');
      },
      staleUsed(issuerId) {
        observer?.metrics.staleKeysUsed();
        observer?.log.warn({ trusted_issuer_id: issuerId }, 'stale keys used');
      },
      faulted: (issuerId, error) => observer?.log.error({ trusted_issuer_id: issuerId, error }, 'fault'),
    },
  });
  const onlineReviews = createOnlineReviews({
    postJson: createApiServerPost({ privateNetworks: config.privateNetworks }),
    credentials: createApiServerCredentials(credentialsInFolder(config.kubernetesCredentials)),
    clock,
    stopwatch: systemStopwatch,
    observer: {
      reviewed({ issuer, outcome, detail, seconds, isNews }) {
        observer?.metrics.reviewed(issuer.id, outcome, seconds);
        if (!isNews) return;
        const facts = { trusted_issuer_id: issuer.id, name: issuer.name, outcome, detail };
        if (detail === null) observer?.log.info(facts, 'cluster answers again');
        else observer?.log.error(facts, 'cluster can not be asked about tokens');
      },
      breakerMoved(issuer, state) {
        observer?.log.warn({ trusted_issuer_id: issuer.id, name: issuer.name, state }, 'review breaker');
      },
    },
  });
  observer?.metrics.exposeReviews((maxClusters) => onlineReviews.figures(maxClusters).clusters);
  observer?.metrics.exposeKeySets((maxIssuers) => issuerKeys.figures(maxIssuers));
  return {
    issuerKeys,
    onlineReviews,
    ports: {
      ...trust,
      issuerKeys,
      onlineReviews: withServersOfCredentials(onlineReviews, {
        folder: config.kubernetesCredentials,
        inClusterApiServers: config.inClusterApiServers,
      }),
      denyList: stores.denyList,
      clients: stores.clients,
      replayStore: stores.replayStore,
      platformRules: { isLegacyServiceAccountToken, readKubernetesIdentity },
    },
    async [Symbol.asyncDispose]() {
      onlineReviews.close();
      await issuerKeys.close();
    },
  };
}
