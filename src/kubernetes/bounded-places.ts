/**
 * How many may ask one cluster at a time, and how many wait how long for their turn. A cluster that hangs holds these
 * places and no more: neither memory nor sockets grow with the requests that come in for it.
 */

export type PlaceLimits = {
  readonly inFlight: number;
  readonly waiting: number;
  readonly maxWaitMs: number;
};

export type BoundedPlaces = {
  /** True with a place, which must be given back; false when there is none in time. */
  take(): Promise<boolean>;
  giveBack(): void;
  /** Sends all away that wait. */
  sendAway(): void;
  readonly inFlight: number;
  readonly waiting: number;
};

/** No place is taken yet. */
export function createBoundedPlaces(limits: PlaceLimits): BoundedPlaces {
  let inFlight = 0;
  const queue = new Set<(hasPlace: boolean) => void>();

  function wait(): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const settle = (hasPlace: boolean) => {
      clearTimeout(timer);
      queue.delete(settle);
      resolve(hasPlace);
    };
    const timer = setTimeout(() => settle(false), limits.maxWaitMs);
    queue.add(settle);
    return promise;
  }

  return {
    async take() {
      if (inFlight >= limits.inFlight) return queue.size < limits.waiting ? wait() : false;
      inFlight += 1;
      return true;
    },
    giveBack() {
      const [next] = queue;
      // A place that goes to the next one stays taken.
      if (next === undefined) inFlight -= 1;
      else next(true);
    },
    sendAway() {
      for (const settle of queue) settle(false);
    },
    get inFlight() {
      return inFlight;
    },
    get waiting() {
      return queue.size;
    },
  };
}
