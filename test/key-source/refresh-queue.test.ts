import { describe, expect, it } from 'vitest';
import { createRefreshQueue, FAILING_CONCURRENCY, REFRESH_CONCURRENCY } from '../../src/key-source/refresh-queue.ts';

/** A queue whose items end when the test says so. */
function held() {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const queue = createRefreshQueue<string>((item) => {
    begun.push(item);
    const { promise, resolve } = Promise.withResolvers<void>();
    ends.set(item, resolve);
    return promise;
  });
  const settle = () => new Promise((resolve) => setTimeout(resolve, 0));
  return {
    queue,
    begun,
    async end(...items: readonly string[]) {
      for (const item of items) ends.get(item)?.();
      await settle();
      await settle();
    },
  };
}

const names = (prefix: string, count: number) => Array.from({ length: count }, (_, index) => `${prefix}${index}`);

describe('the queue of background fetches', () => {
  it('runs eight at a time, in order, and each of them once', async () => {
    const { queue, begun, end } = held();
    const items = names('i', 20);
    for (const item of [...items, ...items.slice(8)]) queue.offer(item, false);
    expect(begun).toEqual(items.slice(0, REFRESH_CONCURRENCY));
    expect(queue.length).toBe(12);
    await end('i3', 'i5');
    expect(begun).toEqual(items.slice(0, REFRESH_CONCURRENCY + 2));
    let isIdle = false;
    const idle = queue.idle().then(() => {
      isIdle = true;
    });
    await end(...items.slice(0, 10));
    expect(isIdle).toBe(false);
    await end(...items.slice(10, 18));
    await end(...items.slice(18));
    await idle;
    expect(begun).toEqual(items);
    expect(queue.length).toBe(0);
    await queue.idle();
  });

  it('lets what failed before wait behind all others, and gives it two places at most', async () => {
    const { queue, begun, end } = held();
    for (const item of names('failing', 20)) queue.offer(item, true);
    expect(begun).toEqual(names('failing', FAILING_CONCURRENCY));
    for (const item of names('healthy', 10)) queue.offer(item, false);
    expect(begun.slice(FAILING_CONCURRENCY)).toEqual(names('healthy', 6));
    await end('healthy0');
    expect(begun.at(-1)).toBe('healthy6');
    await end('failing0');
    expect(begun.at(-1)).toBe('healthy7');
    await end(...names('healthy', 8));
    expect(begun.slice(-3)).toEqual(['healthy8', 'healthy9', 'failing2']);
  });

  it('forgets what waits when it is cleared, and takes it again', async () => {
    const { queue, begun, end } = held();
    for (const item of names('i', 9)) queue.offer(item, false);
    queue.clear();
    expect(queue.length).toBe(0);
    await end(...names('i', 8));
    await queue.idle();
    expect(begun).toHaveLength(8);
    queue.offer('i8', false);
    expect(begun.at(-1)).toBe('i8');
  });

  it('says when some have been done, and when none is left', async () => {
    const { queue, end } = held();
    for (const item of names('i', 10)) queue.offer(item, false);
    const reached: string[] = [];
    void queue.idle(3).then(() => reached.push('three'));
    void queue.idle(99).then(() => reached.push('all, though not 99'));
    await end('i0', 'i1');
    expect(reached).toEqual([]);
    await end('i2');
    expect(reached).toEqual(['three']);
    await end(...names('i', 9));
    expect(reached).toEqual(['three']);
    await end('i9');
    expect(reached).toEqual(['three', 'all, though not 99']);
  });
});
