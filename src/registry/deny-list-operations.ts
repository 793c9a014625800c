/**
 * Operations on the deny list: parse, look up the issuer, store, record. An issuer that is kept in the declarative file
 * takes entries here as well: to cut off a stolen node must not wait for a review. Knows no GraphQL and no SQL.
 */
import { randomUUID } from 'node:crypto';
import type { DenyListEntry } from '../assertion/deny-list.ts';
import type { TrustedIssuer } from '../assertion/trusted-issuer.ts';
import { err, ok, type Result } from '../result.ts';
import {
  type DenyListEntryInput,
  denyListEntryFieldsOf,
  denyListIssuerProblems,
  denyListWarnings,
  expiryProblems,
  parseDenyListEntryInput,
  parseDenyListEntryUpdate,
} from './deny-list-input.ts';
import { problem } from './input-problem.ts';
import { type RegistryContext, readUpdate, refuse, textMember } from './registry-context.ts';
import { conflictError, invalidInput, type RegistryError } from './registry-error.ts';
import type { DenyListEntryFilter, Page, Paged } from './registry-store.ts';
import { changedFields, shownFields, type WriteOrigin } from './write-audit.ts';

/** A row as it was written, and what the admin should know about it. */
export type WrittenDenyListEntry = { readonly entry: DenyListEntry; readonly warnings: readonly string[] };

export type DenyListOperations = {
  addDenyListEntry(input: unknown, origin: WriteOrigin): Promise<Result<WrittenDenyListEntry, RegistryError>>;
  /** Changes `reason` and `expires_at`; what an entry names can't change. */
  updateDenyListEntry(input: unknown, origin: WriteOrigin): Promise<Result<WrittenDenyListEntry, RegistryError>>;
  deleteDenyListEntry(id: string, origin: WriteOrigin): Promise<Result<DenyListEntry, RegistryError>>;
  findDenyListEntry(id: string): Promise<DenyListEntry | null>;
  listDenyListEntries(page: Page, filter: DenyListEntryFilter): Promise<Paged<DenyListEntry>>;
};

export function createDenyListOperations(context: RegistryContext): DenyListOperations {
  const { store, clock, audit } = context;

  async function findIssuer(input: DenyListEntryInput): Promise<Result<TrustedIssuer, RegistryError>> {
    const issuer = await store.findTrustedIssuer(input.trustedIssuerId);
    if (issuer === null) {
      const id = JSON.stringify(input.trustedIssuerId);
      return refuse(problem(`no trusted issuer has the id ${id}`, 'trusted_issuer_id'));
    }
    const problems = [...denyListIssuerProblems(input, issuer.issuerType), ...expiryProblems(input.expiresAt, clock())];
    return problems.length > 0 ? err(invalidInput(problems)) : ok(issuer);
  }

  async function findWritable(id: string): Promise<Result<DenyListEntry, RegistryError>> {
    const entry = await store.findDenyListEntry(id);
    if (entry === null) return err({ code: 'not_found', resourceType: 'deny_list_entry', id });
    return entry.managedBy === 'file'
      ? err({ code: 'managed_by_file', resourceType: 'deny_list_entry', id })
      : ok(entry);
  }

  return {
    addDenyListEntry(input, origin) {
      const row = {
        trustedIssuerId: textMember(input, 'trusted_issuer_id'),
        subject: textMember(input, 'subject'),
      };
      return context.write({ resourceType: 'deny_list_entry', verb: 'created', row }, origin, async () => {
        const parsed = parseDenyListEntryInput(input);
        if (!parsed.ok) return err(invalidInput(parsed.error));
        const issuer = await findIssuer(parsed.value);
        if (!issuer.ok) return issuer;
        const earlier = await store.findDenyListEntryOf(parsed.value, 'api');
        if (earlier !== null) return err(alreadyDenied(earlier));
        const now = clock();
        const entry: DenyListEntry = {
          ...parsed.value,
          id: randomUUID(),
          managedBy: 'api',
          createdAt: now,
          updatedAt: now,
        };
        const outcome = await store.insertDenyListEntry(entry);
        if (!outcome.written) return err(conflictError(outcome.conflict));
        const warnings = denyListWarnings(entry, issuer.value);
        await audit.changed('deny_list_entry', 'created', origin, auditRow(entry), {
          created: shownFields(denyListEntryFieldsOf(entry)),
          ...(warnings.length > 0 && { warnings }),
        });
        return ok({ entry, warnings });
      });
    },

    updateDenyListEntry(input, origin) {
      const row = { resourceId: textMember(input, 'id') };
      return context.write({ resourceType: 'deny_list_entry', verb: 'updated', row }, origin, async () => {
        const update = readUpdate(input);
        if (!update.ok) return update;
        const found = await findWritable(update.value.id);
        if (!found.ok) return found;
        const current = found.value;
        const parsed = parseDenyListEntryUpdate(update.value.changes, current);
        if (!parsed.ok) return err(invalidInput(parsed.error));
        const now = clock();
        // The words of an entry that is over may still be mended.
        const isMoved = parsed.value.expiresAt !== current.expiresAt;
        const problems = isMoved ? expiryProblems(parsed.value.expiresAt, now) : [];
        if (problems.length > 0) return err(invalidInput(problems));
        const entry: DenyListEntry = { ...current, ...parsed.value, updatedAt: now };
        const issuer = await store.findTrustedIssuer(entry.trustedIssuerId);
        const warnings = issuer === null ? [] : denyListWarnings(entry, issuer);
        const changed = changedFields(denyListEntryFieldsOf(current), denyListEntryFieldsOf(entry));
        if (Object.keys(changed).length === 0) return ok({ entry: current, warnings });
        const outcome = await store.updateDenyListEntry(entry);
        if (!outcome.written) return err(conflictError(outcome.conflict));
        await audit.changed('deny_list_entry', 'updated', origin, auditRow(entry), {
          changed,
          ...(warnings.length > 0 && { warnings }),
        });
        return ok({ entry, warnings });
      });
    },

    deleteDenyListEntry(id, origin) {
      const row = { resourceId: id };
      return context.write({ resourceType: 'deny_list_entry', verb: 'deleted', row }, origin, async () => {
        const found = await findWritable(id);
        if (!found.ok) return found;
        const entry = found.value;
        if (!(await store.deleteDenyListEntry(id))) {
          return err({ code: 'not_found', resourceType: 'deny_list_entry', id });
        }
        await audit.changed('deny_list_entry', 'deleted', origin, auditRow(entry), {
          deleted: shownFields(denyListEntryFieldsOf(entry)),
        });
        return ok(entry);
      });
    },

    findDenyListEntry: (id) => store.findDenyListEntry(id),
    listDenyListEntries: (page, filter) => store.listDenyListEntries(page, filter),
  };
}

function auditRow(entry: DenyListEntry) {
  return {
    resourceId: entry.id,
    trustedIssuerId: entry.trustedIssuerId,
    subject: entry.member === 'subject' ? entry.value : null,
  };
}

/** With its id, and its end: one that is over is in the way as well, and is brought back rather than doubled. */
function alreadyDenied({ id, member, expiresAt }: DenyListEntry): RegistryError {
  const end = expiresAt === null ? 'without an end' : `until ${expiresAt}`;
  return {
    code: 'conflict',
    problems: [problem(`is on the deny list of this issuer already (entry ${id}, ${end}): update that entry`, member)],
  };
}
