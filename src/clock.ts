/**
 * The only file that tells the time. Everything else receives a `Clock`, so that rules are pure functions of
 * their input and `now`, and tests move time instead of sleeping.
 */

/** Seconds since the epoch, whole: the NumericDate of RFC 7519 §2. */
export type Clock = () => number;

/** The machine's clock. */
export const systemClock: Clock = () => Math.floor(Date.now() / 1000);

/** Seconds with fractions from an arbitrary start, never going back: for measuring how long something took. */
export type Stopwatch = () => number;

/** The machine's stopwatch. */
export const systemStopwatch: Stopwatch = () => performance.now() / 1000;
