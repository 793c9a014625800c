/**
 * A stand-in for a Kubernetes cluster on loopback: discovery and keys as kube-apiserver serves them
 * (kubernetes/kubernetes pkg/routes/openidmetadata.go), and tokens with the claims that a 1.32 API server mints.
 */
import { createHash, generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export type TokenRequest = {
  readonly audience: string;
  readonly namespace?: string;
  readonly serviceAccount?: string;
  readonly issuer?: string;
  readonly signedBy?: KeyObject;
};

const LIFETIME_SECONDS = 3600;

export class StandInCluster {
  readonly issuer: string;
  readonly #server: Server;
  readonly #privateKey: KeyObject;
  readonly #kid: string;

  private constructor(server: Server, issuer: string, privateKey: KeyObject, kid: string) {
    this.#server = server;
    this.issuer = issuer;
    this.#privateKey = privateKey;
    this.#kid = kid;
  }

  static async start(): Promise<StandInCluster> {
    const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    // As pkg/serviceaccount/jwt.go computes it: SHA-256 over the public key's DER.
    const der = publicKey.export({ format: 'der', type: 'spki' });
    const kid = createHash('sha256').update(der).digest('base64url');
    const jwks = { keys: [{ use: 'sig', kid, alg: 'RS256', ...publicKey.export({ format: 'jwk' }) }] };
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const discovery = {
      issuer,
      jwks_uri: `${issuer}/openid/v1/jwks`,
      response_types_supported: ['id_token'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256'],
    };
    server.on('request', ({ url }, response) => {
      const documents: Readonly<Record<string, readonly [string, unknown]>> = {
        '/.well-known/openid-configuration': ['application/json', discovery],
        '/openid/v1/jwks': ['application/jwk-set+json', jwks],
      };
      const [type, document] = documents[url ?? ''] ?? ['application/json', null];
      response.writeHead(document === null ? 404 : 200, {
        'content-type': type,
        'cache-control': 'public, max-age=3600',
      });
      response.end(JSON.stringify(document));
    });
    return new StandInCluster(server, issuer, privateKey, kid);
  }

  /** A projected ServiceAccount token, bound to a pod on a node. */
  mint({ audience, namespace = 'demo', serviceAccount = 'worker', issuer, signedBy }: TokenRequest): string {
    const now = Math.floor(Date.now() / 1000);
    const claims = {
      aud: [audience],
      exp: now + LIFETIME_SECONDS,
      iat: now,
      iss: issuer ?? this.issuer,
      jti: randomUUID(),
      'kubernetes.io': {
        namespace,
        node: { name: 'node-1', uid: '33333333-3333-4333-8333-333333333333' },
        pod: { name: `${serviceAccount}-6d5f7c-x7k2p`, uid: '22222222-2222-4222-8222-222222222222' },
        serviceaccount: { name: serviceAccount, uid: '11111111-1111-4111-8111-111111111111' },
      },
      nbf: now,
      sub: `system:serviceaccount:${namespace}:${serviceAccount}`,
    };
    const input = [{ alg: 'RS256', kid: this.#kid }, claims]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.');
    return `${input}.${sign('sha256', Buffer.from(input), signedBy ?? this.#privateKey).toString('base64url')}`;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}
