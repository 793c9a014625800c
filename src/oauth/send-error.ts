/** The only file that writes an OAuth error body (RFC 6749 §5.2). */
import type { Response } from 'express';
import type { OAuthError } from './oauth-error.ts';

/** Realm of our challenges. */
const REALM = 'countersign';

/** Headers of every answer that may hold a token or a word on one (RFC 6749 §5.1). */
export function forbidCaching(response: Response): void {
  response.setHeader('Cache-Control', 'no-store');
  response.setHeader('Pragma', 'no-cache');
}

/** Sends `error` as JSON. */
export function sendOAuthError(response: Response, error: OAuthError): void {
  forbidCaching(response);
  if (error.challenge !== undefined) response.setHeader('WWW-Authenticate', `${error.challenge} realm="${REALM}"`);
  if (error.retryAfterSeconds !== undefined) response.setHeader('Retry-After', String(error.retryAfterSeconds));
  if (error.allow !== undefined) response.setHeader('Allow', error.allow);
  // What is left of an oversize body is not worth reading.
  if (error.status === 413) response.setHeader('Connection', 'close');
  response.status(error.status).json({ error: error.error, error_description: error.description });
}
