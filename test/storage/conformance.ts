/**
 * The contract of every port that storage implements, as one suite: run by `sqlite.test.ts`, and by whatever database
 * comes next. It opens the stores through a factory and knows nothing of what is behind them.
 */
import { afterEach, beforeEach, describe } from 'vitest';
import type { Clock } from '../../src/clock.ts';
import type { Stores } from '../../src/storage/open-stores.ts';
import { settableClock } from '../fixtures/settable-clock.ts';
import { auditContract } from './audit-contract.ts';
import { bindingContract } from './binding-contract.ts';
import { clientContract } from './client-contract.ts';
import { denyListContract } from './deny-list-contract.ts';
import { issuerContract } from './issuer-contract.ts';
import { replayContract } from './replay-contract.ts';
import { revocationContract } from './revocation-contract.ts';
import { signingKeyContract } from './signing-key-contract.ts';

/** Opens stores over a database that is migrated and empty. */
export type StoresFactory = (clock: Clock) => Promise<Stores>;

/** Answers the stores of the test that is running. */
export type CurrentStores = () => Stores;

/** The whole contract, against fresh stores for each test. */
export function describeStores(database: string, open: StoresFactory): void {
  describe(`the stores on ${database}`, () => {
    let stores: Stores | null = null;
    beforeEach(async () => {
      stores = await open(settableClock());
    });
    afterEach(async () => {
      await stores?.close();
      stores = null;
    });
    const current: CurrentStores = () => {
      if (stores === null) throw new Error('no stores outside of a test');
      return stores;
    };

    clientContract(current);
    issuerContract(current);
    bindingContract(current);
    denyListContract(current);
    replayContract(current);
    revocationContract(current);
    signingKeyContract(current);
    auditContract(current);
  });
}
