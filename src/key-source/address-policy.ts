/**
 * Which network addresses a fetch of an issuer's keys may reach (RFC 8725 §3.10): public unicast, and private networks
 * where both the operator and the issuer's row say so. Pure: it resolves no name and opens no connection.
 */
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { err, ok, type Result } from '../result.ts';

export type AddressVerdict =
  | { readonly allowed: true; readonly network: 'public' | 'private' }
  | { readonly allowed: false; readonly range: string; readonly remedy: RefusalRemedy };

/** Who could open the address: nobody, the operator's `COUNTERSIGN_PRIVATE_NETWORKS`, or the issuer's row. */
export type RefusalRemedy = 'none' | 'operator' | 'row';

export type AddressPolicy = {
  /** True when no private network is open at all, whatever a row says. */
  readonly isPublicOnly: boolean;
  /** Judges one IP address as the resolver gave it. `rowConsents`: the row's `allow_private_network`. */
  judge(address: string, rowConsents: boolean): AddressVerdict;
};

type Address = ReturnType<typeof ipaddr.parse>;
export type Cidr = readonly [Address, number];

/**
 * Ranges that an operator's list can open. All others (link-local, unspecified, multicast, IPv4 inside IPv6, …) stay
 * shut: no issuer lives there, and a broad list such as `0.0.0.0/0` must not open the way to instance credentials.
 */
const OPENABLE_RANGES: ReadonlySet<string> = new Set([
  'loopback',
  'private',
  'uniqueLocal',
  'carrierGradeNat',
  'reserved',
  'benchmarking',
  'rfc6052',
  'unicast',
]);

/** Metadata services outside the link-local range: Azure, Alibaba, Oracle, AWS and Google over IPv6. */
const METADATA_ADDRESSES: ReadonlySet<string> = new Set(
  ['168.63.129.16', '100.100.100.200', '192.0.0.192', 'fd00:ec2::254', 'fd00:ec2::23', 'fd20:ce::254'].map((text) =>
    ipaddr.parse(text).toNormalizedString(),
  ),
);

/** All of today's global unicast IPv6 (IANA); what is outside includes the IPv4-compatible `::127.0.0.1`. */
const GLOBAL_UNICAST_V6 = ipaddr.parseCIDR('2000::/3');
/** RFC 6052 §2.1: the one NAT64 prefix whose last 32 bits are the IPv4 address. */
const NAT64_WELL_KNOWN = ipaddr.parseCIDR('64:ff9b::/96');

/** Builds the policy. Throws a `RangeError` that names the entry which is not a CIDR: a fault of configuration. */
export function createAddressPolicy(privateNetworks: readonly string[]): AddressPolicy {
  const networks = privateNetworks.map((text) => {
    const cidr = parseCidr(text);
    if (!cidr.ok) throw new RangeError(cidr.error);
    return cidr.value;
  });

  const judge = (text: string, rowConsents: boolean): AddressVerdict => {
    // ipaddr.js alone would take `127.1` or `0x7f000001`; a resolver never gives those.
    if (isIP(text) === 0) return { allowed: false, range: 'not an IP address', remedy: 'none' };
    const address = ipaddr.parse(text);
    const range = rangeOf(address);
    if (!OPENABLE_RANGES.has(range)) return { allowed: false, range, remedy: 'none' };
    const isListed = networks.some((network) => isWithin(address, network));
    if (isListed && rowConsents) return judgeEmbedded(address, range) ?? { allowed: true, network: 'private' };
    if (range === 'unicast') return { allowed: true, network: 'public' };
    return { allowed: false, range, remedy: isListed ? 'row' : 'operator' };
  };

  /** A NAT64 address reaches the IPv4 address inside it: that one must be allowed as well. */
  const judgeEmbedded = (address: Address, range: string): AddressVerdict | null => {
    if (range !== 'rfc6052') return null;
    if (!isWithin(address, NAT64_WELL_KNOWN)) return { allowed: false, range, remedy: 'none' };
    const inner = judge(address.toByteArray().slice(-4).join('.'), true);
    return inner.allowed ? null : inner;
  };

  return { isPublicOnly: networks.length === 0, judge };
}

/** Reads `10.0.0.0/8` or `fd00::/8`; the error is a phrase that names the text. */
export function parseCidr(text: string): Result<Cidr, string> {
  const [base = '', prefix = '', ...rest] = text.split('/');
  const family = isIP(base);
  const bits = /^\d{1,3}$/.test(prefix) ? Number(prefix) : Number.NaN;
  if (rest.length > 0 || family === 0 || !(bits <= (family === 4 ? 32 : 128))) {
    return err(`"${text}" is not a CIDR such as 10.0.0.0/8 or fd00::/8`);
  }
  return ok([ipaddr.parse(base), bits]);
}

function rangeOf(address: Address): string {
  if (METADATA_ADDRESSES.has(address.toNormalizedString())) return 'metadata service';
  const range = address.range();
  if (range === 'unicast' && address.kind() === 'ipv6' && !isWithin(address, GLOBAL_UNICAST_V6)) return 'unallocated';
  return range;
}

function isWithin(address: Address, [base, bits]: Cidr): boolean {
  return address.kind() === base.kind() && address.match(base, bits);
}
