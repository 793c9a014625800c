/**
 * Large pieces of work that leave nothing behind. Reading a declarative file of ten thousand issuers makes 200 MB of
 * garbage: V8 would take that much more memory while it lasts, and keep it for hours in a server that then waits.
 */
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

type CollectGarbage = (options: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void;

/** Less garbage is not worth stopping requests for. */
const WORTH_COLLECTING_BYTES = 32 * 1024 * 1024;

let collectGarbage: CollectGarbage | null = null;

/**
 * Does `work` with a young generation that does not grow (V8's default factor is 2). When it has made the heap much
 * larger, all garbage is collected and its pages are given back, which stops the process for tens of milliseconds.
 */
export async function frugally<T>(work: () => Promise<T>): Promise<T> {
  const before = getHeapStatistics().total_heap_size;
  setFlagsFromString('--semi-space-growth-factor=1');
  try {
    return await work();
  } finally {
    setFlagsFromString('--semi-space-growth-factor=2');
    if (getHeapStatistics().total_heap_size - before > WORTH_COLLECTING_BYTES) {
      if (collectGarbage === null) {
        setFlagsFromString('--expose-gc');
        collectGarbage = runInNewContext('gc') as CollectGarbage; // what the flag has just put there
      }
      collectGarbage({ type: 'major', execution: 'sync', flavor: 'last-resort' });
    }
  }
}
