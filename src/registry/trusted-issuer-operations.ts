/**
 * Operations on trusted issuers and on the bindings of their short form: parse, check against the other rows, store,
 * record. Knows no GraphQL and no SQL.
 */
import { randomUUID } from 'node:crypto';
import type { TrustedIssuer } from '../assertion/trusted-issuer.ts';
import type { WorkloadBinding } from '../assertion/workload-binding.ts';
import { err, ok, type Result } from '../result.ts';
import { problem } from './input-problem.ts';
import { findIssuerCollisions } from './issuer-collisions.ts';
import { NOT_PROBED, type ProbedKeySource, probeKeySource } from './key-source-probe.ts';
import { type RegistryContext, readUpdate, refuse, textMember } from './registry-context.ts';
import { conflictError, invalidInput, type RegistryError } from './registry-error.ts';
import type { Page, Paged, TrustedIssuerFilter } from './registry-store.ts';
import { isSameOrganization } from './same-organization.ts';
import { bindingsOfClient, shortFormBindings } from './short-form-bindings.ts';
import {
  isKeySourceChanged,
  parseTrustedIssuerInput,
  parseTrustedIssuerUpdate,
  type TrustedIssuerFields,
  trustedIssuerFieldsOf,
} from './trusted-issuer-input.ts';
import { changedFields, shownFields, type WriteOrigin } from './write-audit.ts';

/** A row as it was written, and what the admin should know about it. */
export type WrittenTrustedIssuer = { readonly issuer: TrustedIssuer; readonly warnings: readonly string[] };

export type TrustedIssuerOperations = {
  addTrustedIssuer(input: unknown, origin: WriteOrigin): Promise<Result<WrittenTrustedIssuer, RegistryError>>;
  updateTrustedIssuer(input: unknown, origin: WriteOrigin): Promise<Result<WrittenTrustedIssuer, RegistryError>>;
  /** With its bindings. */
  deleteTrustedIssuer(id: string, origin: WriteOrigin): Promise<Result<TrustedIssuer, RegistryError>>;
  findTrustedIssuer(id: string): Promise<TrustedIssuer | null>;
  listTrustedIssuers(page: Page, filter: TrustedIssuerFilter): Promise<Paged<TrustedIssuer>>;
  /** The subjects of the short form, sorted: those of the active bindings to the issuer's own client. */
  allowedSubjects(issuer: TrustedIssuer): Promise<readonly string[]>;
};

