/** Every TCP connection that this process begins, seen at the socket: a refused address must not even be tried. */
import net from 'node:net';
import { vi } from 'vitest';
import type { RunningServer } from '../fixtures/running-server.ts';

/** `host:port` of each connection begun since the call, those of the test to `server` itself left out. */
export function watchConnections(server: RunningServer): () => readonly string[] {
  const connect = vi.spyOn(net.Socket.prototype, 'connect');
  const own = new URL(server.url).host;
  return () => {
    // Node hands over its options in an array that it has normalized, or as they are.
    const options: unknown[] = connect.mock.calls.flat(2);
    return options.flatMap(targetOf).filter((target) => target !== own);
  };
}

function targetOf(options: unknown): readonly string[] {
  if (typeof options !== 'object' || options === null || !('port' in options)) return [];
  const host = 'host' in options ? String(options.host) : 'localhost';
  return [`${host}:${options.port}`];
}
