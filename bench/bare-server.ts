/**
 * The yardstick: a bare Node HTTP handler that verifies the RS256 assertion of a form and signs an ES256 token. No
 * framework, no database, no policy: what the cryptography and HTTP cost by themselves on this machine, right now.
 */
import { createPublicKey, generateKeyPairSync, type JsonWebKey, randomUUID, sign, verify } from 'node:crypto';
import { createServer } from 'node:http';
import { serveMeasured } from './measured-process.ts';

const publicKey = createPublicKey({ key: JSON.parse(process.argv[2] ?? '{}') as JsonWebKey, format: 'jwk' });
const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const header = Buffer.from(JSON.stringify({ alg: 'ES256', typ: 'at+jwt', kid: 'bench' })).toString('base64url');

function issue(body: string): string {
  const assertion = new URLSearchParams(body).get('client_assertion') ?? '';
  const [head = '', payload = '', signature = ''] = assertion.split('.');
  const input = Buffer.from(`${head}.${payload}`);
  if (!verify('sha256', input, publicKey, Buffer.from(signature, 'base64url'))) throw new Error('bad signature');
  const { sub } = JSON.parse(Buffer.from(payload, 'base64url').toString()) as { sub: string };
  const now = Math.floor(Date.now() / 1000);
  const claims = { iss: 'bench', sub, client_id: sub, aud: 'bench', iat: now, exp: now + 900, jti: randomUUID() };
  const token = `${header}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}`;
  const mark = sign('sha256', Buffer.from(token), { key: privateKey, dsaEncoding: 'ieee-p1363' });
  return JSON.stringify({
    access_token: `${token}.${mark.toString('base64url')}`,
    token_type: 'Bearer',
    expires_in: 900,
  });
}

serveMeasured(
  createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      response.setHeader('content-type', 'application/json');
      response.end(issue(Buffer.concat(chunks).toString()));
    });
  }),
);
