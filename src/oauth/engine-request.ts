/**
 * The request that the engine sees: made here from what was decided, never from what the caller sent. No header, cookie
 * or parameter of the outside reaches the engine, so none can change what it issues.
 */
import { Readable } from 'node:stream';

/** Where the engine's token endpoint is mounted; nobody outside can reach it. */
export const ENGINE_TOKEN_PATH = '/token';

/** A POST of `form` to the engine's token endpoint, with no socket behind it. */
export class EngineRequest extends Readable {
  readonly method = 'POST';
  readonly url = ENGINE_TOKEN_PATH;
  readonly httpVersion = '1.1';
  readonly httpVersionMajor = 1;
  readonly httpVersionMinor = 1;
  readonly complete = true;
  readonly headers: Readonly<Record<string, string>>;
  readonly rawHeaders: readonly string[] = [];
  readonly socket = { encrypted: false, remoteAddress: '127.0.0.1' };
  readonly connection = this.socket;
  readonly #body: Buffer;

  constructor(form: URLSearchParams, host: string) {
    super();
    this.#body = Buffer.from(form.toString());
    this.headers = {
      host,
      accept: 'application/json',
      'content-type': 'application/x-www-form-urlencoded',
      'content-length': String(this.#body.length),
    };
  }

  override _read(): void {
    this.push(this.#body);
    this.push(null);
  }
}
