/** What arrives at a stand-in issuer from some moment on, and the waiting for it. */
import type { ServerResponse } from 'node:http';
import { expect } from 'vitest';
import type { IssuerServer } from '../fixtures/issuer-server.ts';

/** The paths asked for since the call, in order. */
export function watchRequests(issuer: IssuerServer): () => readonly string[] {
  const before = issuer.requests.length;
  return () => issuer.requests.slice(before).map(({ path }) => path);
}

/** Lets requests for a path arrive, and leaves their answers to the test. */
export function holdRequests(
  issuer: IssuerServer,
  path: string,
): { readonly waiting: readonly ServerResponse[]; readonly arrived: (count: number) => Promise<void> } {
  const waiting: ServerResponse[] = [];
  issuer.route(path, (_request, response) => void waiting.push(response));
  return { waiting, arrived: (count) => until(() => waiting.length >= count) };
}

/** How long something that happens by itself may take on a busy machine. */
const DEADLINE_MS = 3000;

/** Waits by turns of the event loop, so that it also works while timers are held. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + DEADLINE_MS;
  let isMet = await condition();
  while (!isMet && performance.now() < deadline) {
    await new Promise((resolve) => setImmediate(resolve));
    isMet = await condition();
  }
  expect(isMet).toBe(true);
}
