/** What anyone may read: server metadata (RFC 8414) and our public keys (RFC 7517 §5). Cacheable only when good. */
import type { Request, Response } from 'express';
import { JWKS_MAX_AGE_SECONDS } from '../issuance/signing-key.ts';
import type { SigningKeyRing } from '../issuance/signing-key-ring.ts';
import { serverMetadata } from './metadata.ts';

/** Serves the metadata document. */
export function metadataDocument(ownIssuer: string): (request: Request, response: Response) => void {
  const document = serverMetadata(ownIssuer);
  return (_request, response) => {
    response.setHeader('Cache-Control', `public, max-age=${JWKS_MAX_AGE_SECONDS}`);
    response.json(document);
  };
}

/** Serves the keys that sign now, will sign soon, or signed tokens that may still live. Public parts only. */
export function keySetDocument(signingKeys: SigningKeyRing): (request: Request, response: Response) => Promise<void> {
  return async (_request, response) => {
    const keys = await signingKeys.published();
    response.setHeader('Cache-Control', `public, max-age=${JWKS_MAX_AGE_SECONDS}`);
    response.type('application/jwk-set+json');
    response.send(
      JSON.stringify({ keys: keys.map(({ publicJwk, kid, alg }) => ({ ...publicJwk, kid, alg, use: 'sig' })) }),
    );
  };
}
