/**
 * The only file that opens outbound connections. A URL that an admin or a discovery document names is a way to make
 * this server knock on other doors (SSRF), so: https, vetted addresses only and the connection pinned to them, no
 * redirects, no credentials, bounded in size and time. It knows nothing of keys.
 */
import { X509Certificate } from 'node:crypto';
import { lookup as dnsLookup } from 'node:dns/promises';
import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { isIP, isIPv6, type LookupFunction, type Socket } from 'node:net';
import { err, ok, type Result } from '../result.ts';
import { createAddressPolicy } from './address-policy.ts';
import { cacheControlMaxAge } from './cache-control.ts';
import type { FetchFailure, FetchStage } from './fetch-failure.ts';
import { readJsonBody } from './json-body.ts';

/** Largest document: a set of 100 RSA-8192 keys is a fifth of it. */
export const MAX_DOCUMENT_BYTES = 1024 * 1024;
/** From the first look at the name to the last byte: a request waits for its issuer's first fetch. */
export const FETCH_DEADLINE_MS = 3000;

/** All IP addresses of a name. */
export type Lookup = (host: string) => Promise<readonly string[]>;

export type OutboundFetchOptions = {
  /** CIDRs from `COUNTERSIGN_PRIVATE_NETWORKS`. */
  readonly privateNetworks: readonly string[];
  /** The system's resolver where absent; it knows search domains and the hosts file, as Kubernetes needs. */
  readonly lookup?: Lookup;
  readonly deadlineMs?: number;
};

export type FetchJsonRequest = {
  /** Certificates that replace the system's roots (and `NODE_EXTRA_CA_CERTS`); null for those. */
  readonly caPem: string | null;
  /** The row's consent to private addresses; the operator's list must have them too. */
  readonly allowPrivateNetwork: boolean;
  readonly accept: string;
  readonly signal?: AbortSignal;
};

export type FetchedJson = {
  readonly status: 200;
  readonly document: unknown;
  /** Seconds; null where the answer names none. */
  readonly cacheControlMaxAge: number | null;
  readonly bytes: number;
};

/** One GET of one JSON document. Every expected failure is a value; nothing of the body is in it. */
export type FetchJson = (url: string, request: FetchJsonRequest) => Promise<Result<FetchedJson, FetchFailure>>;

type Target = { readonly url: URL; readonly host: string };
type Progress = { stage: FetchStage };

