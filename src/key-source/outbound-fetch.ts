/**
 * The only file that opens outbound connections. A URL that an admin or a discovery document names is a way to make
 * this server knock on other doors (SSRF), so: https, vetted addresses only and the connection pinned to them, no
 * redirects, no credentials but for the one POST that is given them, bounded in size and time. It knows nothing of keys.
 */
import { lookup as dnsLookup } from 'node:dns/promises';
import http, { type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import https from 'node:https';
import { isIP, isIPv6, type LookupFunction, type Socket } from 'node:net';
import { err, ok, type Result } from '../result.ts';
import { createAddressPolicy } from './address-policy.ts';
import { cacheControlMaxAge } from './cache-control.ts';
import { isCertificateBundle } from './certificate-bundle.ts';
import { errorCode, type FetchFailure, type FetchStage, failureAt } from './fetch-failure.ts';
import { readJsonBody } from './json-body.ts';
import { type Lookup, lookupOnce } from './lookup-once.ts';
import type { OutboundRequest, PostedJson, PostJson, PostJsonRequest } from './outbound-request.ts';
import { type OutboundTarget, readTarget, vettedAddresses } from './outbound-target.ts';
import { retryAfterSeconds } from './retry-after.ts';
import { settledBefore } from './settled-before.ts';

/** Largest document: a set of 100 RSA-8192 keys is a fifth of it. */
export const MAX_DOCUMENT_BYTES = 1024 * 1024;
/** Largest answer to a POST. A TokenReview repeats its token, of 16 KiB at most; the rest of it is small. */
export const MAX_ANSWER_BYTES = 64 * 1024;
/** From the first look at the name to the last byte: a request waits for its issuer's first fetch. */
export const FETCH_DEADLINE_MS = 3000;

/**
 * How long a connection is kept without use: well below the 90 seconds of an API server and what balancers allow, so
 * that the other side hardly ever closes it while we send. We never send twice.
 */
const KEPT_CONNECTION_MS = 5000;

export type OutboundFetchOptions = {
  /** CIDRs from `COUNTERSIGN_PRIVATE_NETWORKS`. */
  readonly privateNetworks: readonly string[];
  /** The system's resolver where absent; it knows search domains and the hosts file, as Kubernetes needs. */
  readonly lookup?: Lookup;
  readonly deadlineMs?: number;
};

export type FetchJsonRequest = OutboundRequest & { readonly accept: string };

export type FetchedJson = {
  readonly status: 200;
  readonly document: unknown;
  /** Seconds; null where the answer names none. */
  readonly cacheControlMaxAge: number | null;
  readonly bytes: number;
};

/** One GET of one JSON document. Every expected failure is a value; nothing of the body is in it. */
export type FetchJson = (url: string, request: FetchJsonRequest) => Promise<Result<FetchedJson, FetchFailure>>;

type Progress = { stage: FetchStage };

/** What is sent, and how the answer is read. */
type Exchange<T> = {
  readonly schemes: readonly string[];
  readonly method: 'GET' | 'POST';
  readonly headers: OutgoingHttpHeaders;
  readonly body?: string;
  readonly clientCertificate: PostJsonRequest['clientCertificate'];
  /** False: a connection of its own. */
  readonly agent: https.Agent | false;
  readonly deadlineMs: number;
  readonly read: (response: IncomingMessage) => Promise<Result<T, FetchFailure>>;
};

/** Throws a `RangeError` when `privateNetworks` holds something that is not a CIDR. */
export function createOutboundFetch(options: OutboundFetchOptions): FetchJson {
  const exchangeWith = createExchanges(options);
  const { deadlineMs = FETCH_DEADLINE_MS } = options;
  return (url, request) =>
    exchangeWith(url, request, {
      schemes: ['https', 'http'],
      method: 'GET',
      headers: { accept: request.accept },
      clientCertificate: null,
      // None is shared between issuers, whose CAs differ, and keys are fetched once an hour.
      agent: false,
      deadlineMs,
      read: readDocument,
    });
}

/** Throws a `RangeError` when `privateNetworks` holds something that is not a CIDR. */
export function createOutboundPost(options: OutboundFetchOptions): PostJson {
  const exchangeWith = createExchanges(options);
  const { deadlineMs = FETCH_DEADLINE_MS } = options;
  const agent = new VettedAgent({ keepAlive: true, timeout: KEPT_CONNECTION_MS });
  return (url, request) =>
    exchangeWith(url, request, {
      schemes: ['https'],
      method: 'POST',
      headers: {
        accept: 'application/json',
        'content-type': 'application/json',
        ...(request.bearerToken !== null && { authorization: `Bearer ${request.bearerToken}` }),
      },
      body: JSON.stringify(request.body),
      clientCertificate: request.clientCertificate,
      agent,
      deadlineMs: Math.min(request.deadlineMs, deadlineMs),
      read: readPosted,
    });
}

function createExchanges(options: OutboundFetchOptions) {
  const policy = createAddressPolicy(options.privateNetworks);
  const lookup = lookupOnce(options.lookup ?? systemLookup);

  return async function exchangeWith<T>(
    text: string,
    request: OutboundRequest,
    exchange: Exchange<T>,
  ): Promise<Result<T, FetchFailure>> {
    const { deadlineMs } = exchange;
    if (request.signal?.aborted) return err({ code: 'aborted' });
    const target = readTarget(text, exchange.schemes);
    if (!target.ok) return target;
    if (request.caPem !== null && !isCertificateBundle(request.caPem)) return err({ code: 'ca_pem_invalid' });

    const progress: Progress = { stage: 'name resolution' };
    const deadline = new AbortController();
    const timer = setTimeout(() => deadline.abort(), deadlineMs);
    const giveUp = () => deadline.abort();
    request.signal?.addEventListener('abort', giveUp, { once: true });
    try {
      const addresses = await vettedAddresses(target.value, {
        policy,
        lookup,
        rowConsents: request.allowPrivateNetwork,
        signal: deadline.signal,
      });
      if (!addresses.ok) return addresses;
      progress.stage = 'connecting';
      const { signal } = deadline;
      const answered = converse(target.value, addresses.value, request.caPem, exchange, progress, signal);
      return await settledBefore(signal, answered);
    } catch (error) {
      if (request.signal?.aborted) return err({ code: 'aborted' });
      if (deadline.signal.aborted) {
        return err({ code: 'timeout', seconds: deadlineMs / 1000, stage: progress.stage });
      }
      return err(failureAt(progress.stage, target.value.host, errorCode(error)));
    } finally {
      clearTimeout(timer);
      request.signal?.removeEventListener('abort', giveUp);
    }
  };
}

async function systemLookup(host: string): Promise<readonly string[]> {
  const addresses = await dnsLookup(host, { all: true });
  return addresses.map(({ address }) => address);
}

/** The vetted addresses of a request, for its agent. */
const VETTED = Symbol('vetted addresses');
type VettedOptions = https.RequestOptions & { readonly [VETTED]?: string };

/**
 * Keeps connections for the next call, since a handshake costs more than all the rest of it. One is used again only for
 * the same host, CA and client certificate, which Node sees to, and for the same vetted addresses: a row that may not
 * reach a private address must not get there by the connection of another row that may.
 */
class VettedAgent extends https.Agent {
  override getName(options: VettedOptions): string {
    return `${super.getName(options)}:${options[VETTED] ?? ''}`;
  }
}

class ClosedWithoutAnswer extends Error {
  readonly code = 'ECONNRESET';
}

async function converse<T>(
  target: OutboundTarget,
  addresses: readonly string[],
  caPem: string | null,
  exchange: Exchange<T>,
  progress: Progress,
  signal: AbortSignal,
): Promise<Result<T, FetchFailure>> {
  const answer = Promise.withResolvers<IncomingMessage>();
  const { url, host } = target;
  const { clientCertificate } = exchange;
  const options: VettedOptions = {
    method: exchange.method,
    host,
    port: url.port,
    path: `${url.pathname}${url.search}`,
    headers: { ...exchange.headers, 'accept-encoding': 'identity', 'user-agent': 'countersign' },
    agent: exchange.agent,
    [VETTED]: addresses.join(),
    lookup: pinnedTo(addresses),
    signal,
    ...(caPem !== null && { ca: caPem }),
    ...(clientCertificate !== null && { cert: clientCertificate.certPem, key: clientCertificate.keyPem }),
    // Said aloud so that NODE_TLS_REJECT_UNAUTHORIZED can't turn the check off.
    rejectUnauthorized: true,
    minVersion: 'TLSv1.2',
    // A name with a final dot is the same host, but SNI and certificates are written without it (RFC 6066 §3).
    servername: isIP(host) === 0 ? host.replace(/\.$/, '') : '',
  };
  const sent = (url.protocol === 'https:' ? https : http).request(options);
  try {
    sent.once('response', answer.resolve).once('error', answer.reject);
    // A switch of protocols (101) ends the connection without an error.
    sent.once('close', () => answer.reject(new ClosedWithoutAnswer()));
    sent.once('socket', (socket: Socket) => {
      if (sent.reusedSocket) {
        progress.stage = 'waiting for the answer';
        return;
      }
      socket.once('connect', () => {
        progress.stage = url.protocol === 'https:' ? 'TLS handshake' : 'waiting for the answer';
      });
      socket.once('secureConnect', () => {
        progress.stage = 'waiting for the answer';
      });
    });
    sent.end(exchange.body);
    const response = await answer.promise;
    progress.stage = 'reading';
    response.on('error', () => {});
    const status = response.statusCode ?? 0;
    if (status >= 300 && status < 400) return err({ code: 'unexpected_redirect', status });
    return await exchange.read(response);
  } finally {
    // Whatever is left of an answer that we no longer want, and late errors of its connection, end here.
    sent.on('error', () => {}).destroy();
  }
}

async function readDocument(response: IncomingMessage): Promise<Result<FetchedJson, FetchFailure>> {
  const status = response.statusCode ?? 0;
  if (status !== 200) {
    const hint = status === 401 || status === 403 ? 'anonymous_access_refused' : null;
    return err({ code: 'unexpected_status', status, hint });
  }
  const body = await readJsonBody(response, MAX_DOCUMENT_BYTES);
  if (!body.ok) return body;
  return ok({
    status: 200,
    ...body.value,
    cacheControlMaxAge: cacheControlMaxAge(response.headers['cache-control']),
  });
}

async function readPosted(response: IncomingMessage): Promise<Result<PostedJson, FetchFailure>> {
  const status = response.statusCode ?? 0;
  const seconds = retryAfterSeconds(response.headers['retry-after']);
  if (status !== 200 && status !== 201) return ok({ status, document: null, retryAfterSeconds: seconds });
  const body = await readJsonBody(response, MAX_ANSWER_BYTES);
  return body.ok ? ok({ status, document: body.value.document, retryAfterSeconds: seconds }) : body;
}

/** A resolver that knows only the addresses that were vetted: the name is not looked up a second time. */
function pinnedTo(addresses: readonly string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
  return (_host, options, callback) => {
    const [first] = all;
    if (options.all) callback(null, all);
    else callback(null, first?.address ?? '', first?.family ?? 0);
  };
}
