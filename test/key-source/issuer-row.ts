/** A trusted issuer whose keys are found by discovery on loopback; a test changes what it is about. */
import type { TrustedIssuer } from '../../src/assertion/trusted-issuer.ts';
import { TEST_CA_PEM } from '../fixtures/issuer-server.ts';
import { CLUSTER } from '../fixtures/rows.ts';

export function issuerRow(change: Partial<TrustedIssuer> = {}): TrustedIssuer {
  return {
    ...CLUSTER,
    issuerUrl: 'https://issuer.test',
    keySourceType: 'oidc_discovery',
    jwks: null,
    caPem: TEST_CA_PEM,
    allowPrivateNetwork: true,
    ...change,
  };
}
