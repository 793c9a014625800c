/** A deny list entry in the declarative file: the admin API's fields, with the issuer by name and instants to read. */
import { z } from 'zod';
import { below, type DeclaredDenial, type Place } from '../registry/declaration.ts';
import { parseDenyListEntryInput } from '../registry/deny-list-input.ts';
import { addProblems, type EntryContext, isGiven, readEntry } from './entry-context.ts';

/** An instant with its time zone, such as `2026-12-31T18:00:00Z` (RFC 3339). */
const instant = z.iso.datetime({ offset: true });

/** Reads one entry of `deny_list`; null where it is wrong. */
export function readDenialEntry(value: unknown, place: Place, context: EntryContext): DeclaredDenial | null {
  const entry = readEntry(value, place, context);
  if (entry === null) return null;
  const { trusted_issuer: trustedIssuer, expires_at: expiry, ...fields } = entry;
  const expiresAt = isGiven(expiry) ? secondsOf(expiry) : null;
  if (expiresAt === undefined) {
    const message = 'must be an instant such as 2026-12-31T18:00:00Z, or seconds since the epoch';
    context.problems.push({ place: below(place, 'expires_at'), message });
  }
  const parsed = parseDenyListEntryInput({
    ...fields,
    trusted_issuer_id: trustedIssuer,
    expires_at: expiresAt ?? null,
  });
  if (!parsed.ok) {
    addProblems(context, place, parsed.error, ([first, ...rest]) =>
      first === undefined ? [] : [first === 'trusted_issuer_id' ? 'trusted_issuer' : first, ...rest],
    );
  }
  if (!parsed.ok || expiresAt === undefined) return null;
  // No error: a file that was good yesterday must not keep a server from starting today.
  if (expiresAt !== null && expiresAt <= context.now) {
    context.warnings.push({ place: below(place, 'expires_at'), message: 'is over: the entry cuts nothing any more' });
  }
  const { trustedIssuerId, ...denial } = parsed.value;
  return { ...denial, place, trustedIssuer: trustedIssuerId };
}

function secondsOf(expiry: unknown): number | undefined {
  if (typeof expiry === 'number') return expiry;
  const text = instant.safeParse(expiry);
  return text.success ? Math.floor(Date.parse(text.data) / 1000) : undefined;
}
