/** The contract of trusted issuers and their issuer strings. */
import { describe, expect, it } from 'vitest';
import type { TrustedIssuer } from '../../src/assertion/trusted-issuer.ts';
import type { WorkloadBinding } from '../../src/assertion/workload-binding.ts';
import { BINDING, CLIENT, CLUSTER, PROVIDER } from '../fixtures/rows.ts';
import type { CurrentStores } from './conformance.ts';

const WRITTEN = { written: true };
const URL_TAKEN = { written: false, conflict: 'issuer_url' };
const PAGE = { limit: 10, offset: 0 };
const OLD_URL = 'https://old.example.com';
const RENAMED: TrustedIssuer = { ...CLUSTER, additionalIssuerUrls: [OLD_URL] };

const ELSEWHERE = { ...CLIENT, id: 'client-row-2', clientId: 'elsewhere' };
const TO_ELSEWHERE: WorkloadBinding = { ...BINDING, id: 'binding-2', clientRowId: ELSEWHERE.id };
const OTHER_SUBJECT: WorkloadBinding = { ...BINDING, id: 'binding-3', subject: 'system:serviceaccount:a:b' };

export function issuerContract(stores: CurrentStores): void {
  const bindingsOf = async (trustedIssuerId: string) => {
    const { rows } = await stores().registryStore.listWorkloadBindings(PAGE, { trustedIssuerId });
    return rows.map(({ id }) => id);
  };

  describe('keep trusted issuers and', () => {
    it.each<[string, Partial<TrustedIssuer>]>([
      ['as it is', {}],
      ['an OIDC provider', PROVIDER],
      ['discovery elsewhere', { keySourceType: 'oidc_discovery', discoveryUrl: 'https://d.example.com', jwks: null }],
      ['a JWKS address', { keySourceType: 'static_jwks_url', jwksUrl: 'https://j.example.com', caPem: 'PEM' }],
      ['SPIFFE', { issuerType: 'spiffe_jwt', keySourceType: 'spiffe_bundle_endpoint' }],
      ['a cluster that is asked', { keySourceType: 'token_review' }],
      ['the local mint', { issuerType: 'host' }],
      ['audiences with commas', { expectedAud: ['https://a.example.com/?x=1,2', 'b,c', '"'] }],
      ['each flag turned', { allowPrivateNetwork: true, allowAdditionalAudiences: true, requireKid: false }],
      ['pod and node required', { requirePod: true, requireNode: true }],
      ['its own numbers', { maxTokenLifetimeSeconds: 7, keySourceRevision: 9, keySourceUpdatedAt: 8 }],
      ['reuse, another claim', { assertionUse: 'until_expiry', subjectClaim: 'workload', organizationId: 'org' }],
      ['of the file, not active', { managedBy: 'file', isActive: false }],
    ])('give an issuer back exactly: %s', async (_, change) => {
      const issuer = { ...CLUSTER, ...change };
      expect(await stores().registryStore.insertTrustedIssuer(issuer, [])).toEqual(WRITTEN);
      expect(await stores().trustedIssuers.findByIssuerUrl(issuer.issuerUrl)).toEqual(issuer);
      expect(await stores().trustedIssuers.findById(issuer.id)).toEqual(issuer);
      expect(await stores().registryStore.findTrustedIssuer(issuer.id)).toEqual(issuer);
    });

    it('find a row by any of its issuer strings', async () => {
      await stores().registryStore.insertTrustedIssuer(RENAMED, []);
      expect(await stores().trustedIssuers.findByIssuerUrl(CLUSTER.issuerUrl)).toEqual(RENAMED);
      expect(await stores().trustedIssuers.findByIssuerUrl(OLD_URL)).toEqual(RENAMED);
      expect(await stores().registryStore.listIssuerUrls()).toEqual(
        expect.arrayContaining([
          { url: CLUSTER.issuerUrl, trustedIssuerId: CLUSTER.id },
          { url: OLD_URL, trustedIssuerId: CLUSTER.id },
        ]),
      );
    });

    it.each([
      `${CLUSTER.issuerUrl}/`,
      CLUSTER.issuerUrl.toUpperCase(),
      ` ${CLUSTER.issuerUrl}`,
      `${CLUSTER.issuerUrl}\0`,
      `${CLUSTER.issuerUrl},${OLD_URL}`,
      '',
      '%',
    ])('find nothing under an issuer string that differs by a byte: %j', async (iss) => {
      await stores().registryStore.insertTrustedIssuer(CLUSTER, []);
      expect(await stores().trustedIssuers.findByIssuerUrl(iss)).toBeNull();
    });

    it('never take a lone surrogate for the replacement character that it would be stored as', async () => {
      const issuer = { ...CLUSTER, issuerUrl: 'https://\ufffd.example.com' };
      await stores().registryStore.insertTrustedIssuer(issuer, []);
      expect(await stores().trustedIssuers.findByIssuerUrl(issuer.issuerUrl)).toEqual(issuer);
      expect(await stores().trustedIssuers.findByIssuerUrl('https://\ud800.example.com')).toBeNull();
    });

    it.each<[string, Partial<TrustedIssuer>]>([
      ['its main one is the main one of another', { issuerUrl: CLUSTER.issuerUrl }],
      ['its main one is an additional one of another', { issuerUrl: OLD_URL }],
      ['an additional one is the main one of another', { additionalIssuerUrls: ['https://x', CLUSTER.issuerUrl] }],
      ['an additional one is an additional one of another', { additionalIssuerUrls: ['https://x', OLD_URL] }],
    ])('refuse an issuer when %s, and keep nothing of it', async (_, change) => {
      const { registryStore, trustedIssuers } = stores();
      await registryStore.insertTrustedIssuer(RENAMED, []);
      await registryStore.insertClient(CLIENT, []);
      const issuer = { ...PROVIDER, ...change };
      expect(await registryStore.insertTrustedIssuer(issuer, [{ ...BINDING, trustedIssuerId: issuer.id }])).toEqual(
        URL_TAKEN,
      );
      expect(await trustedIssuers.findById(PROVIDER.id)).toBeNull();
      expect(await trustedIssuers.findByIssuerUrl('https://x')).toBeNull();
      expect(await bindingsOf(PROVIDER.id)).toEqual([]);

      await registryStore.insertTrustedIssuer(PROVIDER, []);
      expect(await registryStore.updateTrustedIssuer(issuer, null)).toEqual(URL_TAKEN);
      expect(await trustedIssuers.findById(PROVIDER.id)).toEqual(PROVIDER);
    });

    it('let a string that a row names twice count once', async () => {
      const issuer = { ...CLUSTER, additionalIssuerUrls: [CLUSTER.issuerUrl, OLD_URL, OLD_URL] };
      expect(await stores().registryStore.insertTrustedIssuer(issuer, [])).toEqual(WRITTEN);
      expect(await stores().trustedIssuers.findById(issuer.id)).toEqual(issuer);
    });

    it('free the issuer strings that a change or a deletion gives up, at once', async () => {
      const { registryStore, trustedIssuers } = stores();
      await registryStore.insertTrustedIssuer(RENAMED, []);
      expect(await trustedIssuers.findByIssuerUrl(OLD_URL)).toEqual(RENAMED);
      expect(await registryStore.updateTrustedIssuer(CLUSTER, null)).toEqual(WRITTEN);
      expect(await trustedIssuers.findByIssuerUrl(OLD_URL)).toBeNull();

      const successor = { ...PROVIDER, issuerUrl: OLD_URL };
      expect(await registryStore.insertTrustedIssuer(successor, [])).toEqual(WRITTEN);
      expect(await registryStore.deleteTrustedIssuer(successor.id)).toBe(true);
      expect(await registryStore.deleteTrustedIssuer(successor.id)).toBe(false);
      expect(await trustedIssuers.findByIssuerUrl(OLD_URL)).toBeNull();
    });

    it('throw when the issuer to change is gone', async () => {
      await expect(stores().registryStore.updateTrustedIssuer(CLUSTER, null)).rejects.toThrow('deleted meanwhile');
    });

    it('throw, rather than name a conflict, for a client that does not exist', async () => {
      const issuer = { ...CLUSTER, serviceAccountId: 'nobody' };
      await expect(stores().registryStore.insertTrustedIssuer(issuer, [])).rejects.toThrow();
      await expect(stores().registryStore.insertTrustedIssuer(CLUSTER, [BINDING])).rejects.toThrow();
      expect(await stores().trustedIssuers.findById(CLUSTER.id)).toBeNull();
    });

    it('list issuers by creation and then id, all or those of one service account', async () => {
      const { registryStore } = stores();
      await registryStore.insertClient(CLIENT, []);
      const short = { ...PROVIDER, serviceAccountId: CLIENT.id, createdAt: CLUSTER.createdAt - 1 };
      await registryStore.insertTrustedIssuer(CLUSTER, []);
      await registryStore.insertTrustedIssuer(short, []);
      expect(await registryStore.listTrustedIssuers(PAGE, {})).toEqual({ rows: [short, CLUSTER], total: 2 });
      expect(await registryStore.listTrustedIssuers({ limit: 1, offset: 1 }, {})).toEqual({
        rows: [CLUSTER],
        total: 2,
      });
      expect(await registryStore.listTrustedIssuers(PAGE, { serviceAccountId: CLIENT.id })).toEqual({
        rows: [short],
        total: 1,
      });
    });
  });

  describe('keep the short form and', () => {
    const SHORT = { ...CLUSTER, serviceAccountId: CLIENT.id };
    const prepare = async () => {
      const { registryStore } = stores();
      await registryStore.insertClient(CLIENT, []);
      await registryStore.insertClient(ELSEWHERE, []);
      await registryStore.insertTrustedIssuer(SHORT, [BINDING, TO_ELSEWHERE]);
      return registryStore;
    };

    it('replace the bindings to its service account only', async () => {
      const registryStore = await prepare();
      expect(await registryStore.updateTrustedIssuer(SHORT, [OTHER_SUBJECT])).toEqual(WRITTEN);
      expect(await bindingsOf(SHORT.id)).toEqual([TO_ELSEWHERE.id, OTHER_SUBJECT.id]);
      expect(await stores().workloadBindings.findBySubject(SHORT.id, BINDING.subject)).toEqual([TO_ELSEWHERE]);
    });

    it('keep a binding that is among the new ones, with its id', async () => {
      const registryStore = await prepare();
      await registryStore.updateTrustedIssuer(SHORT, [BINDING, OTHER_SUBJECT]);
      expect(await bindingsOf(SHORT.id)).toEqual([BINDING.id, TO_ELSEWHERE.id, OTHER_SUBJECT.id]);
    });

    it('leave all bindings alone when none are given', async () => {
      const registryStore = await prepare();
      await registryStore.updateTrustedIssuer({ ...SHORT, name: 'renamed' }, null);
      expect(await bindingsOf(SHORT.id)).toEqual([BINDING.id, TO_ELSEWHERE.id]);
    });

    it('ADM-05: bind nobody for an empty list', async () => {
      const registryStore = await prepare();
      await registryStore.updateTrustedIssuer(SHORT, []);
      expect(await bindingsOf(SHORT.id)).toEqual([TO_ELSEWHERE.id]);
    });

    it('change nothing at all when one of the new bindings is refused', async () => {
      const registryStore = await prepare();
      const twin = { ...TO_ELSEWHERE, id: 'binding-9' };
      expect(await registryStore.updateTrustedIssuer({ ...SHORT, name: 'renamed' }, [OTHER_SUBJECT, twin])).toEqual({
        written: false,
        conflict: 'binding',
      });
      expect(await bindingsOf(SHORT.id)).toEqual([BINDING.id, TO_ELSEWHERE.id]);
      expect(await stores().trustedIssuers.findById(SHORT.id)).toEqual(SHORT);
    });
  });
}
