import { describe, expect, it } from 'vitest';
import { createAddressPolicy, parseCidr } from '../../src/key-source/address-policy.ts';

const closed = createAddressPolicy([]);
const office = createAddressPolicy(['10.0.0.0/8', '127.0.0.0/8', 'fd00:1::/32', '::1/128']);
const everything = createAddressPolicy(['0.0.0.0/0', '::/0']);

describe('addresses that may be reached without any list', () => {
  it.each(['8.8.8.8', '2606:4700::1111', '172.32.0.1', '100.128.0.1'])('%s is public', (address) => {
    expect(closed.judge(address, false)).toEqual({ allowed: true, network: 'public' });
    expect(closed.judge(address, true)).toEqual({ allowed: true, network: 'public' });
  });
});

describe('addresses that an operator can open', () => {
  it.each([
    ['127.0.0.1', 'loopback'],
    ['10.1.2.3', 'private'],
    ['172.16.0.1', 'private'],
    ['192.168.0.1', 'private'],
    ['100.64.0.1', 'carrierGradeNat'],
    ['198.18.0.1', 'reserved'],
    ['240.0.0.1', 'reserved'],
    ['::1', 'loopback'],
    ['fd00:1::5', 'uniqueLocal'],
    ['2001:db8::1', 'reserved'],
    ['64:ff9b::8.8.8.8', 'rfc6052'],
  ])('%s is shut without a list, open with list and consent', (address, range) => {
    expect(closed.judge(address, true)).toEqual({ allowed: false, range, remedy: 'operator' });
    expect(everything.judge(address, false)).toEqual({ allowed: false, range, remedy: 'row' });
    expect(everything.judge(address, true)).toEqual({ allowed: true, network: 'private' });
  });

  it('opens only what is listed', () => {
    expect(office.judge('10.200.0.1', true)).toEqual({ allowed: true, network: 'private' });
    expect(office.judge('192.168.0.1', true)).toMatchObject({ allowed: false, remedy: 'operator' });
    expect(office.judge('fd00:2::1', true)).toMatchObject({ allowed: false, remedy: 'operator' });
  });

  it('judges the IPv4 address inside a NAT64 address too', () => {
    const nat64 = createAddressPolicy(['64:ff9b::/32', '10.0.0.0/8']);
    expect(nat64.judge('64:ff9b::10.0.0.5', true)).toEqual({ allowed: true, network: 'private' });
    expect(nat64.judge('64:ff9b::127.0.0.1', true)).toMatchObject({ allowed: false, range: 'loopback' });
    expect(nat64.judge('64:ff9b::169.254.169.254', true)).toMatchObject({ allowed: false, range: 'linkLocal' });
    expect(nat64.judge('64:ff9b:1::808:808', true)).toMatchObject({ allowed: false, remedy: 'none' });
  });
});

describe('addresses that no list opens', () => {
  it.each([
    ['169.254.169.254', 'linkLocal'],
    ['169.254.0.1', 'linkLocal'],
    ['fe80::1', 'linkLocal'],
    ['fe80::1%eth0', 'linkLocal'],
    ['0.0.0.0', 'unspecified'],
    ['0.1.2.3', 'unspecified'],
    ['::', 'unspecified'],
    ['224.0.0.1', 'multicast'],
    ['ff02::1', 'multicast'],
    ['255.255.255.255', 'broadcast'],
    ['::ffff:127.0.0.1', 'ipv4Mapped'],
    ['::ffff:8.8.8.8', 'ipv4Mapped'],
    ['::ffff:0:127.0.0.1', 'rfc6145'],
    ['::127.0.0.1', 'ipv4Mapped'],
    ['::7f00:1', 'unallocated'],
    ['4000::1', 'unallocated'],
    ['2002:7f00:1::', '6to4'],
    ['2001::1', 'teredo'],
    ['fec0::1', 'deprecatedSiteLocal'],
    ['168.63.129.16', 'metadata service'],
    ['100.100.100.200', 'metadata service'],
    ['192.0.0.192', 'metadata service'],
    ['fd00:ec2::254', 'metadata service'],
    ['fd20:ce::254', 'metadata service'],
    ['127.1', 'not an IP address'],
    ['2130706433', 'not an IP address'],
    ['example.com', 'not an IP address'],
    ['', 'not an IP address'],
  ])('%s stays shut', (address, range) => {
    expect(everything.judge(address, true)).toEqual({ allowed: false, range, remedy: 'none' });
    expect(closed.judge(address, true)).toEqual({ allowed: false, range, remedy: 'none' });
  });
});

describe('the list', () => {
  it.each(['10.0.0.0', '10.0.0.0/33', '10/8', '::/129', 'example.com/8', '10.0.0.0/8/8', '10.0.0.0/-1', '/8', ''])(
    'refuses %j, naming it',
    (text) => {
      expect(() => createAddressPolicy(['10.0.0.0/8', text])).toThrow(RangeError);
      expect(parseCidr(text)).toEqual({ ok: false, error: expect.stringContaining(`"${text}"`) });
    },
  );

  it('knows when it is empty', () => {
    expect(closed.isPublicOnly).toBe(true);
    expect(office.isPublicOnly).toBe(false);
  });
});
