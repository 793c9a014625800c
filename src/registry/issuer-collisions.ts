/**
 * An issuer's strings against those of all other rows. One string leads to one row; two that differ only by a final
 * slash are a mistake that would work for one of them by luck.
 */
import { type InputProblem, problem } from './input-problem.ts';
import type { RegistryStore } from './registry-store.ts';
import type { TrustedIssuerFields } from './trusted-issuer-input.ts';
import { issuerStrings } from './trusted-issuer-rules.ts';

export type IssuerCollisions = {
  /** Strings that another row has. */
  readonly taken: readonly InputProblem[];
  /** Strings that another row almost has, or that a client signs under. */
  readonly confusable: readonly InputProblem[];
};

/** Collisions of a row's strings; `ownId` is the row itself when it exists already. */
export async function findIssuerCollisions(
  store: RegistryStore,
  fields: TrustedIssuerFields,
  ownId: string | null,
): Promise<IssuerCollisions> {
  const others = (await store.listIssuerUrls()).filter(({ trustedIssuerId }) => trustedIssuerId !== ownId);
  const bySlashless = new Map(others.map((other) => [withoutFinalSlash(other.url), other]));
  const taken: InputProblem[] = [];
  const confusable: InputProblem[] = [];
  const own = issuerStrings({ issuer_url: fields.issuerUrl, additional_issuer_urls: [...fields.additionalIssuerUrls] });
  for (const { url, path } of own) {
    const other = bySlashless.get(withoutFinalSlash(url));
    if (other !== undefined) {
      const row = `trusted issuer ${other.trustedIssuerId}`;
      if (other.url === url) taken.push(problem(`${JSON.stringify(url)} is registered already, by ${row}`, ...path));
      else confusable.push(problem(slashMessage(url, other.url, row), ...path));
    }
    const client = await store.findClient(url);
    if (client !== null && client.clientId === url && client.jwks !== null) {
      confusable.push(problem(`${JSON.stringify(url)} is the client_id of a client that signs by itself`, ...path));
    }
  }
  return { taken, confusable };
}

function slashMessage(url: string, other: string, row: string): string {
  const pair = `${JSON.stringify(url)} and ${JSON.stringify(other)} of ${row}`;
  return `${pair} differ only by a trailing slash: register the one that tokens really have in iss`;
}

/** An issuer string as it is compared with others: a final slash makes no other issuer. */
export function withoutFinalSlash(url: string): string {
  return url.replace(/\/$/, '');
}