export function createTrustedIssuerOperations(context: RegistryContext): TrustedIssuerOperations {
  const { store, clock, ownIssuer, audit } = context;

  async function findWritable(id: string): Promise<Result<TrustedIssuer, RegistryError>> {
    const issuer = await store.findTrustedIssuer(id);
    if (issuer === null) return err({ code: 'not_found', resourceType: 'trusted_issuer', id });
    return issuer.managedBy === 'file'
      ? err({ code: 'managed_by_file', resourceType: 'trusted_issuer', id })
      : ok(issuer);
  }

  async function checkAgainstRows(
    fields: TrustedIssuerFields,
    ownId: string | null,
  ): Promise<Result<void, RegistryError>> {
    const { taken, confusable } = await findIssuerCollisions(store, fields, ownId);
    // Names of the file are unique, and part of the names of workloads: the file would be refused from then on.
    const namesake = await store.findDeclaredIssuerByName(fields.name);
    if (namesake !== null) {
      const message = `is the name of trusted issuer ${namesake.id} of the declarative file: choose another one`;
      return err({ code: 'conflict', problems: [problem(message, 'name'), ...taken] });
    }
    if (confusable.length > 0) return err(invalidInput([...confusable, ...taken]));
    return taken.length > 0 ? err({ code: 'conflict', problems: taken }) : ok(undefined);
  }

  async function probeNew(input: unknown): Promise<ProbedKeySource> {
    const parsed = await parseTrustedIssuerInput(input, ownIssuer);
    return parsed.ok ? probeKeySource(context.keySourceProbe, parsed.value.fields, null) : NOT_PROBED;
  }

  async function probeUpdate(input: unknown): Promise<ProbedKeySource> {
    const update = readUpdate(input);
    const current = update.ok ? await store.findTrustedIssuer(update.value.id) : null;
    if (!update.ok || current === null) return NOT_PROBED;
    const parsed = await parseTrustedIssuerUpdate(update.value.changes, current, ownIssuer);
    return parsed.ok ? probeKeySource(context.keySourceProbe, parsed.value.fields, current) : NOT_PROBED;
  }

  return {
    async addTrustedIssuer(input, origin) {
      // Outside the turn: an issuer that does not answer must not hold up other writes.
      const probed = await probeNew(input);
      return context.write({ resourceType: 'trusted_issuer', verb: 'created', row: {} }, origin, async () => {
        const parsed = await parseTrustedIssuerInput(input, ownIssuer);
        if (!parsed.ok) return err(invalidInput(parsed.error));
        if (probed.problems.length > 0) return err(invalidInput(probed.problems));
        const { allowedSubjects } = parsed.value;
        const warnings = [...parsed.value.warnings, ...probed.warnings];
        const shortForm = await resolveShortFormClient(context, parsed.value.fields);
        if (!shortForm.ok) return shortForm;
        const fields = { ...parsed.value.fields, serviceAccountId: shortForm.value };
        const checked = await checkAgainstRows(fields, null);
        if (!checked.ok) return checked;
        const now = clock();
        const issuer: TrustedIssuer = {
          ...fields,
          id: randomUUID(),
          managedBy: 'api',
          keySourceRevision: 1,
          keySourceUpdatedAt: now,
          createdAt: now,
          updatedAt: now,
        };
        const bindings = shortFormBindings(issuer, allowedSubjects ?? [], [], now);
        const outcome = await store.insertTrustedIssuer(issuer, bindings);
        if (!outcome.written) return err(conflictError(outcome.conflict));
        await audit.changed('trusted_issuer', 'created', origin, auditRow(issuer), {
          created: shownFields(trustedIssuerFieldsOf(issuer)),
          ...(allowedSubjects !== null && { allowed_subjects: allowedSubjects }),
          ...(warnings.length > 0 && { warnings }),
        });
        return ok({ issuer, warnings });
      });
    },

    async updateTrustedIssuer(input, origin) {
      const id = textMember(input, 'id');
      const probed = await probeUpdate(input);
      const row = { resourceId: id, trustedIssuerId: id };
      return context.write({ resourceType: 'trusted_issuer', verb: 'updated', row }, origin, async () => {
        const update = readUpdate(input);
        if (!update.ok) return update;
        const found = await findWritable(update.value.id);
        if (!found.ok) return found;
        const current = found.value;
        const parsed = await parseTrustedIssuerUpdate(update.value.changes, current, ownIssuer);
        if (!parsed.ok) return err(invalidInput(parsed.error));
        if (probed.problems.length > 0) return err(invalidInput(probed.problems));
        const { allowedSubjects } = parsed.value;
        const warnings = [...parsed.value.warnings, ...probed.warnings];
        const { serviceAccountId } = parsed.value.fields;
        // Only where the update speaks of it: an issuer can be switched off whatever has become of the client.
        const shortForm =
          allowedSubjects === null && serviceAccountId === current.serviceAccountId
            ? ok(serviceAccountId)
            : await resolveShortFormClient(context, parsed.value.fields);
        if (!shortForm.ok) return shortForm;
        const fields = { ...parsed.value.fields, serviceAccountId: shortForm.value };
        const checked = await checkAgainstRows(fields, current.id);
        if (!checked.ok) return checked;

        const now = clock();
        const newKeySource = isKeySourceChanged(current, fields);
        const issuer: TrustedIssuer = {
          ...current,
          ...fields,
          keySourceRevision: current.keySourceRevision + (newKeySource ? 1 : 0),
          keySourceUpdatedAt: newKeySource ? now : current.keySourceUpdatedAt,
          updatedAt: now,
        };
        const bound = await bindingsOfClient(store, issuer);
        const bindings = allowedSubjects === null ? null : shortFormBindings(issuer, allowedSubjects, bound, now);
        const changed = changedFields(
          { ...trustedIssuerFieldsOf(current), allowed_subjects: activeSubjects(bound) },
          { ...trustedIssuerFieldsOf(issuer), allowed_subjects: activeSubjects(bindings ?? bound) },
        );
        if (Object.keys(changed).length === 0) return ok({ issuer: current, warnings });
        const outcome = await store.updateTrustedIssuer(issuer, bindings);
        if (!outcome.written) return err(conflictError(outcome.conflict));
        await audit.changed('trusted_issuer', 'updated', origin, auditRow(issuer), {
          changed,
          ...(warnings.length > 0 && { warnings }),
        });
        return ok({ issuer, warnings });
      });
    },

    deleteTrustedIssuer(id, origin) {
      const row = { resourceId: id, trustedIssuerId: id };
      return context.write({ resourceType: 'trusted_issuer', verb: 'deleted', row }, origin, async () => {
        const found = await findWritable(id);
        if (!found.ok) return found;
        const issuer = found.value;
        if (!(await store.deleteTrustedIssuer(id))) {
          return err({ code: 'not_found', resourceType: 'trusted_issuer', id });
        }
        await audit.changed('trusted_issuer', 'deleted', origin, auditRow(issuer), {
          deleted: shownFields(trustedIssuerFieldsOf(issuer)),
        });
        return ok(issuer);
      });
    },

    findTrustedIssuer: (id) => store.findTrustedIssuer(id),
    listTrustedIssuers: (page, filter) => store.listTrustedIssuers(page, filter),
    async allowedSubjects(issuer) {
      const bindings = await bindingsOfClient(store, issuer);
      return activeSubjects(bindings);
    },
  };
}

function activeSubjects(bindings: readonly WorkloadBinding[]): readonly string[] {
  return bindings
    .filter((binding) => binding.isActive)
    .map((binding) => binding.subject)
    .toSorted();
}

function auditRow(issuer: TrustedIssuer) {
  return { resourceId: issuer.id, trustedIssuerId: issuer.id };
}

/** The row id of the short form's client, or null where the issuer has none. */
async function resolveShortFormClient(
  { store }: RegistryContext,
  fields: TrustedIssuerFields,
): Promise<Result<string | null, RegistryError>> {
  if (fields.serviceAccountId === null) return ok(null);
  const client = await store.findClient(fields.serviceAccountId);
  if (client === null) {
    return refuse(problem(`no client has the id ${JSON.stringify(fields.serviceAccountId)}`, 'service_account_id'));
  }
  if (client.managedBy === 'file') return err({ code: 'managed_by_file', resourceType: 'client', id: client.id });
  return isSameOrganization(client, fields)
    ? ok(client.id)
    : refuse(problem('is of another organization than the trusted issuer', 'service_account_id'));
}
