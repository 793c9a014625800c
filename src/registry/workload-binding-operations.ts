/** Operations on workload bindings: parse, look up both ends, store, record. Knows no GraphQL and no SQL. */
import { randomUUID } from 'node:crypto';
import { templateAmbiguity } from '../assertion/injective-template.ts';
import type { TrustedIssuer } from '../assertion/trusted-issuer.ts';
import type { WorkloadBinding } from '../assertion/workload-binding.ts';
import type { Client } from '../issuance/client.ts';
import { err, ok, type Result } from '../result.ts';
import { type InputProblem, problem } from './input-problem.ts';
import { type RegistryContext, readUpdate, textMember } from './registry-context.ts';
import { conflictError, invalidInput, type RegistryError } from './registry-error.ts';
import type { Page, Paged, WorkloadBindingFilter } from './registry-store.ts';
import { isSameOrganization } from './same-organization.ts';
import { subjectWarnings } from './subject-input.ts';
import {
  bindingSubjectProblems,
  parseWorkloadBindingInput,
  parseWorkloadBindingUpdate,
  type WorkloadBindingInput,
  workloadBindingFieldsOf,
} from './workload-binding-input.ts';
import { changedFields, shownFields, type WriteOrigin } from './write-audit.ts';

/** A row as it was written, and what the admin should know about it. */
export type WrittenWorkloadBinding = { readonly binding: WorkloadBinding; readonly warnings: readonly string[] };

export type WorkloadBindingOperations = {
  addWorkloadBinding(input: unknown, origin: WriteOrigin): Promise<Result<WrittenWorkloadBinding, RegistryError>>;
  updateWorkloadBinding(input: unknown, origin: WriteOrigin): Promise<Result<WrittenWorkloadBinding, RegistryError>>;
  deleteWorkloadBinding(id: string, origin: WriteOrigin): Promise<Result<WorkloadBinding, RegistryError>>;
  findWorkloadBinding(id: string): Promise<WorkloadBinding | null>;
  listWorkloadBindings(page: Page, filter: WorkloadBindingFilter): Promise<Paged<WorkloadBinding>>;
};

type Ends = { readonly issuer: TrustedIssuer; readonly client: Client };

