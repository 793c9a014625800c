/**
 * From a declaration to the rows that must be written: which entry is which row of before, what is new, and what is no
 * longer there and so no longer trusted. Pure; `declaration-operations.ts` writes it.
 */
import type { DenyListEntry } from '../assertion/deny-list.ts';
import type { TrustedIssuer } from '../assertion/trusted-issuer.ts';
import type { WorkloadBinding } from '../assertion/workload-binding.ts';
import type { Client } from '../issuance/client.ts';
import { err, ok, type Result } from '../result.ts';
import { clientFieldsOf } from './client-input.ts';
import {
  below,
  type Declaration,
  type DeclarationProblem,
  type DeclaredClient,
  type DeclaredTrustedIssuer,
  type Place,
} from './declaration.ts';
import { declarationClashes } from './declaration-clashes.ts';
import { declarationProblems } from './declaration-rules.ts';
import type { RegistryChanges, RegistryRows, RowChanges } from './registry-store.ts';
import { isSameOrganization } from './same-organization.ts';
import { isKeySourceChanged, trustedIssuerFieldsOf } from './trusted-issuer-input.ts';

export type PlanContext = { readonly now: number; readonly newId: () => string };

/** The changes that make the rows of the file what it declares, or everything that is wrong with it. */
export function planDeclaration(
  declaration: Declaration,
  rows: RegistryRows,
  { now, newId }: PlanContext,
): Result<RegistryChanges, readonly DeclarationProblem[]> {
  const problems = [
    ...declaration.problems,
    ...declarationProblems(declaration),
    ...declarationClashes(declaration, rows),
  ];
  const made = { managedBy: 'file', createdAt: now, updatedAt: now } as const;
  const isOfFile = ({ managedBy }: { readonly managedBy: string }) => managedBy === 'file';

  const clients = changesOf<DeclaredClient, Client>({
    declared: declaration.clients,
    rows: rows.clients.filter(isOfFile),
    keysOfDeclared: [({ fields }) => fields.clientId],
    keysOfRow: [({ clientId }) => clientId],
    make: ({ fields }) => ({ ...fields, id: newId(), ...made }),
    change: (row, { fields }) => ({ ...row, ...fields, updatedAt: now }),
    isSame: (row, { fields }) => isSameJson(clientFieldsOf(row), clientFieldsOf(fields)),
  });
  const clientOf = clientLookup(clients.current, declaration, rows);

  const trustedIssuers = changesOf<DeclaredTrustedIssuer, TrustedIssuer>({
    declared: declaration.trustedIssuers.map((issuer) => withClientRow(issuer, clientOf, problems)),
    rows: rows.trustedIssuers.filter(isOfFile),
    // By its string first: under another name it is still the issuer that its bindings and audit records mean.
    keysOfDeclared: [({ fields }) => fields.issuerUrl, ({ fields }) => fields.name],
    keysOfRow: [({ issuerUrl }) => issuerUrl, ({ name }) => name],
    make: ({ fields }) => ({ ...fields, id: newId(), ...made, keySourceRevision: 1, keySourceUpdatedAt: now }),
    change(row, { fields }) {
      const isNewSource = isKeySourceChanged(row, fields);
      return {
        ...row,
        ...fields,
        keySourceRevision: row.keySourceRevision + (isNewSource ? 1 : 0),
        keySourceUpdatedAt: isNewSource ? now : row.keySourceUpdatedAt,
        updatedAt: now,
      };
    },
    isSame: (row, { fields }) => isSameJson(trustedIssuerFieldsOf(row), trustedIssuerFieldsOf(fields)),
  });
  const issuerByName = new Map(trustedIssuers.current.map((issuer) => [issuer.name, issuer]));

  type Bound = Omit<WorkloadBinding, 'id' | 'managedBy' | 'createdAt' | 'updatedAt'>;
  const bound = declaration.workloadBindings.flatMap((binding): readonly Bound[] => {
    const { clientPlace, trustedIssuer, client: clientId, subject, claims, tokenClaims, isActive } = binding;
    const issuer = issuerByName.get(trustedIssuer);
    const client = clientOf(clientId, clientPlace, problems);
    if (issuer === undefined || client === null) return [];
    if (isActive && !isSameOrganization(client, issuer)) {
      problems.push({
        place: clientPlace,
        message: 'is of another organization than the trusted issuer',
      });
    }
    return [{ trustedIssuerId: issuer.id, clientRowId: client.id, subject, claims, tokenClaims, isActive }];
  });
  const bindingKey = (binding: Bound) =>
    JSON.stringify([binding.trustedIssuerId, binding.clientRowId, binding.subject]);
  const workloadBindings = changesOf<Bound, WorkloadBinding>({
    declared: bound,
    rows: rows.workloadBindings.filter(isOfFile),
    keysOfDeclared: [bindingKey],
    keysOfRow: [bindingKey],
    make: (binding) => ({ ...binding, id: newId(), ...made }),
    change: (row, binding) => ({ ...row, ...binding, updatedAt: now }),
    isSame: (row, { claims, tokenClaims, isActive }) =>
      isSameJson([row.claims, row.tokenClaims, row.isActive], [claims, tokenClaims, isActive]),
  });

  type Denial = Omit<DenyListEntry, 'id' | 'managedBy' | 'createdAt' | 'updatedAt'>;
  const denials = declaration.denyList.flatMap(({ place: _place, trustedIssuer, ...denial }): readonly Denial[] => {
    const issuer = issuerByName.get(trustedIssuer);
    return issuer === undefined ? [] : [{ ...denial, trustedIssuerId: issuer.id }];
  });
  const denialKey = ({ trustedIssuerId, member, value }: Denial) => JSON.stringify([trustedIssuerId, member, value]);
  const denyList = changesOf<Denial, DenyListEntry>({
    declared: denials,
    rows: rows.denyList.filter(isOfFile),
    keysOfDeclared: [denialKey],
    keysOfRow: [denialKey],
    make: (denial) => ({ ...denial, id: newId(), ...made }),
    change: (row, denial) => ({ ...row, ...denial, updatedAt: now }),
    isSame: (row, { reason, expiresAt }) => row.reason === reason && row.expiresAt === expiresAt,
  });

  return problems.length > 0
    ? err(problems)
    : ok({
        clients: clients.changes,
        trustedIssuers: trustedIssuers.changes,
        workloadBindings: workloadBindings.changes,
        denyList: denyList.changes,
      });
}

