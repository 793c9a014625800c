import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AdminServer, startAdminServer } from '../fixtures/admin-server.ts';
import { CLUSTER, DENIAL, PROVIDER } from '../fixtures/rows.ts';
import { NOW } from '../fixtures/settable-clock.ts';

const OF_FILE = { ...DENIAL, id: 'denial-2', value: 'node-2', managedBy: 'file' as const };
const OF_PROVIDER = {
  ...DENIAL,
  id: 'denial-3',
  trustedIssuerId: PROVIDER.id,
  member: 'subject' as const,
  value: 'repo:o/r',
};

let server: AdminServer;
beforeAll(async () => {
  const rows = { issuers: [CLUSTER, PROVIDER], denied: [DENIAL, OF_FILE, OF_PROVIDER] };
  server = await startAdminServer({ rows });
});
afterAll(() => server[Symbol.asyncDispose]());

const FIELDS =
  'id trusted_issuer_id subject node_name pod_uid service_account_uid reason expires_at managed_by warnings created_at updated_at';
const add = (data: object) =>
  server.graphql(`mutation($data: AddDenyListEntryRequest!) { _add_deny_list_entry(params: $data) { ${FIELDS} } }`, {
    data,
  });
const update = (data: object) =>
  server.graphql(
    `mutation($data: UpdateDenyListEntryRequest!) { _update_deny_list_entry(params: $data) { ${FIELDS} } }`,
    { data },
  );
const remove = (id: string) =>
  server.graphql('mutation($id: ID!) { _delete_deny_list_entry(params: { id: $id }) { message } }', { id });
const read = (id: string) =>
  server.graphql(`query($id: ID!) { _deny_list_entry(params: { id: $id }) { ${FIELDS} } }`, { id });

/** A row as the API answers it. */
const SHOWN = {
  id: DENIAL.id,
  trusted_issuer_id: CLUSTER.id,
  subject: null,
  node_name: 'node-1',
  pod_uid: null,
  service_account_uid: null,
  reason: DENIAL.reason,
  expires_at: null,
  managed_by: 'api',
  warnings: [],
  created_at: DENIAL.createdAt,
  updated_at: DENIAL.updatedAt,
};

describe('a deny list entry', () => {
  it('is answered with every field, and with what to know about it', async () => {
    const uid = '22222222-2222-4222-8222-222222222222';
    const { data, errors } = await add({
      trusted_issuer_id: CLUSTER.id,
      pod_uid: uid,
      reason: 'mines coins',
      expires_at: NOW + 3600,
    });
    expect(errors).toEqual([]);
    const { id } = data._add_deny_list_entry;
    expect(data._add_deny_list_entry).toEqual({
      ...SHOWN,
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      node_name: null,
      pod_uid: uid,
      reason: 'mines coins',
      expires_at: NOW + 3600,
      warnings: ['tokens that name no pod are not cut; set require_pod on the trusted issuer to refuse them'],
      created_at: NOW,
      updated_at: NOW,
    });
    const changed = await update({ id, expires_at: 0 });
    expect(changed.data._update_deny_list_entry).toMatchObject({ pod_uid: uid, expires_at: null });
    expect((await remove(id)).data._delete_deny_list_entry.message).toBe('Deny list entry deleted successfully');
    expect((await read(id)).errors[0]).toMatchObject({
      message: 'deny list entry not found',
      extensions: { code: 'NOT_FOUND' },
    });
  });

  it('is read by its id', async () => {
    expect((await read(DENIAL.id)).data._deny_list_entry).toEqual(SHOWN);
    expect((await read(OF_FILE.id)).data._deny_list_entry).toMatchObject({ node_name: 'node-2', managed_by: 'file' });
  });

  it.each<[string, object, string, string]>([
    [
      'two members',
      { trusted_issuer_id: CLUSTER.id, node_name: 'n', subject: 's' },
      'INVALID_ARGUMENT',
      'name exactly one of subject, node_name, pod_uid, service_account_uid',
    ],
    [
      'a node of an issuer that is no cluster',
      { trusted_issuer_id: PROVIDER.id, node_name: 'n' },
      'INVALID_ARGUMENT',
      'node_name: workloads of issuer_type oidc have none, only those of kubernetes_sa: name a subject',
    ],
    [
      'what is there already',
      { trusted_issuer_id: CLUSTER.id, node_name: 'node-1' },
      'ALREADY_EXISTS',
      'node_name: is on the deny list of this issuer already (entry denial-1, without an end): update that entry',
    ],
  ])('is refused with %s', async (_title, data, code, message) => {
    const { errors } = await add({ reason: 'r', ...data });
    expect(errors[0]).toMatchObject({ message, extensions: { code } });
  });

  it.each<[string, () => ReturnType<typeof remove>]>([
    ['updated', () => update({ id: OF_FILE.id, reason: 'r' })],
    ['deleted', () => remove(OF_FILE.id)],
  ])('of the file is not %s here', async (_title, write) => {
    expect((await write()).errors[0]).toMatchObject({
      message: 'this deny list entry is kept in the declarative file: change it there',
      extensions: { code: 'PERMISSION_DENIED', managed_by: 'file' },
    });
  });

  it.each<[string, object, readonly string[], number]>([
    ['all', {}, [DENIAL.id, OF_FILE.id, OF_PROVIDER.id], 3],
    ['those of an issuer', { trusted_issuer_id: PROVIDER.id }, [OF_PROVIDER.id], 1],
    ['none of an unknown one', { trusted_issuer_id: 'nobody' }, [], 0],
    ['page by page', { pagination: { limit: 1, page: 2 } }, [OF_FILE.id], 3],
  ])('is listed: %s', async (_title, data, ids, total) => {
    const document = `query($data: ListDenyListEntriesRequest) { _deny_list_entries(params: $data) {
      pagination { total } deny_list_entries { id } } }`;
    const answer = await server.graphql(document, { data });
    expect(answer.data._deny_list_entries).toEqual({
      pagination: { total },
      deny_list_entries: ids.map((id) => ({ id })),
    });
  });
});
