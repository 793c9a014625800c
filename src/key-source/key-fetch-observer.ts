/** What the key cache tells the rest of the house, for metrics and the log; it knows neither. */
import type { KeyLoadFailure } from './key-source.ts';

/** One of the issuers that publish a key, as an admin knows it. */
export type KeyHolder = { readonly id: string; readonly name: string };

export type KeyFetch = {
  readonly issuer: KeyHolder;
  /** From a fixed list. */
  readonly outcome: 'ok' | KeyLoadFailure['code'];
  readonly seconds: number;
  /** A failure that is not the one of the last time, or the end of failures: worth a line in the log. */
  readonly isNews: boolean;
};

export type KeyFetchObserver = {
  /** One load over the network ended. */
  fetched(fetch: KeyFetch): void;
  /** A set was handed out although newer keys were due and could not be had. */
  staleUsed(issuerId: string): void;
  /** The issuers that publish this key are others than before, or fewer: one or none means that it is shared no longer. */
  keyShared(thumbprint: string, holders: readonly KeyHolder[]): void;
  /** A fault of ours, for the log; the request sees keys that cannot be had. Null: it is of no issuer. */
  faulted(issuerId: string | null, error: unknown): void;
};
