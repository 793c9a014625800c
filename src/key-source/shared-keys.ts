/**
 * Which trusted issuers publish the same key (RFC 7638 thumbprint). A key that two issuers hold can speak for both, so
 * neither of them is believed until one has dropped it. Knows only the sets that this process has loaded.
 */

export type SharedKey = { readonly thumbprint: string; readonly otherIssuerId: string };

export type SharedKeys = {
  /** The keys an issuer has from now on. */
  replace(issuerId: string, thumbprints: readonly string[]): void;
  remove(issuerId: string): void;
  /** A key of this issuer that another one has too; null where there is none. */
  find(issuerId: string): SharedKey | null;
};

/** Starts without any issuer. */
export function createSharedKeys(): SharedKeys {
  const thumbprintsOf = new Map<string, ReadonlySet<string>>();
  const holdersOf = new Map<string, Set<string>>();

  const remove = (issuerId: string) => {
    for (const thumbprint of thumbprintsOf.get(issuerId) ?? []) {
      const holders = holdersOf.get(thumbprint);
      holders?.delete(issuerId);
      if (holders?.size === 0) holdersOf.delete(thumbprint);
    }
    thumbprintsOf.delete(issuerId);
  };

  return {
    remove,
    replace(issuerId, thumbprints) {
      remove(issuerId);
      const own = new Set(thumbprints);
      thumbprintsOf.set(issuerId, own);
      for (const thumbprint of own) {
        const holders = holdersOf.get(thumbprint);
        if (holders === undefined) holdersOf.set(thumbprint, new Set([issuerId]));
        else holders.add(issuerId);
      }
    },
    find(issuerId) {
      for (const thumbprint of thumbprintsOf.get(issuerId) ?? []) {
        for (const otherIssuerId of holdersOf.get(thumbprint) ?? []) {
          if (otherIssuerId !== issuerId) return { thumbprint, otherIssuerId };
        }
      }
      return null;
    },
  };
}
