/**
 * The declarative file (`COUNTERSIGN_CONFIG`): one YAML document, or a folder of them that count as one. Reading it
 * says what it declares, or everything that is wrong with it, each with its line. It writes nothing.
 */
import { createHash } from 'node:crypto';
import { basename, dirname, resolve } from 'node:path';
import type {
  Declaration,
  DeclarationProblem,
  DeclaredClient,
  DeclaredDenial,
  DeclaredTrustedIssuer,
  DeclaredWorkloadBinding,
  Place,
} from '../registry/declaration.ts';
import { denyListWarnings } from '../registry/deny-list-input.ts';
import type { Result } from '../result.ts';
import { readClientEntry } from './client-entry.ts';
import { readDenialEntry } from './denial-entry.ts';
import { documentFiles, readText } from './document-files.ts';
import { type EntryContext, isGiven, readEntry, readList } from './entry-context.ts';
import { readTrustedIssuerEntry } from './trusted-issuer-entry.ts';
import { readWorkloadBindingEntry } from './workload-binding-entry.ts';
import { readYamlDocument, type YamlDocument } from './yaml-document.ts';

export type DeclarativeFile = {
  readonly declaration: Declaration;
  readonly warnings: readonly DeclarationProblem[];
  /** The documents and every file that they name: what to watch. */
  readonly files: readonly string[];
  /** Of the content of all of them. */
  readonly digest: string;
  /** One line for each problem or warning, in their order in the file: `clusters.yaml:12: trusted_issuers.0.name …`. */
  describe(problems: readonly DeclarationProblem[]): readonly string[];
};

/** The members of a document, and nothing else. */
export const SECTIONS = ['settings', 'clients', 'trusted_issuers', 'workload_bindings', 'deny_list'] as const;

/** More are a number: one mistake can be in ten thousand entries, and each line is looked for in the whole text. */
const MAX_DESCRIBED = 100;

/** Without the value, which is large and no longer needed once it has been read. */
type SourceDocument = { readonly file: string; readonly lineOf: YamlDocument['lineOf'] | null };

/** Reads the file or folder at `path`. Nothing that is wrong there makes it reject. */
export async function readDeclarativeFile(path: string, ownIssuer: string, now: number): Promise<DeclarativeFile> {
  const digest = createHash('sha256');
  const named = new Map<string, Promise<Result<string, string>>>();
  const documents: SourceDocument[] = [];
  const context: EntryContext = { ownIssuer, now, problems: [], warnings: [], readFile };

  function readFile(document: number, relative: string): Promise<Result<string, string>> {
    const file = resolve(dirname(documents[document]?.file ?? path), relative);
    const known = named.get(file) ?? readText(file);
    named.set(file, known);
    return known;
  }

  const found = await documentFiles(path);
  if (!found.ok) context.problems.push({ place: { document: -1, path: [] }, message: found.error });
  const entries: Entries = {
    clients: [],
    trustedIssuers: [],
    workloadBindings: [],
    denyList: [],
    named: { clients: new Set(), trustedIssuers: new Set() },
  };
  for (const file of found.ok ? found.value : []) {
    const text = await readText(file);
    digest.update(`${file.length}:${file}${text.ok ? text.value : text.error}`);
    const document = documents.length;
    const yaml = text.ok ? readYamlDocument(text.value) : null;
    documents.push({ file, lineOf: yaml?.ok === true ? yaml.value.lineOf : null });
    if (!text.ok) context.problems.push({ place: { document, path: [] }, message: text.error });
    else if (yaml?.ok === false) {
      context.problems.push({ place: { document, path: [] }, ...yaml.error });
    } else if (yaml?.ok === true) await readSections(yaml.value.value, document, context, entries);
  }
  const issuers = new Map(entries.trustedIssuers.map(({ fields }) => [fields.name, fields]));
  for (const { place, trustedIssuer, ...denial } of entries.denyList) {
    const issuer = issuers.get(trustedIssuer);
    const warnings = issuer === undefined ? [] : denyListWarnings(denial, issuer);
    context.warnings.push(...warnings.map((message) => ({ place, message })));
  }
  for (const [file, content] of named) {
    const text = await content;
    digest.update(`${file.length}:${file}${text.ok ? text.value : text.error}`);
  }
  return {
    declaration: { ...entries, problems: context.problems },
    warnings: context.warnings,
    files: [...documents.map(({ file }) => file), ...named.keys()],
    digest: digest.digest('hex'),
    describe: (problems) => describeAll(path, documents, problems),
  };
}

