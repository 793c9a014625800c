/**
 * Whether a template gives different workloads different names. A protected API that keeps one runner per name must
 * not be talked into taking one for another: `{issuer.name}{kubernetes.node.name}` makes one name of `a` + `bc` and
 * `ab` + `c`, and a node's name alone is the same in two clusters.
 */
import { parseTokenClaimTemplate, type TemplateValueName, type TokenClaimTemplate } from './token-claim-template.ts';

/**
 * The characters that a value can have (RFC 1123 names, as `kubernetes/` and the declarative file hold them to).
 * What is not here can have any.
 */
const CHARACTERS_OF: Readonly<Partial<Record<TemplateValueName, RegExp>>> = {
  'issuer.name': /[a-z0-9-]/,
  'kubernetes.namespace': /[a-z0-9-]/,
  'kubernetes.service_account.name': /[a-z0-9.-]/,
  'kubernetes.pod.name': /[a-z0-9.-]/,
  'kubernetes.node.name': /[a-z0-9.-]/,
};

/** Names that two clusters can both have. A namespace is left out: it says what a workload is of, not which one it is. */
const PER_CLUSTER: readonly TemplateValueName[] = [
  'subject',
  'kubernetes.service_account.name',
  'kubernetes.pod.name',
  'kubernetes.node.name',
];
const ISSUER: readonly TemplateValueName[] = ['issuer.name', 'issuer.url'];

/** What makes two workloads share a name, as a sentence with its mend; null when nothing does. */
export function templateAmbiguity(text: string): string | null {
  const parsed = parseTokenClaimTemplate(text);
  return parsed.ok
    ? (ambiguousFilter(parsed.value) ?? ambiguousBoundary(parsed.value) ?? ambiguousIssuer(parsed.value))
    : null;
}

/** `.` becomes `_`: two values become one unless `_` can not be in them. */
function ambiguousFilter(template: TokenClaimTemplate): string | null {
  for (const part of template) {
    if (typeof part === 'string' || !part.dotsToUnderscores) continue;
    const characters = CHARACTERS_OF[part.name];
    if (characters === undefined || characters.test('_')) {
      return `{${part.name}} can have both . and _ in it, which dots_to_underscores makes one: leave the filter out`;
    }
  }
  return null;
}

/** Read from the left, each value but the last must end where the text after it begins. */
function ambiguousBoundary(template: TokenClaimTemplate): string | null {
  for (const [index, part] of template.entries()) {
    const hasMoreValues = template.slice(index + 1).some((later) => typeof later !== 'string');
    if (typeof part === 'string' || !hasMoreValues) continue;
    const next = template[index + 1];
    if (typeof next !== 'string') return `nothing stands between {${part.name}} and the next value: write / there`;
    const [end = ''] = next;
    const isInValue = part.dotsToUnderscores && end === '_' ? true : (CHARACTERS_OF[part.name]?.test(end) ?? true);
    if (isInValue) {
      return CHARACTERS_OF[part.name] === undefined
        ? `{${part.name}} can have any character in it, so nothing can end it: put it last, or leave it out`
        : `${JSON.stringify(end)} can be part of {${part.name}}, so it does not end it: write / there`;
    }
  }
  return null;
}

function ambiguousIssuer(template: TokenClaimTemplate): string | null {
  const names = template.flatMap((part) => (typeof part === 'string' ? [] : [part.name]));
  const perCluster = names.find((name) => PER_CLUSTER.includes(name));
  return perCluster === undefined || names.some((name) => ISSUER.includes(name))
    ? null
    : `two clusters can have the same {${perCluster}}: begin with {issuer.name}/`;
}
