/** Workload bindings in GraphQL: arguments to operations, rows to outside names. Decides nothing. */
import type { WorkloadBinding } from '../assertion/workload-binding.ts';
import { workloadBindingFieldsOf } from '../registry/workload-binding-input.ts';
import type { WrittenWorkloadBinding } from '../registry/workload-binding-operations.ts';
import type { AdminContext } from './admin-context.ts';
import { notFound, valueOrThrow } from './admin-error.ts';
import type { AdminDependencies } from './dependencies.ts';
import { type PaginationRequest, pageOf } from './pagination.ts';

type ById = { readonly params: { readonly id: string } };
type Input = { readonly params: unknown };
type List = {
  readonly params?: {
    readonly trusted_issuer_id?: string | null;
    readonly client_id?: string | null;
    readonly subject?: string | null;
    readonly pagination?: PaginationRequest | null;
  } | null;
};

export function workloadBindingResolvers({ registry }: Pick<AdminDependencies, 'registry'>) {
  return {
    Query: {
      async _workload_binding(_parent: unknown, { params }: ById) {
        const binding = await registry.findWorkloadBinding(params.id);
        if (binding === null) throw notFound('workload binding');
        return read(binding);
      },
      async _workload_bindings(_parent: unknown, { params }: List) {
        const page = pageOf(params?.pagination);
        const { trusted_issuer_id: trustedIssuerId, client_id: client, subject } = params ?? {};
        // A client that is not there has no bindings; its id filters them all out.
        const clientRowId = client ? ((await registry.findClient(client))?.id ?? client) : null;
        const { rows, total } = await registry.listWorkloadBindings(page, {
          ...(trustedIssuerId && { trustedIssuerId }),
          ...(clientRowId && { clientRowId }),
          ...(subject && { subject }),
        });
        return { pagination: { ...page, total }, workload_bindings: rows.map(read) };
      },
    },
    Mutation: {
      async _add_workload_binding(_parent: unknown, { params }: Input, context: AdminContext) {
        return workloadBindingType(valueOrThrow(await registry.addWorkloadBinding(params, context)));
      },
      async _update_workload_binding(_parent: unknown, { params }: Input, context: AdminContext) {
        return workloadBindingType(valueOrThrow(await registry.updateWorkloadBinding(params, context)));
      },
      async _delete_workload_binding(_parent: unknown, { params }: ById, context: AdminContext) {
        valueOrThrow(await registry.deleteWorkloadBinding(params.id, context));
        return { message: 'Workload binding deleted successfully' };
      },
    },
  };
}

function read(binding: WorkloadBinding) {
  return workloadBindingType({ binding, warnings: [] });
}

function workloadBindingType({ binding, warnings }: WrittenWorkloadBinding) {
  return {
    ...workloadBindingFieldsOf(binding),
    id: binding.id,
    managed_by: binding.managedBy,
    warnings,
    created_at: binding.createdAt,
    updated_at: binding.updatedAt,
  };
}
