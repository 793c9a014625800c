import { describe, expect, it } from 'vitest';
import { createSharedKeys } from '../../src/key-source/shared-keys.ts';

describe('keys that several issuers hold', () => {
  it('are found from both sides, until one drops them', () => {
    const shared = createSharedKeys();
    shared.replace('a', ['1', '2', '2']);
    shared.replace('b', ['2', '3']);
    shared.replace('c', ['4']);
    expect(shared.find('a')).toEqual({ thumbprint: '2', otherIssuerId: 'b' });
    expect(shared.find('b')).toEqual({ thumbprint: '2', otherIssuerId: 'a' });
    expect(shared.find('c')).toBeNull();
    expect(shared.find('unknown')).toBeNull();
    shared.replace('b', ['3']);
    expect(shared.find('a')).toBeNull();
    shared.replace('c', ['1']);
    expect(shared.find('a')).toEqual({ thumbprint: '1', otherIssuerId: 'c' });
    shared.remove('c');
    expect(shared.find('a')).toBeNull();
  });

  it('are not shared by one issuer with itself', () => {
    const shared = createSharedKeys();
    shared.replace('a', ['1', '1']);
    shared.replace('a', ['1']);
    expect(shared.find('a')).toBeNull();
  });
});
