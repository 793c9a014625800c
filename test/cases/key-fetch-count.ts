/** How often a server has fetched keys of trusted issuers, as its own metrics say. */
import type { RunningServer } from '../fixtures/running-server.ts';

/** All fetches since the start, whatever came of them. */
export async function keyFetchCount(server: RunningServer): Promise<number> {
  const { text } = await server.send('GET', '/metrics');
  const counts = [...text.matchAll(/^countersign_key_fetches_total\{[^}]*\} (\d+)/gm)].map(([, count]) =>
    Number(count),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}
