/**
 * One answer to a scrape when several worker processes share an address: the worker that was asked has the primary
 * collect the figures of all. Knows the messages between them and nothing of the figures.
 */
import cluster, { type Worker } from 'node:cluster';
import { randomUUID } from 'node:crypto';
import { AggregatorRegistry, type MetricObjectWithValues, type MetricValue, openMetricsContentType } from 'prom-client';

/** One process's figures. */
export type Figures = readonly MetricObjectWithValues<MetricValue<string>>[];
type Exposition = { metrics(): Promise<string> };
type Message =
  | { readonly countersign: 'scrape'; readonly scrape: string }
  | { readonly countersign: 'collect'; readonly scrape: string }
  | { readonly countersign: 'figures'; readonly scrape: string; readonly figures: Figures }
  | { readonly countersign: 'exposition'; readonly scrape: string; readonly text: string };

/** A worker that is gone or stuck is left out of the answer after this time. */
const COLLECT_DEADLINE_MS = 2_000;

type Collection = { readonly asker: Worker; readonly figures: Figures[]; awaited: number; readonly end: () => void };

/** Called in the primary: answers its workers' scrapes until the process ends. `own` are the primary's own figures. */
export function collectForWorkers(own: () => Promise<Figures>): void {
  const collections = new Map<string, Collection>();
  cluster.on('message', (worker, message: unknown) => {
    if (!isMessage(message)) return;
    const { scrape } = message;
    if (message.countersign === 'scrape') {
      const workers = Object.values(cluster.workers ?? {}).filter((other) => other?.isConnected());
      const deadline = setTimeout(() => end(), COLLECT_DEADLINE_MS);
      const figures: Figures[] = [];
      const end = () => {
        clearTimeout(deadline);
        if (collections.delete(scrape)) void own().then((primary) => answer(worker, scrape, [...figures, primary]));
      };
      collections.set(scrape, { asker: worker, figures, awaited: workers.length, end });
      for (const other of workers) other?.send({ countersign: 'collect', scrape } satisfies Message);
    }
    const collection = collections.get(scrape);
    if (message.countersign !== 'figures' || collection === undefined) return;
    collection.figures.push(message.figures);
    collection.awaited -= 1;
    if (collection.awaited === 0) collection.end();
  });
}

async function answer(asker: Worker, scrape: string, figures: readonly Figures[]): Promise<void> {
  // The library's types leave out the second argument, the format of the exposition.
  const aggregate = AggregatorRegistry.aggregate as (figures: object[], contentType: string) => Exposition;
  const text = await aggregate([...figures], openMetricsContentType).metrics();
  if (asker.isConnected()) asker.send({ countersign: 'exposition', scrape, text } satisfies Message);
}

/** Called in a worker: `own` gives this process's figures; answers a function that gives the exposition of all. */
export function askPrimary(own: () => Promise<Figures>): () => Promise<string> {
  const scrapes = new Map<string, (text: string) => void>();
  process.on('message', (message: unknown) => {
    if (!isMessage(message)) return;
    const { scrape } = message;
    if (message.countersign === 'exposition') scrapes.get(scrape)?.(message.text);
    if (message.countersign !== 'collect') return;
    void own().then((figures) => process.send?.({ countersign: 'figures', scrape, figures } satisfies Message));
  });
  return async () => {
    const scrape = randomUUID();
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const deadline = setTimeout(() => reject(new Error('the primary does not answer')), 2 * COLLECT_DEADLINE_MS);
    scrapes.set(scrape, resolve);
    process.send?.({ countersign: 'scrape', scrape } satisfies Message);
    try {
      return await promise;
    } finally {
      clearTimeout(deadline);
      scrapes.delete(scrape);
    }
  };
}

/** Both ends are this file; other messages pass between the processes too. */
function isMessage(message: unknown): message is Message {
  return typeof message === 'object' && message !== null && 'countersign' in message && 'scrape' in message;
}
