/** A server process whose CPU time can be asked for: its side and ours. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';

type Report = { readonly port: number } | { readonly cpuMs: number; readonly rssMb: number };

/** Called in the server's process: listens on a free port, then answers every message with the CPU time used so far. */
export function serveMeasured(server: Server): void {
  const tell = (report: Report) => process.send?.(report);
  server.listen(0, '127.0.0.1', () => tell({ port: (server.address() as AddressInfo).port }));
  process.on('message', () => {
    const { user, system } = process.cpuUsage();
    tell({ cpuMs: (user + system) / 1000, rssMb: process.memoryUsage.rss() / 1024 / 1024 });
  });
}

export class MeasuredProcess {
  readonly port: number;
  readonly #child: ChildProcess;

  private constructor(port: number, child: ChildProcess) {
    this.port = port;
    this.#child = child;
  }

  /** Starts a script of this folder. */
  static async start(script: string, args: readonly string[]): Promise<MeasuredProcess> {
    const child = fork(fileURLToPath(new URL(script, import.meta.url)), args);
    const [report] = (await once(child, 'message')) as [{ port: number }];
    return new MeasuredProcess(report.port, child);
  }

  async usage(): Promise<{ readonly cpuMs: number; readonly rssMb: number }> {
    const answer = once(this.#child, 'message');
    this.#child.send('usage');
    const [report] = (await answer) as [{ cpuMs: number; rssMb: number }];
    return report;
  }

  async stop(): Promise<void> {
    const closed = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await closed;
  }
}
