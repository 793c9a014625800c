/** `countersign worker`: the sample worker on the command line. It is a client, so it knows none of the server's rooms. */
import { describeProblems } from '../config.ts';
import { runWorker, UnusableWorkerSetting } from '../worker/run-worker.ts';
import { readWorkerConfig, type WorkerFlags } from '../worker-config.ts';
import { CommandFailure } from './command-failure.ts';

/** Runs it until SIGTERM or SIGINT. Answers the exit code. */
export async function runWorkerCommand(options: WorkerFlags, print: (line: string) => void): Promise<0 | 1> {
  const settings = readWorkerConfig(options);
  if (!settings.ok) throw new CommandFailure(describeProblems(settings.error));
  const stop = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stop.abort());
  try {
    return await runWorker({
      ...settings.value,
      allowInsecureEndpoint: options.allowInsecureEndpoint === true,
      once: options.once === true,
      log: print,
      signal: stop.signal,
    });
  } catch (error) {
    throw error instanceof UnusableWorkerSetting ? new CommandFailure(error.message) : error;
  }
}
