/**
 * What the worker shows to a protected API: an access token, for which it exchanges the identity in its token file, or
 * a token that an API minted itself and that is sent as it is.
 */
import { createTokenClient, type TokenClient } from '../client/token-client.ts';
import { tokenFileSource } from '../client/token-file-source.ts';
import { type Clock, systemClock } from '../clock.ts';

export type WorkerCredential =
  | { readonly kind: 'token_file'; readonly path: string }
  | { readonly kind: 'static_token'; readonly token: string };

export type WorkerBearer = {
  /** The token for the next call; its life, scope and the worker's id are logged, the token never is. */
  get(): Promise<string>;
  /** An API has refused this token. */
  refused(token: string): void;
};

export type WorkerBearerOptions = {
  readonly credential: WorkerCredential;
  readonly issuer: string;
  readonly tokenEndpoint?: string | undefined;
  readonly clientId?: string | undefined;
  readonly resource?: string | undefined;
  readonly scope?: string | undefined;
  readonly idClaim?: string | undefined;
  readonly allowInsecureEndpoint?: boolean | undefined;
  readonly log: (line: string) => void;
  readonly clock?: Clock | undefined;
};

/** The bearer of a worker. Settings that cannot be used throw a `TypeError`. */
export function createWorkerBearer(options: WorkerBearerOptions): WorkerBearer {
  const { credential, log } = options;
  return credential.kind === 'token_file'
    ? exchangedBearer(createWorkerTokenClient(options, credential.path), options)
    : staticBearer(credential.token, log);
}

/** Never exchanged, and never replaced: whoever minted it has to give another one. */
function staticBearer(token: string, log: (line: string) => void): WorkerBearer {
  return {
    async get() {
      log('static token: sent as it is');
      return token;
    },
    refused() {
      log('the static token was refused: ask for another one where it was minted');
    },
  };
}

function exchangedBearer(tokens: TokenClient, { clock = systemClock, log }: WorkerBearerOptions): WorkerBearer {
  return {
    async get() {
      const { accessToken, expiresAt, scope, assignedId } = await tokens.getToken();
      log(`access token: ${expiresAt - clock()} s left, scope "${scope}"`);
      if (assignedId !== null) log(`id: ${assignedId}`);
      return accessToken;
    },
    refused(token) {
      tokens.invalidate(token);
    },
  };
}

function createWorkerTokenClient(options: WorkerBearerOptions, tokenFile: string): TokenClient {
  const { issuer, tokenEndpoint, clientId, resource, scope, idClaim, log, clock = systemClock } = options;
  return createTokenClient({
    issuer,
    source: tokenFileSource({ path: tokenFile, clock }),
    ...(tokenEndpoint !== undefined && { tokenEndpoint }),
    ...(clientId !== undefined && { clientId }),
    ...(resource !== undefined && { resource }),
    ...(scope !== undefined && { scope }),
    ...(idClaim !== undefined && { idClaim }),
    allowInsecureEndpoint: options.allowInsecureEndpoint ?? false,
    onRenewalFailed: (error) => log(`renewal failed, the token in hand stays in use: ${describeFault(error)}`),
    clock,
  });
}

/** An error as one phrase; those of the client library hold no token. */
export function describeFault(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}
