/** Values as YAML text, read the same by YAML 1.1 (kubectl) and 1.2, and the layout of text that stands inside it. */

/** Begins with a letter and has nothing that YAML gives a meaning; a number, a date or `a: b` does not fit. */
const PLAIN = /^[a-z][a-z0-9]*(?:[./:-]+[a-z0-9]+)*$/;
/** YAML 1.1 reads these as a truth value or as nothing. */
const WORDS: readonly string[] = ['y', 'n', 'yes', 'no', 'on', 'off', 'true', 'false', 'null'];

/** Some readers of YAML 1.1 take an exponent without a number before it for a number. */
const EXPONENT = /^e-?[0-9]+$/;

/** A string: plain where nobody could take it for anything else, otherwise in double quotes, as JSON writes it. */
export function yamlString(text: string): string {
  const isPlain = PLAIN.test(text) && !WORDS.includes(text) && !EXPONENT.test(text);
  return isPlain ? text : JSON.stringify(text);
}

/** A block of lines, each moved right by `columns`. */
export function indent(text: string, columns: number): string {
  return text.replaceAll(/^(?=.)/gm, ' '.repeat(columns));
}

/** A template string as it is meant: without the indentation that it has in the source. */
export function dedent(text: string): string {
  const lines = text.replace(/^\n/, '').trimEnd().split('\n');
  const margins = lines.filter((line) => line.trim() !== '').map((line) => line.search(/\S/));
  const margin = Math.min(...margins);
  return lines.map((line) => line.slice(margin)).join('\n');
}
