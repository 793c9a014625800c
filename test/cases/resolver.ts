/**
 * The system's resolver as a test sets it, in place of `node:dns/promises`: a name leads where the test says, every
 * other one nowhere. What a test file mocks with it asks no real resolver.
 */
import { isIPv6 } from 'node:net';

const addressesOf = new Map<string, readonly string[]>();
const asked: string[] = [];

/** From now on `name` has these addresses. */
export function resolveTo(name: string, ...addresses: readonly string[]): void {
  addressesOf.set(name, addresses);
}

/** How often `name` was looked up. */
export function lookupsOf(name: string): number {
  return asked.filter((host) => host === name).length;
}

/** As `dns.promises.lookup` with `all: true`. */
export async function lookup(host: string): Promise<{ readonly address: string; readonly family: 4 | 6 }[]> {
  asked.push(host);
  const addresses = addressesOf.get(host);
  if (addresses === undefined) throw Object.assign(new Error('no such name'), { code: 'ENOTFOUND' });
  return addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
}
