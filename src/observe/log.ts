/**
 * The log: JSON lines, each with the request id where there is one. What must never be in it is kept out where lines
 * are made; the redaction here is the second lock on the door.
 */
import { pino, stdTimeFunctions } from 'pino';
import { withoutCredentials } from './redaction.ts';

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** The part of a logger that the house uses: an object of fields, then a fixed message. */
export type Log = Readonly<
  Record<'debug' | 'info' | 'warn' | 'error', (fields: Readonly<Record<string, unknown>>, message: string) => void>
>;

/** Names under which requests and errors of other libraries carry secrets. */
const SECRET_NAMES = [
  'client_assertion',
  'assertion',
  'subject_token',
  'actor_token',
  'access_token',
  'token',
  'client_secret',
  'secret',
  'authorization',
  'password',
  'admin_secret',
  'private_key',
];

/** A logger that writes to stdout, or to `write` in tests. */
export function createLog(level: LogLevel, write?: (line: string) => void): Log {
  const options = {
    level,
    base: null,
    messageKey: 'message',
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: { paths: SECRET_NAMES.flatMap((name) => [name, `*.${name}`]), censor: '[redacted]' },
    serializers: { error: describeFault },
  };
  return write === undefined ? pino(options) : pino(options, { write });
}

/** A fault for the log: kind, message and stack, with anything that looks like a token cut out, and its causes. */
export function describeFault(fault: unknown): unknown {
  if (!(fault instanceof Error)) return { message: withoutCredentials(String(fault)) };
  return {
    name: fault.name,
    message: withoutCredentials(fault.message),
    ...('code' in fault && { code: String(fault.code) }),
    stack: withoutCredentials(fault.stack ?? ''),
    ...(fault.cause !== undefined && { cause: describeFault(fault.cause) }),
  };
}
