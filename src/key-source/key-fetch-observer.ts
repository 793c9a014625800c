/** What the key cache tells the rest of the house, for metrics and the log; it knows neither. */
import type { KeyLoadFailure } from './key-source.ts';

export type KeyFetchObserver = {
  /** One load over the network ended. `outcome` is from a fixed list. */
  fetched(issuerId: string, outcome: 'ok' | KeyLoadFailure['code'], seconds: number): void;
  /** A set was handed out although newer keys were due and could not be had. */
  staleUsed(issuerId: string): void;
  /** A fault of ours, for the log; the request sees keys that cannot be had. */
  faulted(issuerId: string, error: unknown): void;
};
