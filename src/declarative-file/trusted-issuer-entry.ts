/**
 * A trusted issuer in the declarative file: the admin API's fields, and the short form for fleets: files instead of
 * pasted keys and certificates, `require`, and the bindings below their issuer.
 */
import { z } from 'zod';
import {
  below,
  type DeclaredTrustedIssuer,
  type DeclaredWorkloadBinding,
  type Place,
} from '../registry/declaration.ts';
import { flag } from '../registry/input-fields.ts';
import { readFields } from '../registry/input-problem.ts';
import { parseTrustedIssuerInput, type TrustedIssuerInput } from '../registry/trusted-issuer-input.ts';
import { addProblems, type Entry, type EntryContext, isGiven, readEntry, readList } from './entry-context.ts';
import { addSubjectWarnings, readWorkloadBindingEntry } from './workload-binding-entry.ts';

/** Part of the names that are made for workloads, in which a slash ends it. */
export const ISSUER_NAME = /^[a-z0-9-]{1,40}$/;
export const requireFields = z.strictObject({ pod: flag(false), node: flag(false) });

/** Ways to say where the keys are instead of discovery; each excludes the others. */
const KEY_OVERRIDES = ['jwks_url', 'jwks_file', 'jwks'] as const;

export type TrustedIssuerEntry = {
  /** Null where something is wrong with it. */
  readonly issuer: DeclaredTrustedIssuer | null;
  readonly bindings: readonly DeclaredWorkloadBinding[];
};

/** Reads one entry of `trusted_issuers` with the bindings below it. */
export async function readTrustedIssuerEntry(
  value: unknown,
  place: Place,
  context: EntryContext,
): Promise<TrustedIssuerEntry> {
  const entry = readEntry(value, place, context);
  if (entry === null) return { issuer: null, bindings: [] };
  const { bindings: bindingEntries, ...fields } = entry;
  const name = typeof fields.name === 'string' ? fields.name : '';
  const bindings = readList(bindingEntries, below(place, 'bindings'), context).flatMap((binding, index) => {
    const read = readWorkloadBindingEntry(binding, below(place, 'bindings', String(index)), name || 'unnamed', context);
    return read === null || name === '' ? [] : [read];
  });
  const parsed = await readIssuer(fields, place, context);
  if (parsed === null) return { issuer: null, bindings };
  for (const binding of bindings) addSubjectWarnings(binding, parsed.fields.issuerType, context);
  return {
    issuer: { place, fields: parsed.fields },
    bindings: [...bindings, ...shortFormBindings(parsed, place)],
  };
}

async function readIssuer(entry: Entry, place: Place, context: EntryContext): Promise<TrustedIssuerInput | null> {
  const { length } = context.problems;
  const { name, issuer_url: issuerUrl } = entry;
  const refuse = (message: string, ...path: string[]) =>
    context.problems.push({ place: below(place, ...path), message });
  if (typeof name === 'string' && !ISSUER_NAME.test(name)) {
    refuse('must be 1 to 40 of the characters a-z, 0-9 and -', 'name');
  }
  if (typeof issuerUrl === 'string' && !isHttps(issuerUrl)) refuse('must be an https URL', 'issuer_url');
  const input = await asApiInput(entry, place, context);
  if (input === null) return null;
  const parsed = await parseTrustedIssuerInput(input, context.ownIssuer);
  if (!parsed.ok) {
    addProblems(context, place, parsed.error, (path) => fileNames(path, entry));
    return null;
  }
  for (const [index, url] of parsed.value.fields.additionalIssuerUrls.entries()) {
    if (!isHttps(url)) refuse('must be an https URL', 'additional_issuer_urls', String(index));
  }
  if (context.problems.length > length) return null;
  context.warnings.push(...parsed.value.warnings.map((message) => ({ place, message })));
  return parsed.value;
}

function isHttps(url: string): boolean {
  return url.startsWith('https://');
}

/** `service_account_id` + `allowed_subjects`, as in the admin API; the client is named by its `client_id`. */
function shortFormBindings(
  { fields: { name, serviceAccountId }, allowedSubjects }: TrustedIssuerInput,
  place: Place,
): readonly DeclaredWorkloadBinding[] {
  if (serviceAccountId === null) return [];
  return (allowedSubjects ?? []).map((subject, index) => ({
    place: below(place, 'allowed_subjects', String(index)),
    trustedIssuer: name,
    client: serviceAccountId,
    clientPlace: below(place, 'service_account_id'),
    subject,
    claims: {},
    tokenClaims: {},
    isActive: true,
  }));
}

/** The entry as the admin API would be given it; null where that can't be said. */
async function asApiInput(entry: Entry, place: Place, context: EntryContext): Promise<Entry | null> {
  const { jwks_file: jwksFile, ca_file: caFile, require: required, ...fields } = entry;
  const overrides = KEY_OVERRIDES.filter((name) => isGiven(entry[name]));
  const [first, second] = overrides;
  if (second !== undefined) {
    const message = `is set together with ${first}: keep one of the two`;
    context.problems.push({ place: below(place, second), message });
    return null;
  }
  const { length } = context.problems;
  const jwks = await readNamed(jwksFile, below(place, 'jwks_file'), context);
  if (isGiven(caFile) && isGiven(fields.ca_pem)) {
    context.problems.push({
      place: below(place, 'ca_file'),
      message: 'is set together with ca_pem: keep one of the two',
    });
  }
  const caPem = await readNamed(caFile, below(place, 'ca_file'), context);
  const requirements = readRequirements(required, fields, place, context);
  return context.problems.length > length
    ? null
    : {
        key_source_type: keySourceTypeOf(first),
        ...fields,
        ...(jwks !== null && { jwks }),
        ...(caPem !== null && { ca_pem: caPem }),
        ...requirements,
      };
}

function keySourceTypeOf(override: (typeof KEY_OVERRIDES)[number] | undefined): string {
  if (override === undefined) return 'oidc_discovery';
  return override === 'jwks_url' ? 'static_jwks_url' : 'static_jwks';
}

function readRequirements(required: unknown, fields: Entry, place: Place, context: EntryContext): Entry {
  if (required === undefined || required === null) return {};
  const { complete, problems } = readFields(requireFields, required);
  addProblems(context, below(place, 'require'), problems);
  const twice = ['pod', 'node'].filter((name) => isGiven(fields[`require_${name}`]));
  for (const name of twice) {
    const message = `is set together with require: keep one of the two`;
    context.problems.push({ place: below(place, `require_${name}`), message });
  }
  return complete === null ? {} : { require_pod: complete.pod, require_node: complete.node };
}

/** The text of a file that a field names; null where it names none. */
async function readNamed(path: unknown, place: Place, context: EntryContext): Promise<string | null> {
  if (!isGiven(path)) return null;
  const text = typeof path === 'string' ? await context.readFile(place.document, path) : null;
  if (text?.ok === true) return text.value;
  context.problems.push({ place, message: text === null ? 'must be the path of a file' : text.error });
  return null;
}

/** Fields that the file fills in another way, under the names that stand in it. */
function fileNames([first, ...rest]: readonly string[], written: Entry): readonly string[] {
  const named = (file: string, field: string) => (isGiven(written[file]) ? file : field);
  switch (first) {
    case 'jwks':
      return [named('jwks_file', 'jwks'), ...rest];
    case 'ca_pem':
      return [named('ca_file', 'ca_pem'), ...rest];
    case 'require_pod':
    case 'require_node':
      return isGiven(written.require) ? ['require', first.slice('require_'.length), ...rest] : [first, ...rest];
    case undefined:
      return [];
    default:
      return [first, ...rest];
  }
}
