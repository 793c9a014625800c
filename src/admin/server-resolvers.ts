/** The server itself in GraphQL: what it would do with an assertion, and the keys that it signs with. */
import { ACCESS_TOKEN_SIGNING_ALGS, type AccessTokenSigningAlg } from '../issuance/client.ts';
import { signingKeyState } from '../issuance/signing-key.ts';
import { problem } from '../registry/input-problem.ts';
import type { AdminContext } from './admin-context.ts';
import { invalidArgument } from './admin-error.ts';
import type { AdminDependencies, PublicSigningKey } from './dependencies.ts';

type Explain = { readonly params: { readonly assertion: string } };
type Rotate = { readonly params?: { readonly alg?: string | null; readonly compromised?: boolean | null } | null };

type Dependencies = Pick<
  AdminDependencies,
  'explainAssertion' | 'listSigningKeys' | 'rotateSigningKey' | 'auditLog' | 'clock'
>;

export function serverResolvers(dependencies: Dependencies) {
  const { explainAssertion, listSigningKeys, rotateSigningKey, auditLog, clock } = dependencies;
  return {
    Query: {
      async _explain_assertion(_parent: unknown, { params }: Explain, { requestId }: AdminContext) {
        const explanation = await explainAssertion(params.assertion, requestId);
        const { accepted, reason, trustedIssuerId, clientId, checks } = explanation;
        return { accepted, reason, trusted_issuer_id: trustedIssuerId, client_id: clientId, checks };
      },
      async _signing_keys() {
        const now = clock();
        return (await listSigningKeys()).map((key) => signingKeyType(key, now));
      },
    },
    Mutation: {
      async _rotate_signing_key(_parent: unknown, { params }: Rotate, context: AdminContext) {
        const alg = params?.alg ?? 'ES256';
        if (!isSigningAlg(alg)) {
          throw invalidArgument(problem(`must be one of ${ACCESS_TOKEN_SIGNING_ALGS.join(', ')}`, 'alg'));
        }
        const compromised = params?.compromised ?? false;
        const key = await rotateSigningKey({ alg, compromised });
        const now = clock();
        await auditLog.append({
          createdAt: now,
          requestId: context.requestId,
          action: 'signing_key.rotated',
          outcome: 'changed',
          reason: null,
          actorType: 'admin',
          actorId: 'admin',
          resourceType: 'signing_key',
          resourceId: key.kid,
          trustedIssuerId: null,
          subject: null,
          clientId: null,
          ipAddress: context.ipAddress,
          userAgent: context.userAgent,
          evidence: { alg, compromised, active_from: key.activeFrom },
        });
        return signingKeyType(key, now);
      },
    },
  };
}

function isSigningAlg(text: string): text is AccessTokenSigningAlg {
  return (ACCESS_TOKEN_SIGNING_ALGS as readonly string[]).includes(text);
}

/** Named one by one: what is handed in may be a whole key, private part and all. */
function signingKeyType(key: PublicSigningKey, now: number) {
  return {
    kid: key.kid,
    alg: key.alg,
    state: signingKeyState(key, now),
    created_at: key.createdAt,
    active_from: key.activeFrom,
    active_until: key.activeUntil,
    remove_at: key.removeAt,
  };
}
