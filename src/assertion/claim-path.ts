/**
 * Reads one claim by its path: names joined by dots. A claim name may itself contain dots (`kubernetes.io`, a URL), so
 * at each level the longest name that the object really has is taken, without going back: one path, one reading.
 */

/** The value at `path`, or undefined. Only own members count: `__proto__` and friends lead nowhere. */
export function claimAt(claims: Readonly<Record<string, unknown>>, path: string): unknown {
  let value: unknown = claims;
  let rest = path.split('.');
  while (rest.length > 0) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
    const object = value as Record<string, unknown>;
    const length = longestOwnName(object, rest);
    if (length === 0) return undefined;
    value = object[rest.slice(0, length).join('.')];
    rest = rest.slice(length);
  }
  return value;
}

function longestOwnName(object: Record<string, unknown>, names: readonly string[]): number {
  for (let length = names.length; length > 0; length -= 1) {
    if (Object.hasOwn(object, names.slice(0, length).join('.'))) return length;
  }
  return 0;
}
