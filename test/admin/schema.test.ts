import {
  type GraphQLInputObjectType,
  type GraphQLObjectType,
  type GraphQLSchema,
  isInputObjectType,
  isObjectType,
} from 'graphql';
import { beforeAll, describe, expect, it } from 'vitest';
import { createAdminSchema } from '../../src/admin/admin-schema.ts';
import { createRegistry } from '../../src/registry/registry.ts';
import { settableClock } from '../fixtures/settable-clock.ts';
import { sqliteStores } from '../fixtures/sqlite-stores.ts';

let schema: GraphQLSchema;
beforeAll(async () => {
  const clock = settableClock();
  const { registryStore: store, auditLog } = await sqliteStores({}, clock);
  const unused = () => Promise.reject(new Error('not called by a schema'));
  schema = createAdminSchema({
    registry: createRegistry({ store, auditLog, clock, ownIssuer: 'https://as.example.com' }),
    auditLog,
    clock,
    log: { error: () => undefined },
    adminSecret: null,
    graphiql: false,
    explainAssertion: unused,
    checkTrustedIssuer: unused,
    keyState: () => null,
    reviewState: () => null,
    listSigningKeys: unused,
    rotateSigningKey: unused,
  });
});

const ownTypes = () => Object.values(schema.getTypeMap()).filter(({ name }) => !name.startsWith('__'));
const fieldNames = (types: readonly (GraphQLObjectType | GraphQLInputObjectType)[]) =>
  types.flatMap((type) => Object.keys(type.getFields()).map((field) => `${type.name}.${field}`));

describe('the admin schema', () => {
  it('R-30: shows no secret and no private key; a new client secret is the one exception', () => {
    const secretive = fieldNames(ownTypes().filter(isObjectType)).filter((name) =>
      /secret|private_?key|password|hash|salt|token$|assertion$|\.(d|p|q|k)$/i.test(name),
    );
    expect(secretive).toEqual([
      'Query._explain_assertion',
      'Mutation._rotate_client_secret',
      'CreateClientResponse.client_secret',
    ]);
  });

  it('ALG-18: has no switch that skips a part of the verification', () => {
    const switches = fieldNames(ownTypes().filter(isInputObjectType)).filter((name) =>
      /verif|valid|skip|disable|ignore|insecure|unsafe|unsigned|no_|bypass|trust_all|anonymous|(^|[._])none/i.test(
        name,
      ),
    );
    expect(switches).toEqual([]);
  });

  it('ALG-18: asks for a key source with every trusted issuer', () => {
    const input = schema.getType('AddTrustedIssuerRequest');
    if (!isInputObjectType(input)) throw new Error('no AddTrustedIssuerRequest');
    const required = Object.values(input.getFields()).filter(({ type }) => String(type).endsWith('!'));
    expect(required.map(({ name }) => name)).toEqual(['name', 'issuer_url', 'issuer_type', 'key_source_type']);
  });

  it('names everything in snake_case', () => {
    const names = fieldNames(ownTypes().filter((type) => isObjectType(type) || isInputObjectType(type)));
    expect(names.filter((name) => !/^[A-Za-z]+\._?[a-z][a-z0-9_]*$/.test(name))).toEqual([]);
  });

  it('has the operations of Authorizer’s admin API and ours', () => {
    expect(Object.keys(schema.getQueryType()?.getFields() ?? {}).toSorted()).toEqual([
      '_audit_logs',
      '_check_trusted_issuer',
      '_client',
      '_clients',
      '_deny_list_entries',
      '_deny_list_entry',
      '_explain_assertion',
      '_signing_keys',
      '_trusted_issuer',
      '_trusted_issuers',
      '_workload_binding',
      '_workload_bindings',
    ]);
    expect(Object.keys(schema.getMutationType()?.getFields() ?? {}).toSorted()).toEqual([
      '_add_deny_list_entry',
      '_add_trusted_issuer',
      '_add_workload_binding',
      '_create_client',
      '_delete_client',
      '_delete_deny_list_entry',
      '_delete_trusted_issuer',
      '_delete_workload_binding',
      '_rotate_client_secret',
      '_rotate_signing_key',
      '_update_client',
      '_update_deny_list_entry',
      '_update_trusted_issuer',
      '_update_workload_binding',
    ]);
  });
});
