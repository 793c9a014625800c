/** A workload binding in the declarative file: below its trusted issuer, or on its own with the issuer's name. */
import { below, type DeclaredWorkloadBinding, type Place } from '../registry/declaration.ts';
import { subjectWarnings } from '../registry/subject-input.ts';
import { parseWorkloadBindingInput } from '../registry/workload-binding-input.ts';
import { addProblems, type EntryContext, isGiven, readEntry } from './entry-context.ts';

/**
 * Reads one binding; null where it is wrong. `trustedIssuer` is the name of the issuer that it stands below; null for
 * an entry of `workload_bindings`, which names its own.
 */
export function readWorkloadBindingEntry(
  value: unknown,
  place: Place,
  trustedIssuer: string | null,
  context: EntryContext,
): DeclaredWorkloadBinding | null {
  const entry = readEntry(value, place, context);
  if (entry === null) return null;
  const { client, client_id: clientId, trusted_issuer: named, ...fields } = entry;
  const { length } = context.problems;
  if (isGiven(client) && isGiven(clientId)) {
    context.problems.push({
      place: below(place, 'client_id'),
      message: 'is another word for client: keep one of the two',
    });
  }
  if (trustedIssuer !== null && isGiven(named)) {
    const message = 'is not needed: the binding stands below its trusted issuer';
    context.problems.push({ place: below(place, 'trusted_issuer'), message });
  }
  const clientMember = isGiven(clientId) ? 'client_id' : 'client';
  const input = { ...fields, trusted_issuer_id: trustedIssuer ?? named, client_id: clientId ?? client };
  const parsed = parseWorkloadBindingInput(input);
  if (!parsed.ok) {
    addProblems(context, place, parsed.error, ([first, ...rest]) =>
      first === undefined ? [] : [memberName(first, clientMember), ...rest],
    );
    return null;
  }
  const { trustedIssuerId, client: bound, ...binding } = parsed.value;
  return context.problems.length === length
    ? { ...binding, place, trustedIssuer: trustedIssuerId, client: bound, clientPlace: below(place, clientMember) }
    : null;
}

function memberName(field: string, clientMember: string): string {
  if (field === 'client_id') return clientMember;
  return field === 'trusted_issuer_id' ? 'trusted_issuer' : field;
}

/** What an admin should know about a binding's subject, once the type of its issuer is known. */
export function addSubjectWarnings(
  { place, subject }: DeclaredWorkloadBinding,
  issuerType: Parameters<typeof subjectWarnings>[1],
  context: EntryContext,
): void {
  for (const message of subjectWarnings(subject, issuerType)) {
    context.warnings.push({ place: below(place, 'subject'), message });
  }
}