/** Throws a `RangeError` when `privateNetworks` holds something that is not a CIDR. */
export function createOutboundFetch(options: OutboundFetchOptions): FetchJson {
  const policy = createAddressPolicy(options.privateNetworks);
  const lookup = options.lookup ?? systemLookup;
  const deadlineMs = options.deadlineMs ?? FETCH_DEADLINE_MS;

  return async (text, request) => {
    if (request.signal?.aborted) return err({ code: 'aborted' });
    const target = readTarget(text);
    if (!target.ok) return target;
    if (request.caPem !== null && !isCertificateBundle(request.caPem)) return err({ code: 'ca_pem_invalid' });

    const progress: Progress = { stage: 'name resolution' };
    const deadline = new AbortController();
    const timer = setTimeout(() => deadline.abort(), deadlineMs);
    const giveUp = () => deadline.abort();
    request.signal?.addEventListener('abort', giveUp, { once: true });
    try {
      const addresses = await vettedAddresses(target.value, request.allowPrivateNetwork, deadline.signal);
      if (!addresses.ok) return addresses;
      progress.stage = 'connecting';
      const { signal } = deadline;
      return await settledBefore(signal, getJson(target.value, addresses.value, request, progress, signal));
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

  /** One bad address refuses the name: which of them a connection would take must not matter (DNS rebinding). */
  async function vettedAddresses(
    { url, host }: Target,
    rowConsents: boolean,
    signal: AbortSignal,
  ): Promise<Result<readonly string[], FetchFailure>> {
    const isPlain = url.protocol === 'http:';
    if (isPlain && (policy.isPublicOnly || !rowConsents)) return err({ code: 'plain_http_refused', host });
    const addresses = isIP(host) === 0 ? await settledBefore(signal, lookup(host)) : [host];
    if (addresses.length === 0) return err({ code: 'dns_failed', host, cause: 'no address' });
    for (const address of addresses) {
      const verdict = policy.judge(address, rowConsents);
      if (!verdict.allowed) {
        return err({ code: 'address_refused', host, address, range: verdict.range, remedy: verdict.remedy });
      }
      if (isPlain && verdict.network !== 'private') return err({ code: 'plain_http_refused', host });
    }
    return ok(addresses);
  }
}

/** `new URL` turns every spelling of an IPv4 address (integer, octal, hex, full-width) into the dotted one. */
function readTarget(text: string): Result<Target, FetchFailure> {
  const url = URL.parse(text);
  if (url === null) return err({ code: 'url_invalid' });
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    return err({ code: 'scheme_refused', scheme: url.protocol.slice(0, -1) });
  }
  if (url.username !== '' || url.password !== '') return err({ code: 'credentials_in_url' });
  return ok({ url, host: url.hostname.replace(/^\[|\]$/g, '') });
}

/** Node takes unreadable text in `ca` silently and falls back to its own roots for an empty one. */
function isCertificateBundle(pem: string): boolean {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  try {
    return blocks.map((block) => new X509Certificate(block)).length > 0;
  } catch {
    return false;
  }
}

async function systemLookup(host: string): Promise<readonly string[]> {
  const addresses = await dnsLookup(host, { all: true });
  return addresses.map(({ address }) => address);
}

/** The deadline holds whatever the work does: a resolver can't be interrupted, only no longer waited for. */
async function settledBefore<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

class ClosedWithoutAnswer extends Error {
  readonly code = 'ECONNRESET';
}

async function getJson(
  target: Target,
  addresses: readonly string[],
  request: FetchJsonRequest,
  progress: Progress,
  signal: AbortSignal,
): Promise<Result<FetchedJson, FetchFailure>> {
  const answer = Promise.withResolvers<IncomingMessage>();
  const { url, host } = target;
  const sent = (url.protocol === 'https:' ? https : http).request({
    method: 'GET',
    host,
    port: url.port,
    path: `${url.pathname}${url.search}`,
    headers: { accept: request.accept, 'accept-encoding': 'identity', 'user-agent': 'countersign' },
    // A connection of its own for every fetch: none is shared between issuers, whose CAs differ.
    agent: false,
    lookup: pinnedTo(addresses),
    signal,
    ...(request.caPem === null ? {} : { ca: request.caPem }),
    // Said aloud so that NODE_TLS_REJECT_UNAUTHORIZED can't turn the check off.
    rejectUnauthorized: true,
    minVersion: 'TLSv1.2',
    // A name with a final dot is the same host, but SNI and certificates are written without it (RFC 6066 §3).
    servername: isIP(host) === 0 ? host.replace(/\.$/, '') : '',
  });
  try {
    sent.once('response', answer.resolve).once('error', answer.reject);
    // A switch of protocols (101) ends the connection without an error.
    sent.once('close', () => answer.reject(new ClosedWithoutAnswer()));
    sent.once('socket', (socket: Socket) => {
      socket.once('connect', () => {
        progress.stage = url.protocol === 'https:' ? 'TLS handshake' : 'waiting for the answer';
      });
      socket.once('secureConnect', () => {
        progress.stage = 'waiting for the answer';
      });
    });
    sent.end();
    const response = await answer.promise;
    progress.stage = 'reading';
    return await readAnswer(response);
  } finally {
    // Whatever is left of an answer that we no longer want, and late errors of its connection, end here.
    sent.on('error', () => {}).destroy();
  }
}

async function readAnswer(response: IncomingMessage): Promise<Result<FetchedJson, FetchFailure>> {
  response.on('error', () => {});
  const status = response.statusCode ?? 0;
  if (status >= 300 && status < 400) return err({ code: 'unexpected_redirect', status });
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

/** A resolver that knows only the addresses that were vetted: the name is not looked up a second time. */
function pinnedTo(addresses: readonly string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
  return (_host, options, callback) => {
    const [first] = all;
    if (options.all) callback(null, all);
    else callback(null, first?.address ?? '', first?.family ?? 0);
  };
}

function failureAt(stage: FetchStage, host: string, cause: string): FetchFailure {
  switch (stage) {
    case 'name resolution':
      return { code: 'dns_failed', host, cause };
    case 'connecting':
      return { code: 'connect_failed', host, cause };
    case 'TLS handshake':
      return { code: 'tls_failed', host, cause };
    case 'waiting for the answer':
    case 'reading':
      return { code: 'answer_broken', cause };
  }
}

/** Node's error code (`ECONNREFUSED`, `ERR_TLS_CERT_ALTNAME_INVALID`, …); messages may quote what the peer sent. */
function errorCode(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}
