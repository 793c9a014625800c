/** What a declaration has changed, row by row, as the audit log and a terminal show it. */
import { clientFieldsOf } from './client-input.ts';
import { denyListEntryFieldsOf } from './deny-list-input.ts';
import type { ResourceType } from './registry-error.ts';
import type { RegistryChanges, RowChanges } from './registry-store.ts';
import { trustedIssuerFieldsOf } from './trusted-issuer-input.ts';
import { workloadBindingFieldsOf } from './workload-binding-input.ts';
import { changedFields, type RowFields, shownFields } from './write-audit.ts';

export type RowDifference = {
  readonly resource_type: ResourceType;
  readonly verb: 'created' | 'updated' | 'deleted';
  readonly id: string;
  /** What people call the row. */
  readonly name: string;
  /** All fields of a new or deleted row; of a changed one those that differ, each with both values. */
  readonly fields: RowFields;
};

/** The differences, grouped by kind of row. */
export function rowDifferences(changes: RegistryChanges): readonly RowDifference[] {
  return [
    ...differencesOf('client', changes.clients, clientFieldsOf, ({ clientId }) => clientId),
    ...differencesOf('trusted_issuer', changes.trustedIssuers, trustedIssuerFieldsOf, ({ name }) => name),
    ...differencesOf('workload_binding', changes.workloadBindings, workloadBindingFieldsOf, ({ subject }) => subject),
    ...differencesOf(
      'deny_list_entry',
      changes.denyList,
      denyListEntryFieldsOf,
      ({ member, value }) => `${member} ${value}`,
    ),
  ];
}

function differencesOf<R extends { readonly id: string }>(
  resourceType: ResourceType,
  { inserted, updated, deleted }: RowChanges<R>,
  fieldsOf: (row: R) => RowFields,
  nameOf: (row: R) => string,
): readonly RowDifference[] {
  const difference = (verb: RowDifference['verb'], row: R, fields: RowFields): RowDifference => ({
    resource_type: resourceType,
    verb,
    id: row.id,
    name: nameOf(row),
    fields,
  });
  return [
    ...deleted.map((row) => difference('deleted', row, shownFields(fieldsOf(row)))),
    ...updated.map(({ from, to }) => difference('updated', to, changedFields(fieldsOf(from), fieldsOf(to)))),
    ...inserted.map((row) => difference('created', row, shownFields(fieldsOf(row)))),
  ];
}
