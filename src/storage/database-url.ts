/** Reads `COUNTERSIGN_DATABASE_URL`. Opens nothing; its errors never repeat the URL, which may hold a password. */
import { resolve } from 'node:path';
import { err, ok, type Result } from '../result.ts';

export type DatabaseLocation = { readonly kind: 'memory' } | { readonly kind: 'file'; readonly path: string };

const EXPECTED = 'write sqlite:PATH, for example sqlite:data/countersign.db';

/** `sqlite:PATH` (relative to the working directory) or `sqlite::memory:`. The error is a sentence for the operator. */
export function parseDatabaseUrl(url: string): Result<DatabaseLocation, string> {
  const scheme = /^[A-Za-z][A-Za-z0-9+.-]*(?=:)/.exec(url)?.[0].toLowerCase();
  if (scheme === 'postgres' || scheme === 'postgresql') {
    return err(`COUNTERSIGN_DATABASE_URL: PostgreSQL is not supported by this version yet; ${EXPECTED}`);
  }
  if (scheme !== 'sqlite') {
    return err(`COUNTERSIGN_DATABASE_URL: ${scheme ? `"${scheme}:" is not supported` : 'no scheme'}; ${EXPECTED}`);
  }
  const path = url.slice('sqlite:'.length);
  if (path === ':memory:') return ok({ kind: 'memory' });
  if (path === '' || path.endsWith('/')) return err(`COUNTERSIGN_DATABASE_URL: no file is named; ${EXPECTED}`);
  // `sqlite://data/x.db` reads as the host "data" by one convention and as the path /data/x.db by another.
  if (path.startsWith('//') && !path.startsWith('///')) {
    return err(`COUNTERSIGN_DATABASE_URL: "sqlite://" with a host is ambiguous; ${EXPECTED}`);
  }
  if (/[?#\0]/.test(path)) return err(`COUNTERSIGN_DATABASE_URL: parameters are not supported; ${EXPECTED}`);
  return ok({ kind: 'file', path: resolve(path) });
}
