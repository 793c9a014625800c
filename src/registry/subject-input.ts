/**
 * Subjects as an admin writes them down. Kept and compared byte for byte; what no workload of the issuer's type can
 * ever have is refused when it is written, not at three in the morning when the workload is.
 */
import type { IssuerType } from '../assertion/trusted-issuer.ts';
import { parseServiceAccountSubject, SERVICE_ACCOUNT_SUBJECT_FORM } from '../kubernetes/service-account.ts';

/** Longest subject, in characters. The longest ServiceAccount's has 337. */
export const MAX_SUBJECT_LENGTH = 1024;

/** Why no workload of such an issuer can have this subject; null when one can. */
export function subjectProblem(subject: string, issuerType: IssuerType): string | null {
  if (subject === '') return 'must not be empty';
  if (subject.length > MAX_SUBJECT_LENGTH) return `must not be longer than ${MAX_SUBJECT_LENGTH} characters`;
  if (/\p{Cc}/u.test(subject) || !subject.isWellFormed()) return 'must not contain control characters';
  if (issuerType !== 'kubernetes_sa' || parseServiceAccountSubject(subject) !== null) return null;
  return /[*?[\]]/.test(subject)
    ? `subjects match exactly, there are no wildcards: list every ${SERVICE_ACCOUNT_SUBJECT_FORM} by itself`
    : `no ServiceAccount can have the subject ${JSON.stringify(subject)}: it must be ${SERVICE_ACCOUNT_SUBJECT_FORM}`;
}

/** What an admin should know about a subject that is allowed. */
export function subjectWarnings(subject: string, issuerType: IssuerType): readonly string[] {
  const quoted = JSON.stringify(subject);
  const warnings: string[] = [];
  if (issuerType === 'kubernetes_sa' && parseServiceAccountSubject(subject)?.name === 'default') {
    warnings.push(
      `${quoted} is the account of every pod in its namespace that names none: give the workload an account of its own`,
    );
  }
  if (subject !== subject.trim()) {
    warnings.push(`${quoted} begins or ends with white space; subjects are compared byte for byte`);
  }
  if (subject.includes('*')) warnings.push(`${quoted} has a *; subjects match exactly, it is not a wildcard`);
  return warnings;
}
