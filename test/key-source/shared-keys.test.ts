import { beforeEach, describe, expect, it } from 'vitest';
import { createSharedKeys, type SharedKey, type SharedKeys } from '../../src/key-source/shared-keys.ts';

let changes: SharedKey[];
let shared: SharedKeys;
beforeEach(() => {
  changes = [];
  shared = createSharedKeys((key) => void changes.push(key));
});

describe('keys that several issuers hold', () => {
  it('are found from all sides, until one alone is left', () => {
    shared.replace('a', ['1', '2', '2']);
    shared.replace('b', ['2', '3']);
    shared.replace('c', ['4']);
    expect(shared.of('a')).toEqual([{ thumbprint: '2', issuerIds: ['a', 'b'] }]);
    expect(shared.of('b')).toEqual([{ thumbprint: '2', issuerIds: ['a', 'b'] }]);
    expect([shared.of('c'), shared.of('unknown')]).toEqual([[], []]);
    expect(['a', 'b', 'c'].map(shared.isShared)).toEqual([true, true, false]);
    shared.replace('c', ['2', '1']);
    expect(shared.of('c')).toEqual([
      { thumbprint: '2', issuerIds: ['a', 'b', 'c'] },
      { thumbprint: '1', issuerIds: ['a', 'c'] },
    ]);
    expect(shared.size).toBe(2);
    shared.replace('b', ['3']);
    expect(shared.of('b')).toEqual([]);
    shared.remove('c');
    expect([shared.of('a'), shared.size]).toEqual([[], 0]);
    expect(shared.holders('2')).toEqual(['a']);
    shared.remove('a');
    expect(shared.holders('2')).toEqual([]);
  });

  it('are not shared by one issuer with itself', () => {
    shared.replace('a', ['1', '1']);
    shared.replace('a', ['1']);
    expect([shared.of('a'), shared.isShared('a'), shared.size]).toEqual([[], false, 0]);
  });

  it('are told of when their holders change, and not when a set is loaded anew as it was', () => {
    shared.replace('a', ['1', '2']);
    shared.replace('b', ['2']);
    shared.replace('b', ['2']);
    shared.replace('a', ['2', '1']);
    shared.replace('c', ['2', '9']);
    shared.remove('b');
    shared.remove('b');
    shared.replace('c', ['9']);
    expect(changes).toEqual([
      { thumbprint: '2', issuerIds: ['a', 'b'] },
      { thumbprint: '2', issuerIds: ['a', 'b', 'c'] },
      { thumbprint: '2', issuerIds: ['a', 'c'] },
      { thumbprint: '2', issuerIds: ['a'] },
    ]);
  });
});
