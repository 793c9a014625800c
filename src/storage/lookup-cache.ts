/**
 * Answers of one kind of lookup, all of one generation, in bounded memory. What was not found is kept apart, so that a
 * flood of invented names pushes out other invented names and never a registered one.
 */

/** Invented names can be as long as a request; what is registered is shorter than this. */
const MAX_MISSING_KEY_LENGTH = 512;

export class LookupCache<V> {
  readonly #maxEntries: number;
  readonly #isMissing: (value: V) => boolean;
  readonly #found = new Map<string, { readonly value: V }>();
  readonly #missing = new Map<string, { readonly value: V }>();
  #generation = 0;

  /** At most `maxEntries` of what was found, and as many of what `isMissing`. */
  constructor(maxEntries: number, isMissing: (value: V) => boolean) {
    this.#maxEntries = maxEntries;
    this.#isMissing = isMissing;
  }

  /** The answer kept for `key` in this generation. Those of any other generation are dropped. */
  get(key: string, generation: number): { readonly value: V } | undefined {
    this.#enter(generation);
    return this.#found.get(key) ?? this.#missing.get(key);
  }

  /** Keeps an answer; the oldest one of its kind goes when there are too many. */
  set(key: string, value: V, generation: number): void {
    this.#enter(generation);
    const isMissing = this.#isMissing(value);
    if (isMissing && key.length > MAX_MISSING_KEY_LENGTH) return;
    const entries = isMissing ? this.#missing : this.#found;
    if (entries.size >= this.#maxEntries) {
      const [oldest] = entries.keys();
      if (oldest !== undefined) entries.delete(oldest);
    }
    entries.set(key, { value });
  }

  #enter(generation: number): void {
    if (generation === this.#generation) return;
    this.#generation = generation;
    this.#found.clear();
    this.#missing.clear();
  }
}