type Entries = {
  readonly clients: DeclaredClient[];
  readonly trustedIssuers: DeclaredTrustedIssuer[];
  readonly workloadBindings: DeclaredWorkloadBinding[];
  readonly denyList: DeclaredDenial[];
  readonly named: { readonly clients: Set<string>; readonly trustedIssuers: Set<string> };
};

async function readSections(value: unknown, document: number, context: EntryContext, entries: Entries): Promise<void> {
  const root: Place = { document, path: [] };
  const sections = readEntry(value, root, context);
  if (sections === null) return;
  for (const name of Object.keys(sections)) {
    if (SECTIONS.some((section) => section === name)) continue;
    const message = `is unknown here: a document has ${SECTIONS.join(', ')}`;
    context.problems.push({ place: { document, path: [name] }, message });
  }
  const listOf = (section: (typeof SECTIONS)[number]) =>
    readList(sections[section], { document, path: [section] }, context).map(
      (entry, index) => [entry, { document, path: [section, String(index)] }] as const,
    );
  if (isGiven(sections.settings)) readEntry(sections.settings, { document, path: ['settings'] }, context);
  for (const [entry] of listOf('clients')) addName(entries.named.clients, entry, 'client_id');
  for (const [entry] of listOf('trusted_issuers')) addName(entries.named.trustedIssuers, entry, 'name');
  for (const [entry, place] of listOf('clients')) add(entries.clients, await readClientEntry(entry, place, context));
  for (const [entry, place] of listOf('trusted_issuers')) {
    const read = await readTrustedIssuerEntry(entry, place, context);
    add(entries.trustedIssuers, read.issuer);
    entries.workloadBindings.push(...read.bindings);
  }
  for (const [entry, place] of listOf('workload_bindings')) {
    add(entries.workloadBindings, readWorkloadBindingEntry(entry, place, null, context));
  }
  for (const [entry, place] of listOf('deny_list')) add(entries.denyList, readDenialEntry(entry, place, context));
}

function addName(names: Set<string>, entry: unknown, member: string): void {
  const name: unknown =
    typeof entry === 'object' && entry !== null ? Object.entries(entry).find(([key]) => key === member)?.[1] : null;
  if (typeof name === 'string') names.add(name);
}

function add<T>(entries: T[], entry: T | null): void {
  if (entry !== null) entries.push(entry);
}

function describeAll(
  path: string,
  documents: readonly SourceDocument[],
  problems: readonly DeclarationProblem[],
): readonly string[] {
  const described = problems
    .slice(0, MAX_DESCRIBED)
    .map((problem) => ({ problem, line: lineOf(documents, problem.place, problem.line) }))
    .sort((a, b) => a.problem.place.document - b.problem.place.document || a.line - b.line)
    .map(({ problem }) => describe(path, documents, problem));
  const more = problems.length - described.length;
  return more === 0 ? described : [...described, `and ${more} more`];
}

function describe(path: string, documents: readonly SourceDocument[], problem: DeclarationProblem): string {
  const { place, message, other } = problem;
  if (documents[place.document] === undefined) return `${path} ${message}`;
  const at = `${locationOf(documents, place, problem.line)}:`;
  const conflict = other === undefined ? '' : locationOf(documents, other);
  return [at, place.path.join('.'), message, conflict].filter((part) => part !== '').join(' ');
}

function locationOf(documents: readonly SourceDocument[], place: Place, line?: number): string {
  return `${basename(documents[place.document]?.file ?? '')}:${lineOf(documents, place, line)}`;
}

function lineOf(documents: readonly SourceDocument[], { document, path }: Place, line?: number): number {
  return line ?? documents[document]?.lineOf?.(path) ?? 1;
}
