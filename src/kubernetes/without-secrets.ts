/** Words of a cluster or a proxy for the admin, without what they may repeat of a token or a credential. */

const MAX_TEXT = 200;
/** What tokens, keys and certificates are written in. */
const WORD = /[A-Za-z0-9_-]{8,}/g;
/** Longer than any uid: only random material is written in one such word. */
const MAX_WORD = 40;

/**
 * The text in one line, at most 200 characters of it. Cut out is each word that is part of a secret, even of half of
 * one, and each that is long enough to be some other secret.
 */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  const isSecret = (word: string) => word.length >= MAX_WORD || secrets.some((secret) => secret.includes(word));
  const clean = text.replace(WORD, (word) => (isSecret(word) ? '[redacted]' : word));
  return clean
    .replace(/[\p{C}\p{Z}]+/gu, ' ')
    .slice(0, MAX_TEXT)
    .toWellFormed();
}
