/** Trusted issuers in GraphQL: arguments to operations, rows to outside names. Decides nothing. */
import type { TrustedIssuer } from '../assertion/trusted-issuer.ts';
import { trustedIssuerFieldsOf } from '../registry/trusted-issuer-input.ts';
import type { WrittenTrustedIssuer } from '../registry/trusted-issuer-operations.ts';
import type { AdminContext } from './admin-context.ts';
import { notFound, valueOrThrow } from './admin-error.ts';
import type { AdminDependencies } from './dependencies.ts';
import { type PaginationRequest, pageOf } from './pagination.ts';

type ById = { readonly params: { readonly id: string } };
type Input = { readonly params: unknown };
type List = {
  readonly params?: {
    readonly service_account_id?: string | null;
    readonly pagination?: PaginationRequest | null;
  } | null;
};

type Dependencies = Pick<AdminDependencies, 'registry' | 'keyState' | 'reviewState' | 'checkTrustedIssuer'>;

export function trustedIssuerResolvers({ registry, keyState, reviewState, checkTrustedIssuer }: Dependencies) {
  async function find(id: string): Promise<TrustedIssuer> {
    const issuer = await registry.findTrustedIssuer(id);
    if (issuer === null) throw notFound('trusted issuer');
    return issuer;
  }

  /** Subjects and key state are read only when they are asked for: each costs a look-up. */
  function trustedIssuerType({ issuer, warnings }: WrittenTrustedIssuer) {
    const { expected_aud, ...fields } = trustedIssuerFieldsOf(issuer);
    return {
      ...fields,
      id: issuer.id,
      expected_aud: expected_aud.join(','),
      expected_aud_list: expected_aud,
      allowed_subjects: async () =>
        issuer.serviceAccountId === null ? null : (await registry.allowedSubjects(issuer)).join(','),
      allowed_subject_list: () => registry.allowedSubjects(issuer),
      spiffe_refresh_hint_seconds: null,
      managed_by: issuer.managedBy,
      key_source_updated_at: issuer.keySourceUpdatedAt,
      keys: () => keyStateType(keyState(issuer.id)),
      review: () => reviewStateType(reviewState(issuer.id)),
      warnings,
      created_at: issuer.createdAt,
      updated_at: issuer.updatedAt,
    };
  }
  const read = (issuer: TrustedIssuer) => trustedIssuerType({ issuer, warnings: [] });

  return {
    Query: {
      async _trusted_issuer(_parent: unknown, { params }: ById) {
        return read(await find(params.id));
      },
      async _trusted_issuers(_parent: unknown, { params }: List) {
        const page = pageOf(params?.pagination);
        const serviceAccountId = params?.service_account_id;
        const { rows, total } = await registry.listTrustedIssuers(page, serviceAccountId ? { serviceAccountId } : {});
        return { pagination: { ...page, total }, trusted_issuers: rows.map(read) };
      },
      async _check_trusted_issuer(_parent: unknown, { params }: ById) {
        const check = await checkTrustedIssuer(await find(params.id));
        const { passed, keys, skipped, failure } = check;
        return {
          passed,
          keys,
          skipped,
          failure,
          discovery_url: check.discoveryUrl,
          discovered_issuer: check.discoveredIssuer,
          jwks_url: check.jwksUrl,
          max_age_seconds: check.maxAgeSeconds,
        };
      },
    },
    Mutation: {
      async _add_trusted_issuer(_parent: unknown, { params }: Input, context: AdminContext) {
        return trustedIssuerType(valueOrThrow(await registry.addTrustedIssuer(params, context)));
      },
      async _update_trusted_issuer(_parent: unknown, { params }: Input, context: AdminContext) {
        return trustedIssuerType(valueOrThrow(await registry.updateTrustedIssuer(params, context)));
      },
      async _delete_trusted_issuer(_parent: unknown, { params }: ById, context: AdminContext) {
        valueOrThrow(await registry.deleteTrustedIssuer(params.id, context));
        return { message: 'Trusted issuer deleted successfully' };
      },
    },
  };
}

function keyStateType(state: ReturnType<AdminDependencies['keyState']>) {
  if (state === null) return null;
  return {
    loaded_at: state.loadedAt,
    stale: state.stale,
    last_error: state.lastError,
    next_try_at: state.nextTryAt,
    kids: state.kids,
    shared_keys: state.sharedKeys.map(({ thumbprint, otherIssuers }) => ({
      thumbprint,
      other_issuers: otherIssuers.map(({ id, name }) => ({ trusted_issuer_id: id, name })),
    })),
  };
}

function reviewStateType(state: ReturnType<AdminDependencies['reviewState']>) {
  if (state === null) return null;
  return {
    breaker: state.breaker,
    failures: state.failures,
    last_error: state.lastError,
    last_answered_at: state.lastAnsweredAt,
    next_probe_at: state.nextProbeAt,
  };
}
