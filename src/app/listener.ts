/**
 * The listening socket: time limits against slow senders, an answer to what is not HTTP, and a drained end. Knows
 * nothing of what is served.
 */
import { randomUUID } from 'node:crypto';
import { createServer, type RequestListener, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { ListenAddress } from '../setting-values.ts';

/** In-flight requests have this long after SIGTERM; the promise is to have ended within 10 s. */
const DRAIN_DEADLINE_MS = 8_000;
const IDLE_SWEEP_MS = 50;
/** A client that has not sent its headers by then is not going to; slow senders must not hold connections. */
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 20_000;
/** Longer than the idle timeout of common load balancers, so that they close first. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000;

/** Node's parser errors that have a status of their own; every other one is 400. */
const STATUS_OF_ERROR: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

export type Listener = {
  /** `host:port` as bound. */
  readonly address: string;
  /** Takes no new connections, lets requests under way end, and cuts what is left at the deadline. */
  drain(): Promise<void>;
};

/** Listens. Rejects with Node's error when the address can not be had. */
export async function listen(handler: RequestListener, { host, port }: ListenAddress): Promise<Listener> {
  const server = createServer(
    {
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
      connectionsCheckingInterval: 2_000,
      // Node would answer by itself, without a request id.
      requireHostHeader: false,
    },
    (request, response) => {
      const hasHost = request.headers.host !== undefined || request.httpVersion !== '1.1';
      if (hasHost) handler(request, response);
      else answerEmpty(response, 400);
    },
  );
  server.on('clientError', answerBrokenRequest);
  server.on('checkExpectation', (_request, response) => answerEmpty(response, 417));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  const bound = server.address();
  return {
    address: bound === null || typeof bound === 'string' ? String(bound) : `${bound.address}:${bound.port}`,
    drain: () =>
      new Promise((resolve) => {
        // A connection becomes idle when its last request has been answered, and its client would like to keep it.
        const sweep = setInterval(() => server.closeIdleConnections(), IDLE_SWEEP_MS);
        const deadline = setTimeout(() => server.closeAllConnections(), DRAIN_DEADLINE_MS);
        server.close(() => {
          clearInterval(sweep);
          clearTimeout(deadline);
          resolve();
        });
      }),
  };
}

/** What HTTP itself refuses (RFC 9112 §3.2, RFC 9110 §10.1.1). */
function answerEmpty(response: ServerResponse, status: number): void {
  response.writeHead(status, { connection: 'close', 'content-length': 0, 'x-request-id': randomUUID() }).end();
}

/** Every answer carries a request id, even one to bytes that never became a request. */
function answerBrokenRequest(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const status = STATUS_OF_ERROR[error.code ?? ''] ?? 400;
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Connection: close',
    'Content-Length: 0',
    `x-request-id: ${randomUUID()}`,
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n`);
}
