import { type AuditFail, auditServer } from 'graphql-http';
import { expect, it } from 'vitest';
import { ADMIN_SECRET, startAdminServer } from '../fixtures/admin-server.ts';

/**
 * What we leave out, each allowed by the audits: queries by GET. They would stand in every log on the way, so
 * only POST executes anything.
 */
const NOTICES = ['5A70', '6A70', 'D6D5'];

it('passes the graphql-http audits without an error or a warning', async () => {
  await using server = await startAdminServer();
  const results = await auditServer({
    url: server.url,
    fetchFn: (url: string, init: RequestInit = {}) => {
      const headers = new Headers(init.headers);
      headers.set('authorization', `Bearer ${ADMIN_SECRET}`);
      return fetch(url, { ...init, headers });
    },
  });
  const failed = results.filter((result): result is AuditFail => result.status !== 'ok');
  const idsOf = (status: string) =>
    failed
      .filter((audit) => audit.status === status)
      .map(({ id }) => id)
      .toSorted();
  expect(results.length).toBeGreaterThanOrEqual(61);
  expect({ error: idsOf('error'), warn: idsOf('warn'), notice: idsOf('notice') }).toEqual({
    error: [],
    warn: [],
    notice: NOTICES,
  });
});
