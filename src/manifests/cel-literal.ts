/** Values as literals of CEL, the language of admission policies. */

/**
 * A string literal. The attack: a name with a quote in it would end the literal and go on as an expression of the
 * attacker's, `' || true || '`. Backslash and quote are all that has a meaning between single quotes; line breaks, which
 * may not stand there, are escaped as well.
 */
export function celString(text: string): string {
  const escaped = text.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\n', '\\n').replaceAll('\r', '\\r');
  return `'${escaped}'`;
}

/** A list of string literals. */
export function celStrings(texts: readonly string[]): string {
  return `[${texts.map(celString).join(', ')}]`;
}