export function createWorkloadBindingOperations(context: RegistryContext): WorkloadBindingOperations {
  const { store, clock, audit } = context;

  /**
   * Both ends of the binding. Rows that are kept in the declarative file are bound there too: who may become a client,
   * and through whom, is the very thing that was put under review.
   */
  async function resolveEnds(input: WorkloadBindingInput): Promise<Result<Ends, RegistryError>> {
    const issuer = await store.findTrustedIssuer(input.trustedIssuerId);
    const client = await store.findClient(input.client);
    const problems: InputProblem[] = [];
    if (issuer === null) {
      const message = `no trusted issuer has the id ${JSON.stringify(input.trustedIssuerId)}`;
      problems.push(problem(message, 'trusted_issuer_id'));
    } else {
      problems.push(...bindingSubjectProblems(input.subject, issuer.issuerType));
    }
    if (client === null) {
      problems.push(problem(`no client has the id or client_id ${JSON.stringify(input.client)}`, 'client_id'));
    } else if (issuer !== null && input.isActive && !isSameOrganization(client, issuer)) {
      problems.push(problem('is of another organization than the trusted issuer', 'client_id'));
    }
    if (issuer === null || client === null || problems.length > 0) return err(invalidInput(problems));
    if (issuer.managedBy === 'file') {
      return err({ code: 'managed_by_file', resourceType: 'trusted_issuer', id: issuer.id });
    }
    return client.managedBy === 'file'
      ? err({ code: 'managed_by_file', resourceType: 'client', id: client.id })
      : ok({ issuer, client });
  }

  return {
    addWorkloadBinding(input, origin) {
      const row = {
        trustedIssuerId: textMember(input, 'trusted_issuer_id'),
        subject: textMember(input, 'subject'),
      };
      return context.write({ resourceType: 'workload_binding', verb: 'created', row }, origin, async () => {
        const parsed = parseWorkloadBindingInput(input);
        if (!parsed.ok) return err(invalidInput(parsed.error));
        const ends = await resolveEnds(parsed.value);
        if (!ends.ok) return ends;
        const now = clock();
        const binding: WorkloadBinding = {
          ...rowFields(parsed.value, ends.value),
          id: randomUUID(),
          managedBy: 'api',
          createdAt: now,
          updatedAt: now,
        };
        const outcome = await store.insertWorkloadBinding(binding);
        if (!outcome.written) return err(conflictError(outcome.conflict));
        const warnings = bindingWarnings(binding, ends.value.issuer);
        await audit.changed('workload_binding', 'created', origin, auditRow(binding, ends.value.client), {
          created: shownFields(workloadBindingFieldsOf(binding)),
          ...(warnings.length > 0 && { warnings }),
        });
        return ok({ binding, warnings });
      });
    },

    updateWorkloadBinding(input, origin) {
      const row = { resourceId: textMember(input, 'id') };
      return context.write({ resourceType: 'workload_binding', verb: 'updated', row }, origin, async () => {
        const update = readUpdate(input);
        if (!update.ok) return update;
        const current = await store.findWorkloadBinding(update.value.id);
        if (current === null) return notFound(update.value.id);
        if (current.managedBy === 'file') return managedByFile(current);
        const parsed = parseWorkloadBindingUpdate(update.value.changes, current);
        if (!parsed.ok) return err(invalidInput(parsed.error));
        const ends = await resolveEnds(parsed.value);
        if (!ends.ok) return ends;
        const binding: WorkloadBinding = {
          ...current,
          ...rowFields(parsed.value, ends.value),
          updatedAt: clock(),
        };
        const warnings = bindingWarnings(binding, ends.value.issuer);
        const changed = changedFields(workloadBindingFieldsOf(current), workloadBindingFieldsOf(binding));
        if (Object.keys(changed).length === 0) return ok({ binding: current, warnings });
        const outcome = await store.updateWorkloadBinding(binding);
        if (!outcome.written) return err(conflictError(outcome.conflict));
        await audit.changed('workload_binding', 'updated', origin, auditRow(binding, ends.value.client), {
          changed,
          ...(warnings.length > 0 && { warnings }),
        });
        return ok({ binding, warnings });
      });
    },

    deleteWorkloadBinding(id, origin) {
      const row = { resourceId: id };
      return context.write({ resourceType: 'workload_binding', verb: 'deleted', row }, origin, async () => {
        const binding = await store.findWorkloadBinding(id);
        if (binding === null) return notFound(id);
        if (binding.managedBy === 'file') return managedByFile(binding);
        const client = await store.findClient(binding.clientRowId);
        if (!(await store.deleteWorkloadBinding(id))) return notFound(id);
        await audit.changed('workload_binding', 'deleted', origin, auditRow(binding, client), {
          deleted: shownFields(workloadBindingFieldsOf(binding)),
        });
        return ok(binding);
      });
    },

    findWorkloadBinding: (id) => store.findWorkloadBinding(id),
    listWorkloadBindings: (page, filter) => store.listWorkloadBindings(page, filter),
  };
}

function rowFields(input: WorkloadBindingInput, { issuer, client }: Ends) {
  const { subject, claims, tokenClaims, isActive } = input;
  return { trustedIssuerId: issuer.id, clientRowId: client.id, subject, claims, tokenClaims, isActive };
}

function bindingWarnings({ subject, tokenClaims }: WorkloadBinding, { issuerType }: TrustedIssuer): readonly string[] {
  const ambiguities = Object.entries(tokenClaims).flatMap(([claim, template]) => {
    const ambiguity = templateAmbiguity(template);
    return ambiguity === null ? [] : [`token_claims.${claim} can be the same for two workloads: ${ambiguity}`];
  });
  return [...subjectWarnings(subject, issuerType), ...ambiguities];
}

function auditRow(binding: WorkloadBinding, client: Client | null) {
  return {
    resourceId: binding.id,
    trustedIssuerId: binding.trustedIssuerId,
    subject: binding.subject,
    clientId: client?.clientId ?? null,
  };
}

function managedByFile({ id }: WorkloadBinding): Result<never, RegistryError> {
  return err({ code: 'managed_by_file', resourceType: 'workload_binding', id });
}

function notFound(id: string): Result<never, RegistryError> {
  return err({ code: 'not_found', resourceType: 'workload_binding', id });
}
