/** Operations on clients: parse, check against the other rows, store, record. Knows no GraphQL and no SQL. */
import { randomUUID } from 'node:crypto';
import type { Client } from '../issuance/client.ts';
import { newClientSecret, rotatedSecrets } from '../issuance/client-secret.ts';
import { err, ok, type Result } from '../result.ts';
import { type ClientFields, clientFieldsOf, parseClientInput, parseClientUpdate } from './client-input.ts';
import { type InputProblem, problem } from './input-problem.ts';
import { type RegistryContext, readUpdate, textMember } from './registry-context.ts';
import { conflictError, invalidInput, type RegistryError } from './registry-error.ts';
import type { Page, Paged } from './registry-store.ts';
import { changedFields, shownFields, type WriteOrigin } from './write-audit.ts';

/** A client, and the text of its new secret: this once and never again. */
export type ClientWithSecret<S extends string | null> = { readonly client: Client; readonly clientSecret: S };

export type ClientOperations = {
  createClient(input: unknown, origin: WriteOrigin): Promise<Result<ClientWithSecret<string | null>, RegistryError>>;
  updateClient(input: unknown, origin: WriteOrigin): Promise<Result<Client, RegistryError>>;
  /** With its secrets and bindings. */
  deleteClient(idOrClientId: string, origin: WriteOrigin): Promise<Result<Client, RegistryError>>;
  /** Adds a secret; the one before it stays valid for `SECRET_OVERLAP_SECONDS`. Also makes a first one. */
  rotateClientSecret(
    idOrClientId: string,
    origin: WriteOrigin,
  ): Promise<Result<ClientWithSecret<string>, RegistryError>>;
  findClient(idOrClientId: string): Promise<Client | null>;
  listClients(page: Page): Promise<Paged<Client>>;
};

export function createClientOperations(context: RegistryContext): ClientOperations {
  const { store, clock, ownIssuer, audit } = context;

  async function findWritable(idOrClientId: string): Promise<Result<Client, RegistryError>> {
    const client = await store.findClient(idOrClientId);
    if (client === null) return err({ code: 'not_found', resourceType: 'client', id: idOrClientId });
    return client.managedBy === 'file'
      ? err({ code: 'managed_by_file', resourceType: 'client', id: client.id })
      : ok(client);
  }

  return {
    createClient(input, origin) {
      const row = { clientId: textMember(input, 'client_id') };
      return context.write({ resourceType: 'client', verb: 'created', row }, origin, async () => {
        const parsed = await parseClientInput(input, ownIssuer);
        if (!parsed.ok) return err(invalidInput(parsed.error));
        const { fields, withClientSecret } = parsed.value;
        // The id of another row would be found before this client's client_id wherever either may be given.
        if ((await store.findClient(fields.clientId)) !== null) return err(conflictError('client_id'));
        const collisions = await issuerCollisions(context, fields);
        if (collisions.length > 0) return err(invalidInput(collisions));
        const now = clock();
        const client: Client = { ...fields, id: randomUUID(), managedBy: 'api', createdAt: now, updatedAt: now };
        const secret = withClientSecret ? newClientSecret(client.id, now) : null;
        const outcome = await store.insertClient(client, secret === null ? [] : [secret.stored]);
        if (!outcome.written) return err(conflictError(outcome.conflict));
        await audit.changed('client', 'created', origin, auditRow(client), {
          created: shownFields(clientFieldsOf(client)),
          with_client_secret: withClientSecret,
        });
        return ok({ client, clientSecret: secret?.secret ?? null });
      });
    },

    updateClient(input, origin) {
      const row = { resourceId: textMember(input, 'id') };
      return context.write({ resourceType: 'client', verb: 'updated', row }, origin, async () => {
        const update = readUpdate(input);
        if (!update.ok) return update;
        const found = await findWritable(update.value.id);
        if (!found.ok) return found;
        const current = found.value;
        const parsed = await parseClientUpdate(update.value.changes, current, ownIssuer);
        if (!parsed.ok) return err(invalidInput(parsed.error));
        const collisions = await issuerCollisions(context, parsed.value);
        if (collisions.length > 0) return err(invalidInput(collisions));
        const changed = changedFields(clientFieldsOf(current), clientFieldsOf(parsed.value));
        if (Object.keys(changed).length === 0) return ok(current);
        const client: Client = { ...current, ...parsed.value, updatedAt: clock() };
        const outcome = await store.updateClient(client);
        if (!outcome.written) return err(conflictError(outcome.conflict));
        await audit.changed('client', 'updated', origin, auditRow(client), { changed });
        return ok(client);
      });
    },

    deleteClient(idOrClientId, origin) {
      const row = { resourceId: idOrClientId };
      return context.write({ resourceType: 'client', verb: 'deleted', row }, origin, async () => {
        const found = await findWritable(idOrClientId);
        if (!found.ok) return found;
        const client = found.value;
        const bound = await store.listWorkloadBindings(
          { limit: 1, offset: 0 },
          { clientRowId: client.id, managedBy: 'file' },
        );
        const [binding] = bound.rows;
        if (binding !== undefined) {
          return err({ code: 'managed_by_file', resourceType: 'workload_binding', id: binding.id });
        }
        if (!(await store.deleteClient(client.id))) {
          return err({ code: 'not_found', resourceType: 'client', id: idOrClientId });
        }
        await audit.changed('client', 'deleted', origin, auditRow(client), {
          deleted: shownFields(clientFieldsOf(client)),
        });
        return ok(client);
      });
    },

    rotateClientSecret(idOrClientId, origin) {
      const row = { resourceId: idOrClientId };
      return context.write({ resourceType: 'client', verb: 'secret_rotated', row }, origin, async () => {
        const found = await findWritable(idOrClientId);
        if (!found.ok) return found;
        const client = found.value;
        const now = clock();
        const { secret, stored } = newClientSecret(client.id, now);
        const secrets = rotatedSecrets(await store.findClientSecrets(client.id), stored, now);
        await store.replaceClientSecrets(client.id, secrets);
        await audit.changed('client', 'secret_rotated', origin, auditRow(client), {
          secrets: secrets.map(({ id, createdAt, expiresAt }) => ({
            id,
            created_at: createdAt,
            expires_at: expiresAt,
          })),
        });
        return ok({ client, clientSecret: secret });
      });
    },

    findClient: (idOrClientId) => store.findClient(idOrClientId),
    listClients: (page) => store.listClients(page),
  };
}

function auditRow(client: Client) {
  return { resourceId: client.id, clientId: client.clientId };
}

/** An assertion that a client signs itself has the client_id as its `iss`: it must lead to one key set, not to two. */
async function issuerCollisions({ store }: RegistryContext, fields: ClientFields): Promise<readonly InputProblem[]> {
  if (fields.jwks === null) return [];
  const registered = await store.listIssuerUrls();
  return registered.some(({ url }) => url === fields.clientId)
    ? [problem(`the client_id ${JSON.stringify(fields.clientId)} is also a trusted issuer's string`, 'jwks')]
    : [];
}
