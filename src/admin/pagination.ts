/** Pages of a list, bounded: what a caller may ask for, and what it is told. */
import type { Page } from '../registry/registry-store.ts';

/** Authorizer's page size. */
const DEFAULT_LIMIT = 10;
const MAX_LIMIT = 100;
/** Offsets stay exact numbers, and no honest reader turns a million pages. */
const MAX_PAGE = 1_000_000;

export type PaginationRequest = {
  readonly limit?: number | null;
  readonly page?: number | null;
  readonly pagination?: PaginationRequest | null;
};

/** The page that is read: what is missing or out of bounds becomes the nearest that is allowed. */
export function pageOf(request: PaginationRequest | null | undefined): Page & { readonly page: number } {
  const { limit, page } = request?.pagination ?? request ?? {};
  const boundedLimit = typeof limit === 'number' && limit > 0 ? Math.min(limit, MAX_LIMIT) : DEFAULT_LIMIT;
  const boundedPage = typeof page === 'number' && page > 0 ? Math.min(page, MAX_PAGE) : 1;
  return { limit: boundedLimit, page: boundedPage, offset: (boundedPage - 1) * boundedLimit };
}
