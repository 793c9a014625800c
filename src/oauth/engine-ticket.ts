/**
 * One-time credentials with which a decided grant enters the engine. The engine authenticates clients by itself and its
 * switch is closed (oidc-provider `shared/client_auth.js`), so it is shown a secret that is random, lives in this
 * process's memory, and works once.
 */
import { randomBytes } from 'node:crypto';

export class EngineTickets {
  readonly #open = new Set<string>();

  /** A new ticket. */
  issue(): string {
    const ticket = randomBytes(32).toString('base64url');
    this.#open.add(ticket);
    return ticket;
  }

  /** Whether `ticket` is open; from then on it is worth nothing. */
  redeem(ticket: string): boolean {
    return this.#open.delete(ticket);
  }
}
