/**
 * One look-up of a name at a time. The system's resolver has four threads for everything: a name server that is silent
 * must not get all of them because many requests ask for one name.
 */

/** All IP addresses of a name. */
export type Lookup = (host: string) => Promise<readonly string[]>;

/** The same look-up, which callers of one name share while it runs; nothing is remembered after it. */
export function lookupOnce(lookup: Lookup): Lookup {
  const running = new Map<string, Promise<readonly string[]>>();
  return (host) => {
    const shared = running.get(host);
    if (shared !== undefined) return shared;
    const started = lookup(host).finally(() => running.delete(host));
    running.set(host, started);
    return started;
  };
}
