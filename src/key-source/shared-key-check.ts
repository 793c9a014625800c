/**
 * Whether a request may trust an issuer's keys, as far as other issuers go: the index of shared keys, held against the
 * registry as it is now, so that an issuer that was just disabled closes nobody a moment longer.
 */
import type { TrustedIssuers } from '../assertion/ports.ts';
import type { TrustedIssuer } from '../assertion/trusted-issuer.ts';
import type { Clock } from '../clock.ts';
import { type CachedIssuer, isReplacedBy, usableKeySet } from './cached-issuer.ts';
import type { KeyHolder } from './key-fetch-observer.ts';
import type { KeySetMemory } from './key-set-memory.ts';

/** Issuers that are named at most: a key that a whole fleet shares must not fill a record. */
const MAX_NAMED = 5;

export type ConfirmedSharedKey = {
  readonly thumbprint: string;
  /** The issuer that was asked about, and others that publish the key, at most as many as are named. */
  readonly holders: readonly KeyHolder[];
  readonly more: number;
};

export type SharedKeyCheck = {
  readonly memory: KeySetMemory;
  readonly trustedIssuers: Pick<TrustedIssuers, 'findById'>;
  readonly isSelfIssued: (issuer: Pick<TrustedIssuer, 'id'>) => boolean;
  readonly clock: Clock;
};

/** A key of this issuer that another active one publishes too; null where there is none. */
export async function confirmedSharedKey(
  { issuer, keySet }: CachedIssuer,
  check: SharedKeyCheck,
): Promise<ConfirmedSharedKey | null> {
  const { sharedKeys } = check.memory;
  // A client's own keys are not in the index, so that they close no issuer: they are looked for in it.
  if (sharedKeys.size === 0 && !check.isSelfIssued(issuer)) return null;
  for (const thumbprint of new Set(keySet?.keys.map((key) => key.thumbprint))) {
    const { holders, more } = await otherHolders(issuer.id, thumbprint, check);
    if (holders.length === 0) continue;
    const { id, name } = issuer;
    return { thumbprint, holders: [{ id, name }, ...holders], more };
  }
  return null;
}

/** Issuers other than this one that publish a key, as many as are named, and how many more were not looked at. */
export async function otherHolders(
  issuerId: string,
  thumbprint: string,
  check: SharedKeyCheck,
): Promise<{ readonly holders: readonly KeyHolder[]; readonly more: number }> {
  const others = check.memory.sharedKeys.holders(thumbprint).filter((id) => id !== issuerId);
  const holders: KeyHolder[] = [];
  let asked = 0;
  for (const id of others) {
    if (holders.length === MAX_NAMED - 1) break;
    asked += 1;
    const holder = await confirmedHolder(id, check);
    if (holder !== null) holders.push(holder);
  }
  return { holders, more: others.length - asked };
}

/** Null where this issuer's keys are not in use: it is gone, disabled or changed, or they are too old. */
async function confirmedHolder(id: string, check: SharedKeyCheck): Promise<KeyHolder | null> {
  const { memory, trustedIssuers, clock } = check;
  const entry = memory.entries.get(id);
  if (entry === undefined || usableKeySet(entry, clock()) === null) {
    memory.sharedKeys.remove(id);
    return null;
  }
  const row = await trustedIssuers.findById(id);
  if (row?.isActive && !isReplacedBy(entry.issuer, row)) return { id, name: row.name };
  memory.drop(entry);
  return null;
}

/** One sentence for the admin, which names all who are concerned. */
export function describeSharedKey({ thumbprint, holders, more }: ConfirmedSharedKey): string {
  const names = holders.map(({ id, name }) => `${JSON.stringify(name)} (${id})`).join(', ');
  return `signing key ${thumbprint} is published by several trusted issuers: ${names}${more > 0 ? ` and ${more} more` : ''}`;
}
