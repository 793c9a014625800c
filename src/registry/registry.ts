/**
 * The registry: what clients, trusted issuers, bindings and denials there are, and every way to change them. Whoever takes
 * changes from outside (the admin API, the declarative file) goes through here.
 */
import { type ClientOperations, createClientOperations } from './client-operations.ts';
import { createDeclarationOperations, type DeclarationOperations } from './declaration-operations.ts';
import { createDenyListOperations, type DenyListOperations } from './deny-list-operations.ts';
import { createRegistryContext, type RegistryDependencies } from './registry-context.ts';
import { createTrustedIssuerOperations, type TrustedIssuerOperations } from './trusted-issuer-operations.ts';
import { createWorkloadBindingOperations, type WorkloadBindingOperations } from './workload-binding-operations.ts';

export type Registry = ClientOperations &
  TrustedIssuerOperations &
  WorkloadBindingOperations &
  DenyListOperations &
  DeclarationOperations;

/** The registry over its store. Make one per process: writes of one registry take turns. */
export function createRegistry(dependencies: RegistryDependencies): Registry {
  const context = createRegistryContext(dependencies);
  return {
    ...createClientOperations(context),
    ...createTrustedIssuerOperations(context),
    ...createWorkloadBindingOperations(context),
    ...createDenyListOperations(context),
    ...createDeclarationOperations(context, dependencies.auditLog),
  };
}
