/** Why the registry refused an operation: a value with its evidence. Surfaces map it to their own words. */
import type { InputProblem } from './input-problem.ts';
import type { WriteConflict } from './registry-store.ts';

export type ResourceType = 'client' | 'trusted_issuer' | 'workload_binding' | 'deny_list_entry';

export type RegistryError =
  | { readonly code: 'invalid_input'; readonly problems: readonly InputProblem[] }
  | { readonly code: 'not_found'; readonly resourceType: ResourceType; readonly id: string }
  /** Another row has what must be had once. */
  | { readonly code: 'conflict'; readonly problems: readonly InputProblem[] }
  /** The row lives in the declarative file, so it is changed there and nowhere else. */
  | { readonly code: 'managed_by_file'; readonly resourceType: ResourceType; readonly id: string };

/** The refusal for input that is wrong in itself. */
export function invalidInput(problems: readonly InputProblem[]): RegistryError {
  return { code: 'invalid_input', problems };
}

/** The refusal of a unique index, when another writer was faster than our own checks. */
export function conflictError(conflict: WriteConflict): RegistryError {
  switch (conflict) {
    case 'client_id':
      return { code: 'conflict', problems: [{ path: ['client_id'], message: 'is taken by another client' }] };
    case 'issuer_url':
      return { code: 'conflict', problems: [{ path: ['issuer_url'], message: 'is registered already' }] };
    case 'binding':
      return {
        code: 'conflict',
        problems: [{ path: ['subject'], message: 'is bound to this client already, for this trusted issuer' }],
      };
    case 'deny_list_entry':
      return { code: 'conflict', problems: [{ path: [], message: 'is on the deny list of this issuer already' }] };
  }
}
