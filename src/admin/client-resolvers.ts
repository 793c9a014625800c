/** Clients in GraphQL: arguments to operations, rows to outside names. Decides nothing. */
import type { Client } from '../issuance/client.ts';
import { clientFieldsOf } from '../registry/client-input.ts';
import type { AdminContext } from './admin-context.ts';
import { notFound, valueOrThrow } from './admin-error.ts';
import type { AdminDependencies } from './dependencies.ts';
import { type PaginationRequest, pageOf } from './pagination.ts';

type ById = { readonly params: { readonly id: string } };
type Input = { readonly params: unknown };
type List = { readonly params?: { readonly pagination?: PaginationRequest | null } | null };

export function clientResolvers({ registry }: Pick<AdminDependencies, 'registry'>) {
  return {
    Query: {
      async _client(_parent: unknown, { params }: ById) {
        const client = await registry.findClient(params.id);
        if (client === null) throw notFound('client');
        return clientType(client);
      },
      async _clients(_parent: unknown, { params }: List) {
        const page = pageOf(params?.pagination);
        const { rows, total } = await registry.listClients(page);
        return { pagination: { ...page, total }, clients: rows.map(clientType) };
      },
    },
    Mutation: {
      async _create_client(_parent: unknown, { params }: Input, context: AdminContext) {
        return withSecretType(valueOrThrow(await registry.createClient(params, context)));
      },
      async _update_client(_parent: unknown, { params }: Input, context: AdminContext) {
        return clientType(valueOrThrow(await registry.updateClient(params, context)));
      },
      async _delete_client(_parent: unknown, { params }: ById, context: AdminContext) {
        valueOrThrow(await registry.deleteClient(params.id, context));
        return { message: 'Client deleted successfully' };
      },
      async _rotate_client_secret(_parent: unknown, { params }: ById, context: AdminContext) {
        return withSecretType(valueOrThrow(await registry.rotateClientSecret(params.id, context)));
      },
    },
  };
}

function withSecretType({ client, clientSecret }: { client: Client; clientSecret: string | null }) {
  return { client: clientType(client), client_secret: clientSecret };
}

function clientType(client: Client) {
  return {
    ...clientFieldsOf(client),
    id: client.id,
    managed_by: client.managedBy,
    created_at: client.createdAt,
    updated_at: client.updatedAt,
  };
}
