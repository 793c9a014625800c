/**
 * What each setting may hold: text to value, or a problem with its mend. Pure but for the one secret that is read from
 * a file; where the text comes from is `config.ts`'s business.
 */
import { readFileSync } from 'node:fs';
import ipaddr from 'ipaddr.js';
import { LOG_LEVELS, type LogLevel } from './observe/log.ts';

export type ListenAddress = { readonly host: string; readonly port: number };

/** A shorter secret can be guessed over the network. */
const MIN_ADMIN_SECRET_LENGTH = 16;
const MAX_WORKERS = 64;

/** A setting's text that can not be used, and what would mend it. */
export class UnusableSetting extends Error {
  readonly mend: string;
  constructor(problem: string, mend: string) {
    super(problem);
    this.mend = mend;
  }
}

export function parseIssuer(text: string): string {
  const mend = 'set it to the https address under which clients know this server';
  // What the URL parser would quietly mend (white space, a missing slash) is not what clients will compare with.
  const url = /^https?:\/\/[\x21-\x7E]+$/.test(text) ? URL.parse(text) : null;
  if (url === null) throw new UnusableSetting('is not an http(s) URL', mend);
  if (url.search !== '' || url.hash !== '' || text.includes('?') || text.includes('#')) {
    throw new UnusableSetting('has a query or a fragment', mend);
  }
  if (url.username !== '' || url.password !== '') throw new UnusableSetting('has credentials in it', mend);
  if (url.protocol === 'http:' && !isLoopbackHost(url.hostname)) {
    throw new UnusableSetting('is http and not a loopback address', mend);
  }
  return text;
}

/** Whether a URL's host name is this machine itself. */
export function isLoopbackHost(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '');
  return host === 'localhost' || (ipaddr.isValid(host) && ipaddr.process(host).range() === 'loopback');
}

export function parseListenAddress(text: string): ListenAddress {
  const [, bracketed, plain, port = ''] = /^(?:\[([^\]]+)\]|([^:]*)):(\d{1,5})$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  if (host === undefined || Number(port) > 65_535) {
    throw new UnusableSetting('is not host:port', 'write it as 127.0.0.1:8080 or [::1]:8080');
  }
  return { host: host === '' ? '0.0.0.0' : host, port: Number(port) };
}

export function parseDatabaseUrl(text: string): string {
  if (/^sqlite:.+/.test(text)) return text;
  const mend = 'set it to sqlite:PATH, for example sqlite:data/countersign.db';
  throw new UnusableSetting(
    /^postgres(ql)?:/.test(text) ? 'names PostgreSQL, which this version does not support yet' : 'is not a database',
    mend,
  );
}

export function readSettingFile(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    throw new UnusableSetting(`can not be read (${code})`, 'name a file that this process may read');
  }
}

/** A short secret will do where only this machine can try it. */
export function parseAdminSecret(text: string, isLocal: boolean): string {
  if (text.length >= MIN_ADMIN_SECRET_LENGTH || (isLocal && text !== '')) return text;
  throw new UnusableSetting(
    `is shorter than ${MIN_ADMIN_SECRET_LENGTH} characters, and the listen address is not loopback`,
    'make one with: openssl rand -base64 32',
  );
}

export function parseNetworks(text: string): readonly string[] {
  const networks = text
    .split(',')
    .map((network) => network.trim())
    .filter((network) => network !== '');
  const wrong = networks.find((network) => !ipaddr.isValidCIDR(network));
  if (wrong === undefined) return networks;
  throw new UnusableSetting(`has ${JSON.stringify(wrong)}, which is not a CIDR`, 'write networks as 10.96.0.0/12');
}

export function parseWorkers(text: string): number {
  const workers = Number(text);
  if (Number.isInteger(workers) && workers >= 1 && workers <= MAX_WORKERS) return workers;
  throw new UnusableSetting('is not a number of processes', `set it to 1 to ${MAX_WORKERS}`);
}

export function parseLogLevel(text: string): LogLevel {
  const level = LOG_LEVELS.find((known) => known === text);
  if (level !== undefined) return level;
  throw new UnusableSetting('is not a log level', `set it to one of ${LOG_LEVELS.join(', ')}`);
}
