/** A compact JWS of bytes that are no JSON text, or not the text that a serializer would write. */
import { KID, signWith } from '../fixtures/assertions.ts';
import { RSA_A } from '../fixtures/keys.ts';

/** The cluster's good signature over a header and a payload, byte for byte. */
export function signedBytes(
  payload: string | Buffer,
  header: string | Buffer = `{"alg":"RS256","kid":"${KID}"}`,
): string {
  const input = [header, payload].map((part) => Buffer.from(part).toString('base64url')).join('.');
  return `${input}.${signWith('RS256', RSA_A, input).toString('base64url')}`;
}