type ClientLookup = (clientId: string, place: Place, problems: DeclarationProblem[]) => Client | null;

/** Clients of the file, then those of the API. A client that is not there is a problem. */
function clientLookup(declared: readonly Client[], { named }: Declaration, rows: RegistryRows): ClientLookup {
  const kept = rows.clients.filter(({ managedBy }) => managedBy === 'api');
  const byClientId = new Map([...kept, ...declared].map((client) => [client.clientId, client]));
  return (clientId, place, problems) => {
    const client = byClientId.get(clientId);
    if (client !== undefined) return client;
    if (named.clients.has(clientId)) return null;
    const message = `no client has the client_id ${JSON.stringify(clientId)}: add it under clients`;
    problems.push({ place, message });
    return null;
  };
}

/** The short form's `service_account_id` as the id of the client's row. */
function withClientRow(
  issuer: DeclaredTrustedIssuer,
  clientOf: ClientLookup,
  problems: DeclarationProblem[],
): DeclaredTrustedIssuer {
  const { serviceAccountId } = issuer.fields;
  if (serviceAccountId === null) return issuer;
  const client = clientOf(serviceAccountId, below(issuer.place, 'service_account_id'), problems);
  return { ...issuer, fields: { ...issuer.fields, serviceAccountId: client?.id ?? null } };
}

type Matching<D, R> = {
  readonly declared: readonly D[];
  readonly rows: readonly R[];
  /** Tried in order: an entry is the row that has its first key, else one that nobody claimed with the second. */
  readonly keysOfDeclared: readonly ((entry: D) => string)[];
  readonly keysOfRow: readonly ((row: R) => string)[];
  readonly make: (entry: D) => R;
  readonly change: (row: R, entry: D) => R;
  readonly isSame: (row: R, entry: D) => boolean;
};

/** Which rows are made, changed and deleted, and what there is afterwards, in the order of the declaration. */
function changesOf<D, R>(
  matching: Matching<D, R>,
): { readonly changes: RowChanges<R>; readonly current: readonly R[] } {
  const { declared, rows, keysOfDeclared, keysOfRow, make, change, isSame } = matching;
  const rowOf = new Map<D, R>();
  const left = new Set(rows);
  for (const [index, keyOfRow] of keysOfRow.entries()) {
    const byKey = new Map([...left].map((row) => [keyOfRow(row), row]));
    for (const entry of declared) {
      const row = rowOf.has(entry) ? undefined : byKey.get(keysOfDeclared[index]?.(entry) ?? '');
      if (row === undefined || !left.delete(row)) continue;
      rowOf.set(entry, row);
    }
  }
  const inserted: R[] = [];
  const updated: { readonly from: R; readonly to: R }[] = [];
  const current = declared.map((entry) => {
    const row = rowOf.get(entry);
    if (row !== undefined && isSame(row, entry)) return row;
    const written = row === undefined ? make(entry) : change(row, entry);
    if (row === undefined) inserted.push(written);
    else updated.push({ from: row, to: written });
    return written;
  });
  return { changes: { inserted, updated, deleted: [...left] }, current };
}

function isSameJson(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
