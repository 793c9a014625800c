/**
 * Cuts out of a text what looks like a credential: people and broken clients put them into the wrong field. For texts
 * whose exact value nobody needs; names that are compared byte for byte are bounded elsewhere, not cut.
 */

/** Compact JWS: three long base64url parts. */
const COMPACT_JWS = /[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}/g;
/** 240 random bits and more, as secrets and keys are written; in both cases, which names in Kubernetes never are. */
const RANDOM_TEXT = /(?=[A-Za-z0-9_-]*[A-Z])(?=[A-Za-z0-9_-]*[a-z])[A-Za-z0-9_-]{40,}/g;

/** The text without its credentials. */
export function withoutCredentials(text: string): string {
  return text.replace(COMPACT_JWS, '[redacted]').replace(RANDOM_TEXT, '[redacted]');
}
