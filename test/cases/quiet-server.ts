/** The running server without its background fetches, so that what one request makes it fetch can be counted. */
import type { Config } from '../../src/config.ts';
import { type RunningServer, startServer } from '../fixtures/running-server.ts';
import { settableClock } from '../fixtures/settable-clock.ts';

/** As `startServer`; `background-keys.test.ts` has what happens ahead of requests. */
export function startQuietServer(changes: Partial<Config> = {}, clock = settableClock()): Promise<RunningServer> {
  return startServer(changes, clock, { fetchesKeysAhead: false });
}
