/** The GraphiQL page, for people on loopback. It holds no secret: whoever uses it types the admin secret in. */
import type { IncomingMessage } from 'node:http';
import { renderGraphiQL } from 'graphql-yoga';

/** Whether a browser asks for the page. A query in the address is not run, and not even looked at. */
export function wantsGraphiql(request: IncomingMessage): boolean {
  return request.method === 'GET' && (request.headers.accept ?? '').includes('text/html');
}

/** The page's HTML. Headers that are typed in, the secret among them, are not kept by the browser. */
export function graphiqlPage(): string {
  return renderGraphiQL({
    title: 'Countersign admin: GraphiQL',
    defaultHeaders: JSON.stringify({ authorization: 'Bearer <admin secret>' }, null, 2),
    shouldPersistHeaders: false,
    credentials: 'omit',
  });
}
