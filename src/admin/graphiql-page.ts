/** The GraphiQL page, for people on loopback. It holds no secret: whoever uses it types the admin secret in. */
import type { IncomingMessage } from 'node:http';

/** What an admin comes here to ask: who was refused, and why. */
const FIRST_QUERY = `{
  _audit_logs(params: { outcome: "refused", pagination: { limit: 10 } }) {
    audit_logs { created_at reason subject client_id metadata request_id }
  }
}
`;

/** Whether a browser asks for the page. A query in the address is not run, and not even looked at. */
export function wantsGraphiql(request: IncomingMessage): boolean {
  return request.method === 'GET' && (request.headers.accept ?? '').includes('text/html');
}

/**
 * The page's HTML, scripts included: an admin types a secret into it, so nothing in it comes from elsewhere. Headers
 * that are typed in are not kept by the browser.
 */
export async function graphiqlPage(): Promise<string> {
  // Megabytes of script that only this page needs.
  const { renderGraphiQL } = await import('@graphql-yoga/render-graphiql');
  return renderGraphiQL({
    title: 'Countersign admin: GraphiQL',
    defaultQuery: FIRST_QUERY,
    defaultHeaders: JSON.stringify({ authorization: 'Bearer <admin secret>' }, null, 2),
    shouldPersistHeaders: false,
    credentials: 'omit',
  });
}
