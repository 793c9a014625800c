/** Real second processes for storage tests: scripts of this folder, run by the Node.js that runs the tests. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export type Child = {
  /** The next line that it prints. Rejects when it ends before. */
  line(): Promise<string>;
  /** Writes a line to it. */
  tell(text: string): void;
  /** Ends it as a power cut would, and waits for that. */
  kill(): Promise<void>;
  /** Its exit code, once it has ended by itself. */
  exit(): Promise<number | null>;
};

/** Starts a script of this folder. What it writes to stderr is shown. */
export function startChild(script: string, ...args: readonly string[]): Child {
  const path = fileURLToPath(new URL(script, import.meta.url));
  const child = spawn(process.execPath, [path, ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ended = exitOf(child);
  return {
    async line() {
      const next = await lines.next();
      if (next.done) throw new Error(`${script} ended without another line`);
      return next.value;
    },
    tell: (text) => void child.stdin.write(`${text}\n`),
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
    exit: () => ended,
  };
}

async function exitOf(child: ChildProcess): Promise<number | null> {
  await once(child, 'exit');
  return child.exitCode;
}
