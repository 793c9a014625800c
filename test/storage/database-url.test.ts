import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseDatabaseUrl } from '../../src/storage/database-url.ts';

describe('the database URL', () => {
  it.each([
    ['sqlite:data/countersign.db', resolve('data/countersign.db')],
    ['sqlite:./x.db', resolve('x.db')],
    ['sqlite:/var/lib/x.db', '/var/lib/x.db'],
    ['sqlite:///var/lib/x.db', '/var/lib/x.db'],
    ['SQLite:/a b,c.db', '/a b,c.db'],
  ])('%s names a file', (url, path) => {
    expect(parseDatabaseUrl(url)).toEqual({ ok: true, value: { kind: 'file', path } });
  });

  it('sqlite::memory: names memory', () => {
    expect(parseDatabaseUrl('sqlite::memory:')).toEqual({ ok: true, value: { kind: 'memory' } });
  });

  it.each([
    ['postgres://user:hunter2@db/x', 'PostgreSQL is not supported by this version yet'],
    ['postgresql://user:hunter2@db/x', 'PostgreSQL is not supported by this version yet'],
    ['mysql://user:hunter2@db/x', '"mysql:" is not supported'],
    ['data/countersign.db', 'no scheme'],
    ['/data/hunter2.db', 'no scheme'],
    ['', 'no scheme'],
    ['sqlite:', 'no file is named'],
    ['sqlite:data/', 'no file is named'],
    ['sqlite://data/x.db', '"sqlite://" with a host is ambiguous'],
    ['sqlite:x.db?mode=ro', 'parameters are not supported'],
    ['sqlite:x.db\0', 'parameters are not supported'],
  ])('%j is refused with a sentence that repeats none of it', (url, sentence) => {
    const parsed = parseDatabaseUrl(url);
    expect(parsed).toEqual({ ok: false, error: expect.stringContaining(sentence) });
    expect(parsed).toEqual({ ok: false, error: expect.stringMatching(/^COUNTERSIGN_DATABASE_URL: .*sqlite:data/) });
    expect(JSON.stringify(parsed)).not.toContain('hunter2');
  });
});
