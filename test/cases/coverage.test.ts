/** Every collected case has a test whose title begins with its id, or a reason here why it has none yet. */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { sharedJson } from '../fixtures/shared-material.ts';

type Case = { readonly id: string; readonly title: string; readonly theme: string };

/** Themes of features that are not there yet. */
const LATER_THEMES: Readonly<Record<string, string>> = {
  spiffe: 'issuer_type spiffe_jwt and SPIFFE bundle endpoints are refused as not supported',
};

/** Cases of other themes without a test. */
const EXCEPTIONS: Readonly<Record<string, string>> = {};

/** Cases that are tested as far as they can happen here, and what is left. */
const PARTLY_TESTED: Readonly<Record<string, string>> = {
  'DBS-03': 'failover of a connection pool (SQLSTATE 25006, 57P01, 08xxx) needs PostgreSQL; SQLite’s locks are tested',
  'DBS-04': 'serialization failures (SQLSTATE 40001, 40P01) need PostgreSQL; SQLITE_BUSY is tested',
  'DBS-06': 'the same on the other database needs PostgreSQL',
};

const cases = sharedJson('cases.json') as readonly Case[] | null;
const TESTS = fileURLToPath(new URL('../', import.meta.url));

const texts = readdirSync(TESTS, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !import.meta.filename.endsWith(name))
  .map((name) => readFileSync(`${TESTS}${name}`, 'utf8'));

/** Ids at the beginning of string literals: one, or several with commas or colons between. */
const named = new Set(
  texts.flatMap((text) =>
    [...text.matchAll(/['"`]((?:[A-Z][A-Z0-9]{0,3}-\d{2}[,:] ?)+)/g)].flatMap(([, ids = '']) => ids.split(/[,:] ?/)),
  ),
);

it.runIf(cases === null)('the collected cases are not beside this checkout: not run', () => {
  expect(cases).toBeNull();
});

describe.runIf(cases !== null)('the collected cases', () => {
  const known = cases ?? [];
  const isExpected = ({ id, theme }: Case) => !(theme in LATER_THEMES) && !(id in EXCEPTIONS);

  it.each(known.filter(isExpected))('$id has a test: $title', ({ id }) => {
    expect(named).toContain(id);
  });

  it('that are excepted have no test, so that no reason outlives its feature', () => {
    const excepted = known.filter((entry) => !isExpected(entry)).map(({ id }) => id);
    expect(excepted.filter((id) => named.has(id))).toEqual([]);
  });

  it('are all that exceptions and partial tests name', () => {
    const ids = known.map(({ id }) => id);
    const themes = known.map(({ theme }) => theme);
    expect([...Object.keys(EXCEPTIONS), ...Object.keys(PARTLY_TESTED)].filter((id) => !ids.includes(id))).toEqual([]);
    expect(Object.keys(LATER_THEMES).filter((theme) => !themes.includes(theme))).toEqual([]);
  });
});
