/** An application on a listening socket, and its orderly end. */
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';

export type ListenAddress = { readonly host: string; readonly port: number };

export type AppServer = {
  /** Where the application answers from this machine, without a trailing slash. */
  readonly url: string;
  /** Takes no new connection, lets running requests finish. */
  close(): Promise<void>;
};

/** Starts listening; port 0 takes a free one. Rejects when the address cannot be had. */
export async function startAppServer(app: RequestListener, { host, port }: ListenAddress): Promise<AppServer> {
  const server = createServer(app);
  server.listen(port, host);
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('not listening on a TCP port');
  return {
    url: `http://${reachableHost(address.address)}:${address.port}`,
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeIdleConnections();
      await closed;
    },
  };
}

/** The wildcard addresses are good for listening only. */
function reachableHost(address: string): string {
  if (address === '0.0.0.0') return '127.0.0.1';
  if (address === '::') return '[::1]';
  return address.includes(':') ? `[${address}]` : address;
}
