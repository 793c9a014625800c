/**
 * The registry: what clients, trusted issuers and bindings there are, and every way to change them. Whoever takes
 * changes from outside (the admin API, later the declarative file) goes through here.
 */
import { type ClientOperations, createClientOperations } from './client-operations.ts';
import { createRegistryContext, type RegistryDependencies } from './registry-context.ts';
import { createTrustedIssuerOperations, type TrustedIssuerOperations } from './trusted-issuer-operations.ts';
import { createWorkloadBindingOperations, type WorkloadBindingOperations } from './workload-binding-operations.ts';

export type Registry = ClientOperations & TrustedIssuerOperations & WorkloadBindingOperations;

/** The registry over its store. Make one per process: writes of one registry take turns. */
export function createRegistry(dependencies: RegistryDependencies): Registry {
  const context = createRegistryContext(dependencies);
  return {
    ...createClientOperations(context),
    ...createTrustedIssuerOperations(context),
    ...createWorkloadBindingOperations(context),
  };
}
