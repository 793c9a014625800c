/**
 * Whether what was read from the registry still holds. The revision is read at most once a second; a write of this
 * process is told at once. Each move starts a new generation, and nothing of an earlier one may be used any more.
 */
import type { Clock } from '../clock.ts';

export class RevisionWatch {
  readonly #read: () => Promise<number>;
  readonly #clock: Clock;
  readonly #listeners: (() => void)[] = [];
  #revision: number | null = null;
  #generation = 0;
  /** The second of the last check. Only a check moves it, never a use: a busy entry must not outlive its trust. */
  #checkedAt: number | null = null;
  #check: { readonly at: number; readonly done: Promise<void> } | null = null;

  constructor(read: () => Promise<number>, clock: Clock) {
    this.#read = read;
    this.#clock = clock;
  }

  get generation(): number {
    return this.#generation;
  }

  /** Makes sure that the revision was read in this second. Rejects when it cannot be read: no trust without it. */
  async refresh(): Promise<void> {
    const now = this.#clock();
    if (now === this.#checkedAt) return;
    if (this.#check?.at !== now) this.#check = { at: now, done: this.#checkAt(now) };
    await this.#check.done;
  }

  /** The registry is at `revision` now. */
  moved(revision: number): void {
    // Any difference counts, a lower one too: after a restore from a backup the counter is older.
    if (revision === this.#revision) return;
    this.#revision = revision;
    this.#generation += 1;
    for (const listener of this.#listeners) listener();
  }

  /** Calls `listener` at the beginning of each new generation. */
  onMove(listener: () => void): void {
    this.#listeners.push(listener);
  }

  async #checkAt(now: number): Promise<void> {
    try {
      this.moved(await this.#read());
      this.#checkedAt = now;
    } finally {
      if (this.#check?.at === now) this.#check = null;
    }
  }
}
