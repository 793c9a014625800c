/**
 * A look at a trusted issuer's key source while it is being written: the commonest mistake, a final slash too many or
 * too few in the issuer string, is refused before it is stored; anything else that is wrong right now is a warning,
 * since an issuer that is down today may be trusted all the same.
 */
import type { TrustedIssuer } from '../assertion/trusted-issuer.ts';
import { type InputProblem, problem } from './input-problem.ts';
import { isKeySourceChanged, type TrustedIssuerFields } from './trusted-issuer-input.ts';

/** What a fetch of the keys brought: who the discovery document says it is, and what was wrong. */
export type KeySourceReport = {
  readonly discoveredIssuer: string | null;
  readonly problem: string | null;
  /** Other active trusted issuers that publish one of these keys, as far as is known: name and id of each. */
  readonly sharedWith: readonly string[];
};

/** Fetches now, past every cache. Bounded in time; rejects only on faults. */
export type KeySourceProbe = (issuer: TrustedIssuer) => Promise<KeySourceReport>;

export type ProbedKeySource = { readonly problems: readonly InputProblem[]; readonly warnings: readonly string[] };

/** An input that is refused for other reasons. */
export const NOT_PROBED: ProbedKeySource = { problems: [], warnings: [] };

/** Probes the key source of `fields`, unless it is pasted, switched off, or was active with the same one `before`. */
export async function probeKeySource(
  probe: KeySourceProbe | undefined,
  fields: TrustedIssuerFields,
  before: TrustedIssuer | null,
): Promise<ProbedKeySource> {
  const isUnchanged = before?.isActive === true && !isKeySourceChanged(before, fields);
  const isFetched = !['static_jwks', 'token_review'].includes(fields.keySourceType);
  if (probe === undefined || !isFetched || !fields.isActive || isUnchanged) return NOT_PROBED;
  const report = await probe({
    ...fields,
    id: before?.id ?? 'new',
    managedBy: 'api',
    keySourceRevision: 0,
    keySourceUpdatedAt: 0,
    createdAt: 0,
    updatedAt: 0,
  });
  const { discoveredIssuer } = report;
  if (discoveredIssuer !== null && differOnlyByFinalSlash(discoveredIssuer, fields.issuerUrl)) {
    const message = `the issuer calls itself "${discoveredIssuer}", not "${fields.issuerUrl}": the final slash counts`;
    return { problems: [problem(message, 'issuer_url')], warnings: [] };
  }
  const shared = report.sharedWith.join(', ');
  return {
    problems: [],
    warnings: [
      ...(report.problem === null ? [] : [`no keys can be had from this issuer right now: ${report.problem}`]),
      ...(shared === '' ? [] : [`a signing key of this issuer is also that of ${shared}: all of them are refused`]),
    ],
  };
}

function differOnlyByFinalSlash(a: string, b: string): boolean {
  return a !== b && a.replace(/\/$/, '') === b.replace(/\/$/, '');
}
