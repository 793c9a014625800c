/** The sample API's store of tokens that it minted itself: one, of which it keeps the digest. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { OpaqueTokenLookup, OpaqueTokenPrincipal } from '../resource/bearer-middleware.ts';

const digestOf = (token: string): Buffer => createHash('sha256').update(token).digest();

/** Knows `token`, whose holder has these scopes, and no other. How long it compares tells nothing about it. */
export function staticTokenLookup(token: string, scopes: readonly string[]): OpaqueTokenLookup<OpaqueTokenPrincipal> {
  const digest = digestOf(token);
  return async (presented) => (timingSafeEqual(digestOf(presented), digest) ? { scopes } : null);
}
