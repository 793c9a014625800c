/**
 * Which trusted issuers publish the same key (RFC 7638 thumbprint). A key that two issuers hold can speak for both, so
 * none of them is believed until all but one have dropped it. An issuer that has a key twice shares it with nobody.
 */

/** A key and all issuers whose current sets have it: two or more, or fewer where it is no longer shared. */
export type SharedKey = { readonly thumbprint: string; readonly issuerIds: readonly string[] };

export type SharedKeys = {
  /** The keys an issuer has from now on. */
  replace(issuerId: string, thumbprints: readonly string[]): void;
  remove(issuerId: string): void;
  /** All who have this key. */
  holders(thumbprint: string): readonly string[];
  /** The keys of this issuer that others have too. */
  of(issuerId: string): readonly SharedKey[];
  isShared(issuerId: string): boolean;
  /** How many keys are shared. */
  readonly size: number;
};

/** Starts without any issuer. `onChange` is told of each key whose holders change while or after it is shared. */
export function createSharedKeys(onChange: (key: SharedKey) => void): SharedKeys {
  const thumbprintsOf = new Map<string, readonly string[]>();
  /** One holder is the rule, in tens of thousands of entries: a set only where there are more. */
  const holdersOf = new Map<string, string | Set<string>>();
  const shared = new Set<string>();

  const add = (thumbprint: string, issuerId: string): void => {
    const known = holdersOf.get(thumbprint);
    if (known === undefined) {
      holdersOf.set(thumbprint, issuerId);
      return;
    }
    const all = typeof known === 'string' ? new Set([known]) : known;
    holdersOf.set(thumbprint, all.add(issuerId));
    shared.add(thumbprint);
    onChange({ thumbprint, issuerIds: [...all] });
  };

  const holders = (thumbprint: string): readonly string[] => {
    const known = holdersOf.get(thumbprint) ?? [];
    return typeof known === 'string' ? [known] : [...known];
  };

  const take = (thumbprint: string, issuerId: string): void => {
    const known = holdersOf.get(thumbprint);
    if (known === issuerId) holdersOf.delete(thumbprint);
    if (!(known instanceof Set)) return;
    known.delete(issuerId);
    const [last] = known;
    if (known.size === 1 && last !== undefined) {
      holdersOf.set(thumbprint, last);
      shared.delete(thumbprint);
    }
    onChange({ thumbprint, issuerIds: holders(thumbprint) });
  };

  const replace = (issuerId: string, thumbprints: readonly string[]): void => {
    const before = new Set(thumbprintsOf.get(issuerId) ?? []);
    const after = new Set(thumbprints);
    if (after.size === 0) thumbprintsOf.delete(issuerId);
    else thumbprintsOf.set(issuerId, thumbprints);
    for (const thumbprint of before) if (!after.has(thumbprint)) take(thumbprint, issuerId);
    for (const thumbprint of after) if (!before.has(thumbprint)) add(thumbprint, issuerId);
  };

  const keysOf = (issuerId: string): readonly string[] =>
    // The common answer first: while nothing is shared, a request pays for one comparison.
    shared.size === 0 ? [] : (thumbprintsOf.get(issuerId) ?? []);

  return {
    replace,
    remove: (issuerId) => replace(issuerId, []),
    holders,
    of: (issuerId) =>
      [...new Set(keysOf(issuerId))]
        .filter((thumbprint) => shared.has(thumbprint))
        .map((thumbprint) => ({ thumbprint, issuerIds: holders(thumbprint) })),
    isShared: (issuerId) => keysOf(issuerId).some((thumbprint) => shared.has(thumbprint)),
    get size() {
      return shared.size;
    },
  };
}
