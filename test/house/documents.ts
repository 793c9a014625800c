/** The documents as the house tests see them: prose, code blocks, tables and headings of the Markdown files. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './source-files.ts';

export type CodeBlock = { readonly language: string; readonly text: string; readonly line: number };

export type MarkdownDocument = {
  /** Path below the root. */
  readonly path: string;
  readonly text: string;
  /** Everything outside of code blocks. */
  readonly prose: string;
  readonly blocks: readonly CodeBlock[];
  readonly headings: readonly string[];
};

/** One row of a table: the cells' Markdown, trimmed. */
export type TableRow = readonly string[];

/** A file below the root, as text. */
export function readText(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

export function readMarkdown(path: string): MarkdownDocument {
  const text = readText(path);
  const blocks: CodeBlock[] = [];
  const prose: string[] = [];
  let open: { language: string; line: number; lines: string[] } | null = null;
  for (const [index, line] of text.split('\n').entries()) {
    const fence = /^```(\w*)/.exec(line);
    if (open !== null && fence !== null) {
      blocks.push({ language: open.language, text: open.lines.join('\n'), line: open.line });
      open = null;
    } else if (open !== null) open.lines.push(line);
    else if (fence !== null) open = { language: fence[1] ?? '', line: index + 1, lines: [] };
    else prose.push(line);
  }
  if (open !== null) throw new Error(`${path}:${open.line}: a code block is not closed`);
  const headings = prose.flatMap((line) => /^#+ (.*)$/.exec(line)?.[1] ?? []);
  return { path, text, prose: prose.join('\n'), blocks, headings };
}

/** The address of a heading within its page, as GitHub makes it. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}

/** The prose between a heading and the next one. */
export function sectionOf({ path, prose }: MarkdownDocument, heading: string): string {
  const lines = prose.split('\n');
  const start = lines.findIndex((line) => /^#+ /.test(line) && line.replace(/^#+ /, '') === heading);
  if (start === -1) throw new Error(`${path} has no heading "${heading}"`);
  const length = lines.slice(start + 1).findIndex((line) => /^#+ /.test(line));
  return lines.slice(start + 1, length === -1 ? undefined : start + 1 + length).join('\n');
}

/** The rows of all tables in some prose, without their headers. */
export function tableRows(prose: string): readonly TableRow[] {
  const lines = prose.split('\n');
  return lines.flatMap((line, index) => {
    const isRow = line.startsWith('|') && !/^\| ?-/.test(line) && !/^\| ?-/.test(lines[index + 1] ?? '');
    return isRow ? [cellsOf(line)] : [];
  });
}

function cellsOf(line: string): TableRow {
  return line
    .slice(1, -1)
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim());
}

/** What stands in backticks. */
export function codeSpans(markdown: string): readonly string[] {
  return [...markdown.matchAll(/`([^`\n]+)`/g)].map(([, span = '']) => span);
}
