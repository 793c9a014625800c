/** A host that takes connections and never says a word, not even a TLS one: what a firewall makes of an issuer. */
import { createServer, type Socket } from 'node:net';

export type BlackHole = {
  /** `https://127.0.0.1:port` */
  readonly origin: string;
  /** TCP connections taken so far. */
  readonly connections: () => number;
  readonly close: () => Promise<void>;
};

export async function startBlackHole(): Promise<BlackHole> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => void sockets.push(socket.on('error', () => {})));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('not a TCP server');
  return {
    origin: `https://127.0.0.1:${address.port}`,
    connections: () => sockets.length,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}
