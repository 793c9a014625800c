/** The executable admin schema: type definitions, scalars and resolvers put together. */
import type { GraphQLSchema } from 'graphql';
import { createSchema } from 'graphql-yoga';
import type { AdminContext } from './admin-context.ts';
import { auditLogResolvers } from './audit-log-resolvers.ts';
import { clientResolvers } from './client-resolvers.ts';
import { denyListResolvers } from './deny-list-resolvers.ts';
import type { AdminDependencies } from './dependencies.ts';
import { inputTypeDefs } from './input-type-defs.ts';
import { scalars } from './scalars.ts';
import { serverResolvers } from './server-resolvers.ts';
import { trustedIssuerResolvers } from './trusted-issuer-resolvers.ts';
import { typeDefs } from './type-defs.ts';
import { workloadBindingResolvers } from './workload-binding-resolvers.ts';

export function createAdminSchema(dependencies: AdminDependencies): GraphQLSchema {
  return createSchema<AdminContext>({
    typeDefs: [...typeDefs, ...inputTypeDefs],
    resolvers: [
      scalars,
      clientResolvers(dependencies),
      trustedIssuerResolvers(dependencies),
      workloadBindingResolvers(dependencies),
      denyListResolvers(dependencies),
      auditLogResolvers(dependencies),
      serverResolvers(dependencies),
    ],
  });
}
