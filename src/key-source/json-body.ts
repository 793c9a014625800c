/**
 * Reads an HTTP answer's body as JSON, bounded in size before and after decompression. What counts is that it parses,
 * not its media type: key sets are served as application/jwk-set+json, application/json and text/plain alike.
 */
import type { IncomingMessage } from 'node:http';
import { PassThrough, type Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { err, ok, type Result } from '../result.ts';
import type { FetchFailure } from './fetch-failure.ts';

/** We ask for none, but files in object stores are sometimes kept compressed and served as they are. */
const DECODERS: Readonly<Record<string, () => Transform>> = {
  identity: () => new PassThrough(),
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

class BodyTooLarge extends Error {}

/** The document and the size of its text in bytes. Rejects when the connection or the compressed data breaks. */
export async function readJsonBody(
  response: IncomingMessage,
  maxBytes: number,
): Promise<Result<{ readonly document: unknown; readonly bytes: number }, FetchFailure>> {
  const encoding = (response.headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  const decoder = Object.hasOwn(DECODERS, encoding) ? DECODERS[encoding] : undefined;
  if (decoder === undefined) return err({ code: 'encoding_unsupported' });
  if (Number(response.headers['content-length'] ?? 0) > maxBytes) return err({ code: 'too_large', maxBytes });

  const chunks: Buffer[] = [];
  const upTo = (limit: number) =>
    async function* (source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
      let bytes = 0;
      for await (const chunk of source) {
        bytes += chunk.length;
        if (bytes > limit) throw new BodyTooLarge();
        yield chunk;
      }
    };
  try {
    // Two limits: few compressed bytes can hold very many, and many can hold none.
    await pipeline(response, upTo(maxBytes), decoder(), upTo(maxBytes), async (source: AsyncIterable<Buffer>) => {
      for await (const chunk of source) chunks.push(chunk);
    });
  } catch (error) {
    if (error instanceof BodyTooLarge) return err({ code: 'too_large', maxBytes });
    throw error;
  }
  return parseJson(Buffer.concat(chunks), mediaTypeOf(response));
}

function parseJson(
  bytes: Buffer,
  mediaType: string | null,
): Result<{ readonly document: unknown; readonly bytes: number }, FetchFailure> {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return err({ code: 'not_json', problem: 'not UTF-8', mediaType });
  }
  try {
    return ok({ document: JSON.parse(text), bytes: bytes.length });
  } catch {
    return err({ code: 'not_json', problem: 'not JSON', mediaType });
  }
}

/** `text/html` helps an admin see a login page; anything that is not plainly a media type is left out. */
function mediaTypeOf(response: IncomingMessage): string | null {
  const mediaType = response.headers['content-type']?.split(';')[0]?.trim() ?? '';
  return /^[\w.+-]{1,40}\/[\w.+-]{1,40}$/.test(mediaType) ? mediaType : null;
}
