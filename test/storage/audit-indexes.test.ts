import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Database, openDatabase } from '../../src/storage/database.ts';

let database: Database;
beforeAll(async () => {
  database = await openDatabase({ url: 'sqlite::memory:' });
});
afterAll(() => database.close());

describe('the audit log', () => {
  it.each([
    ['action', 'action'],
    ['reason', 'reason'],
    ['client_id', 'client_id'],
    ['trusted_issuer_id', 'trusted_issuer_id'],
    ['subject', 'subject'],
    ['request_id', 'request_id'],
    ['resource_type', 'resource_type'],
    ['resource_id', 'resource_id'],
  ])('is not read as a whole, nor sorted, for a filter by %s', (column, index) => {
    const plan = database.client
      .prepare<[string], { detail: string }>(
        `explain query plan select * from audit_logs where ${column} = ? and seq < 9 order by seq desc limit 5`,
      )
      .all('x')
      .map(({ detail }) => detail);
    expect(plan).toEqual([expect.stringMatching(`^SEARCH audit_logs USING INDEX audit_logs_${index} `)]);
  });
});
