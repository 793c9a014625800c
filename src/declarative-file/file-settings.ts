/**
 * The `settings` section of the declarative file: what flags and environment do not say. Read when a process starts and
 * not again; which settings there are, and what they may be, is `config.ts`'s business.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { err, ok, type Result } from '../result.ts';
import { isDocumentName } from './document-files.ts';
import { readYamlDocument } from './yaml-document.ts';

/** Settings by name, each as the text that the environment would have. */
export type FileSettings = Readonly<Record<string, string>>;

/**
 * The settings at `path`, a file or a folder. The error is a sentence for the admin. A document that is not YAML has
 * none here: whoever reads the whole of it says so, with the line.
 */
export function readFileSettings(path: string): Result<FileSettings, string> {
  const settings: Record<string, string> = {};
  try {
    for (const file of filesAt(path)) {
      const text = readFileSync(file, 'utf8');
      // A fleet's document is large, and has none.
      const document = /^settings\s*:/m.test(text) ? readYamlDocument(text) : null;
      if (document?.ok !== true) continue;
      const section = memberOf(document.value.value, 'settings');
      for (const [name, value] of Object.entries(Object(section) as object)) {
        if (Object.hasOwn(settings, name)) return err(`has the setting ${name} in two documents`);
        settings[name] = Array.isArray(value) ? value.join(',') : String(value ?? '');
      }
    }
    return ok(settings);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : 'unknown';
    return err(`can not be read (${code})`);
  }
}

function filesAt(path: string): readonly string[] {
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path)
    .filter(isDocumentName)
    .map((name) => join(path, name));
}

function memberOf(value: unknown, name: string): unknown {
  return Object.getOwnPropertyDescriptor(Object(value), name)?.value;
}
