/**
 * The workload's proof of identity, from the file that the kubelet (or another agent) keeps fresh. The file is read
 * again on every use: the kubelet swaps the `..data` symlink, which a watch on the file never notices. It verifies
 * nothing, that is the server's part; it looks only closely enough to tell a token from a half-written file. Its errors
 * name the path, never the content.
 */
import { type FileHandle, open } from 'node:fs/promises';
import { type Clock, systemClock } from '../clock.ts';
import { isCompactJws, readUnverifiedClaims } from './unverified-claims.ts';

/** Where an assertion comes from. */
export type TokenSource = { read(): Promise<string> };

export type TokenFileProblem = 'unreadable' | 'too_large' | 'empty' | 'not_a_token' | 'expired';

/** The file has no token to offer, and there is no earlier one that is still good. */
export class TokenFileError extends Error {
  override readonly name = 'TokenFileError';
  readonly path: string;
  readonly problem: TokenFileProblem;
  /** The problem as a phrase. */
  readonly detail: string;

  constructor(path: string, problem: TokenFileProblem, detail: string) {
    super(`token file ${path}: ${detail}`);
    this.path = path;
    this.problem = problem;
    this.detail = detail;
  }
}

/** Kubernetes tokens have 1 to 2 KiB, CI tokens up to 4; the server takes no more than this. */
const MAX_TOKEN_BYTES = 16_384;
/** Room for blank lines around it. */
const MAX_FILE_BYTES = MAX_TOKEN_BYTES + 1024;
/** What the server tolerates after `exp`; this machine's clock may be that much ahead. */
const CLOCK_SKEW_SECONDS = 60;

const ASCII_WHITE_SPACE_AROUND = /^[\t\n\v\f\r ]+|[\t\n\v\f\r ]+$/g;

type ReadToken = { readonly token: string; readonly exp: number };

/**
 * A source over one file. `read` answers the token in it, without white space around it. While the file is missing,
 * empty, half written or expired, it answers the last good token until that one's `exp`; after that it rejects with
 * `TokenFileError`.
 */
export function tokenFileSource({
  path,
  clock = systemClock,
}: {
  readonly path: string;
  readonly clock?: Clock;
}): TokenSource {
  let lastGood: ReadToken | null = null;
  return {
    async read() {
      try {
        const current = await readTokenFile(path);
        if (clock() >= current.exp + CLOCK_SKEW_SECONDS) {
          throw new TokenFileError(path, 'expired', `its token expired at ${instant(current.exp)} and was not renewed`);
        }
        lastGood = current;
        return current.token;
      } catch (error) {
        if (!(error instanceof TokenFileError)) throw error;
        if (lastGood === null) throw error;
        if (clock() < lastGood.exp) return lastGood.token;
        const { problem, detail } = error;
        const earlier = `the last good token from it expired at ${instant(lastGood.exp)}`;
        throw new TokenFileError(path, problem, problem === 'expired' ? detail : `${detail}, and ${earlier}`);
      }
    },
  };
}

async function readTokenFile(path: string): Promise<ReadToken> {
  const content = await readContent(path);
  if (content.length > MAX_FILE_BYTES) {
    throw new TokenFileError(path, 'too_large', `longer than ${MAX_TOKEN_BYTES} bytes, not a token`);
  }
  // One byte is one character here, so a stray byte stays visible to the pattern below.
  const token = content.toString('latin1').replaceAll(ASCII_WHITE_SPACE_AROUND, '');
  if (token === '') throw new TokenFileError(path, 'empty', 'empty');
  if (token.length > MAX_TOKEN_BYTES) {
    throw new TokenFileError(path, 'too_large', `longer than ${MAX_TOKEN_BYTES} bytes, not a token`);
  }
  if (!isCompactJws(token)) throw new TokenFileError(path, 'not_a_token', 'not a compact JWS');
  const exp = readUnverifiedClaims(token)?.exp;
  if (typeof exp !== 'number' || !Number.isFinite(exp))
    throw new TokenFileError(path, 'not_a_token', 'a JWS without a readable exp claim');
  return { token, exp };
}

/** Never more than one byte over the limit, whatever the path leads to. */
async function readContent(path: string): Promise<Buffer> {
  let file: FileHandle | null = null;
  try {
    file = await open(path);
    const buffer = Buffer.alloc(MAX_FILE_BYTES + 1);
    let length = 0;
    while (length < buffer.length) {
      const { bytesRead } = await file.read(buffer, length);
      if (bytesRead === 0) break;
      length += bytesRead;
    }
    return buffer.subarray(0, length);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    throw new TokenFileError(path, 'unreadable', `cannot be read (${code})`);
  } finally {
    await file?.close();
  }
}

/** `exp` comes from the file, so it may lie outside what a date can be. */
function instant(seconds: number): string {
  const date = new Date(seconds * 1000);
  return Number.isNaN(date.getTime()) ? `${seconds} s` : date.toISOString();
}
