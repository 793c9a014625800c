import { describe, expect, it } from 'vitest';
import { readYamlDocument } from '../../src/declarative-file/yaml-document.ts';

const TEXT = `# clusters
trusted_issuers:
  - name: a
    claims: { x.y: "1", z: [1, 2] }
  - issuer_url: |
      two
      lines
    name: b

  - {}
clients: []
`;

describe('a YAML document', () => {
  it('is read with the core schema of YAML 1.2', () => {
    expect(readYamlDocument('a: yes\nb: true\nc: 600\nd: 2026-12-01\ne: ""\nf:\n')).toMatchObject({
      ok: true,
      value: { value: { a: 'yes', b: true, c: 600, d: '2026-12-01', e: '', f: null } },
    });
  });

  it.each<[readonly string[], number]>([
    [[], 2],
    [['trusted_issuers'], 2],
    [['trusted_issuers', '0'], 3],
    [['trusted_issuers', '0', 'name'], 3],
    [['trusted_issuers', '0', 'claims'], 4],
    [['trusted_issuers', '0', 'claims', 'z', '1'], 4],
    [['trusted_issuers', '1', 'issuer_url'], 5],
    [['trusted_issuers', '1', 'name'], 8],
    [['trusted_issuers', '1', 'missing', 'deep'], 5],
    [['trusted_issuers', '2'], 10],
    [['clients'], 11],
    [['elsewhere'], 2],
  ])('knows the line of %j', (path, line) => {
    const read = readYamlDocument(TEXT);
    expect(read.ok && read.value.lineOf(path)).toBe(line);
  });

  it.each([
    ['a repeated key', 'a: 1\nb: 2\na: 3\n', 3, 'duplicated mapping key'],
    ['an unclosed list', 'a: 1\nb: [1\nc: 2\n', 3, 'deficient indentation'],
    ['an alias', 'a: &x [1]\nb: *x\n', 2, 'aliases'],
    ['an unknown tag', 'a: !!binary aGk=\n', 1, 'unknown scalar tag'],
    ['two documents', 'a: 1\n---\nb: 1\n', 1, 'expected a single document'],
    ['nothing', '# nothing\n', 1, 'the input is empty'],
  ])('is refused with %s, naming the line', (_title, text, line, why) => {
    const read = readYamlDocument(text);
    expect(read).toMatchObject({ ok: false, error: { line, message: expect.stringContaining(why) } });
  });
});
