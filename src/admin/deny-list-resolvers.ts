/** The deny list in GraphQL: arguments to operations, rows to outside names. Decides nothing. */
import type { DenyListEntry } from '../assertion/deny-list.ts';
import { denyListEntryFieldsOf } from '../registry/deny-list-input.ts';
import type { WrittenDenyListEntry } from '../registry/deny-list-operations.ts';
import type { AdminContext } from './admin-context.ts';
import { notFound, valueOrThrow } from './admin-error.ts';
import type { AdminDependencies } from './dependencies.ts';
import { type PaginationRequest, pageOf } from './pagination.ts';

type ById = { readonly params: { readonly id: string } };
type Input = { readonly params: unknown };
type List = {
  readonly params?: {
    readonly trusted_issuer_id?: string | null;
    readonly pagination?: PaginationRequest | null;
  } | null;
};

export function denyListResolvers({ registry }: Pick<AdminDependencies, 'registry'>) {
  return {
    Query: {
      async _deny_list_entry(_parent: unknown, { params }: ById) {
        const entry = await registry.findDenyListEntry(params.id);
        if (entry === null) throw notFound('deny list entry');
        return read(entry);
      },
      async _deny_list_entries(_parent: unknown, { params }: List) {
        const page = pageOf(params?.pagination);
        const { trusted_issuer_id: trustedIssuerId } = params ?? {};
        const { rows, total } = await registry.listDenyListEntries(page, {
          ...(trustedIssuerId && { trustedIssuerId }),
        });
        return { pagination: { ...page, total }, deny_list_entries: rows.map(read) };
      },
    },
    Mutation: {
      async _add_deny_list_entry(_parent: unknown, { params }: Input, context: AdminContext) {
        return denyListEntryType(valueOrThrow(await registry.addDenyListEntry(params, context)));
      },
      async _update_deny_list_entry(_parent: unknown, { params }: Input, context: AdminContext) {
        return denyListEntryType(valueOrThrow(await registry.updateDenyListEntry(params, context)));
      },
      async _delete_deny_list_entry(_parent: unknown, { params }: ById, context: AdminContext) {
        valueOrThrow(await registry.deleteDenyListEntry(params.id, context));
        return { message: 'Deny list entry deleted successfully' };
      },
    },
  };
}

function read(entry: DenyListEntry) {
  return denyListEntryType({ entry, warnings: [] });
}

function denyListEntryType({ entry, warnings }: WrittenDenyListEntry) {
  return {
    ...denyListEntryFieldsOf(entry),
    id: entry.id,
    managed_by: entry.managedBy,
    warnings,
    created_at: entry.createdAt,
    updated_at: entry.updatedAt,
  };
}
