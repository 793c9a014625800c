/** The bindings behind the short form `service_account_id` + `allowed_subjects`: one for each subject. */
import { randomUUID } from 'node:crypto';
import type { TrustedIssuer } from '../assertion/trusted-issuer.ts';
import type { WorkloadBinding } from '../assertion/workload-binding.ts';
import type { RegistryStore } from './registry-store.ts';

/** Rows read at a time. */
const PAGE_SIZE = 500;

/**
 * The bindings that `subjects` stand for. One that exists already stays as it is, conditions and all: to list a subject
 * again must not widen what it may do. It is switched on, for the list says who is allowed.
 */
export function shortFormBindings(
  issuer: TrustedIssuer,
  subjects: readonly string[],
  existing: readonly WorkloadBinding[],
  now: number,
): readonly WorkloadBinding[] {
  const { serviceAccountId } = issuer;
  if (serviceAccountId === null) return [];
  return subjects.map((subject) => {
    const known = existing.find((binding) => binding.subject === subject);
    if (known !== undefined) return known.isActive ? known : { ...known, isActive: true, updatedAt: now };
    return {
      id: randomUUID(),
      trustedIssuerId: issuer.id,
      clientRowId: serviceAccountId,
      subject,
      claims: {},
      tokenClaims: {},
      isActive: true,
      managedBy: issuer.managedBy,
      createdAt: now,
      updatedAt: now,
    };
  });
}

/** All bindings of an issuer to the client of its short form. */
export async function bindingsOfClient(
  store: RegistryStore,
  issuer: Pick<TrustedIssuer, 'id' | 'serviceAccountId'>,
): Promise<readonly WorkloadBinding[]> {
  if (issuer.serviceAccountId === null) return [];
  const filter = { trustedIssuerId: issuer.id, clientRowId: issuer.serviceAccountId };
  const bindings: WorkloadBinding[] = [];
  for (;;) {
    const { rows, total } = await store.listWorkloadBindings({ limit: PAGE_SIZE, offset: bindings.length }, filter);
    bindings.push(...rows);
    if (rows.length === 0 || bindings.length >= total) return bindings;
  }
}
