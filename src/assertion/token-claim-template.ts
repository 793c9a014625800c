/**
 * Templates for further claims of an issued token, such as `{issuer.name}/{kubernetes.node.name|dots_to_underscores}`.
 * Parsed once when a binding is written; every name in braces must be known, so that a misspelt one is an error of the
 * admin's and not an empty claim of the workload's.
 */
import { err, ok, type Result } from '../result.ts';

/** What a template may name, besides `claims.<path>` for any claim of the assertion. */
export const TEMPLATE_VALUES = [
  'issuer.name',
  'issuer.url',
  'subject',
  'client_id',
  'kubernetes.namespace',
  'kubernetes.service_account.name',
  'kubernetes.service_account.uid',
  'kubernetes.pod.name',
  'kubernetes.pod.uid',
  'kubernetes.node.name',
  'kubernetes.node.uid',
] as const;

export type TemplateValueName = (typeof TEMPLATE_VALUES)[number] | `claims.${string}`;

type Placeholder = { readonly name: TemplateValueName; readonly dotsToUnderscores: boolean };

/** Literal text and placeholders, in order. */
export type TokenClaimTemplate = readonly (string | Placeholder)[];

/** Longest template text. */
export const MAX_TEMPLATE_LENGTH = 1024;
/** Longest claim value that a template may produce: access tokens travel in headers. */
const MAX_RENDERED_LENGTH = 2048;

/** Reads a template; the error is a sentence for the admin. */
export function parseTokenClaimTemplate(template: string): Result<TokenClaimTemplate, string> {
  if (template === '') return err('the template is empty');
  if (template.length > MAX_TEMPLATE_LENGTH)
    return err(`the template is longer than ${MAX_TEMPLATE_LENGTH} characters`);
  const parts: (string | Placeholder)[] = [];
  for (const [text, inBraces] of template.matchAll(/\{([^{}]*)\}|[^{}]+|[{}]/g)) {
    if (inBraces !== undefined) {
      const placeholder = parsePlaceholder(inBraces);
      if (!placeholder.ok) return placeholder;
      parts.push(placeholder.value);
    } else if (text === '{' || text === '}') {
      return err('a brace is not closed or not opened');
    } else {
      parts.push(text);
    }
  }
  return ok(parts);
}

function parsePlaceholder(text: string): Result<Placeholder, string> {
  const [name = '', filter, ...more] = text.split('|');
  if (more.length > 0 || (filter !== undefined && filter !== 'dots_to_underscores')) {
    return err(`unknown filter in {${text}}; the only one is dots_to_underscores`);
  }
  if (!isTemplateValueName(name)) {
    return err(`unknown value {${name}}; known are ${TEMPLATE_VALUES.join(', ')} and claims.<path>`);
  }
  return ok({ name, dotsToUnderscores: filter !== undefined });
}

function isTemplateValueName(name: string): name is TemplateValueName {
  return (TEMPLATE_VALUES as readonly string[]).includes(name) || /^claims\.[^|{}]+$/.test(name);
}

/**
 * The claim's value, or null when a value that the template names is not there, is not a string, number or boolean, or
 * makes the claim too long.
 */
export function renderTokenClaim(
  template: TokenClaimTemplate,
  lookUp: (name: TemplateValueName) => unknown,
): string | null {
  let rendered = '';
  for (const part of template) {
    if (typeof part === 'string') {
      rendered += part;
      continue;
    }
    const value = lookUp(part.name);
    if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') return null;
    rendered += part.dotsToUnderscores ? String(value).replaceAll('.', '_') : String(value);
  }
  return rendered.length > MAX_RENDERED_LENGTH ? null : rendered;
}
