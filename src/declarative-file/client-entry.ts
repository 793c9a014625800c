/** A client in the declarative file: the admin API's fields, with a `client_id` that the file must choose. */
import { parseClientInput } from '../registry/client-input.ts';
import { below, type DeclaredClient, type Place } from '../registry/declaration.ts';
import { addProblems, type EntryContext, isGiven, readEntry } from './entry-context.ts';

/** Reads one entry of `clients`; null where it is wrong. */
export async function readClientEntry(
  value: unknown,
  place: Place,
  context: EntryContext,
): Promise<DeclaredClient | null> {
  const entry = readEntry(value, place, context);
  if (entry === null) return null;
  const { with_client_secret: withSecret, ...fields } = entry;
  const { length } = context.problems;
  const { client_id: clientId } = fields;
  if (!isGiven(clientId)) {
    context.problems.push({ place: below(place, 'client_id'), message: 'is required: workload bindings name it' });
  } else if (typeof clientId === 'string' && clientId.includes('/')) {
    // What parts the names made for workloads, `prod-eks/node-1`: no client may pass for one.
    context.problems.push({ place: below(place, 'client_id'), message: 'must not contain a slash' });
  }
  if (isGiven(withSecret) && withSecret !== false) {
    const message = 'has no place in a file: a secret is shown once, by the admin API';
    context.problems.push({ place: below(place, 'with_client_secret'), message });
  }
  const parsed = await parseClientInput({ name: clientId, ...fields }, context.ownIssuer);
  if (!parsed.ok) addProblems(context, place, parsed.error);
  return parsed.ok && context.problems.length === length ? { place, fields: parsed.value.fields } : null;
}
