/**
 * Several processes on one address (`COUNTERSIGN_WORKERS`): the primary migrates, keeps the declarative file in force,
 * forks, replaces those that die, and passes the end on. It serves nothing itself.
 */
import cluster from 'node:cluster';
import { keepDeclaration } from '../app/declaration-keeper.ts';
import { openAppStores } from '../app/stores.ts';
import { systemClock } from '../clock.ts';
import type { Config } from '../config.ts';
import { SigningKeyRing } from '../issuance/signing-key-ring.ts';
import type { Log } from '../observe/log.ts';
import { createMetrics } from '../observe/metrics.ts';
import { collectForWorkers } from '../observe/worker-metrics.ts';
import { createRegistry } from '../registry/registry.ts';

/** Exit code of a command that can not run, see `main.ts`. */
const CAN_NOT_RUN = 2;
/** A worker that dies at start must not be forked in a hot loop. */
const RESTART_DELAY_MS = 1_000;

/** Whether this process is the one that was started, or one of its workers. */
export function workerRole(): 'primary' | 'worker' {
  return cluster.isPrimary ? 'primary' : 'worker';
}

/** Closes a worker's channel to its primary, which would keep the process alive; does nothing in a primary. */
export function leavePrimary(): void {
  if (process.connected) process.disconnect();
}

/** Keeps `config.workers` processes serving until `signal` aborts. Resolves when all have ended. */
export async function serveInWorkers(config: Config, log: Log, signal: AbortSignal): Promise<void> {
  await using stores = await openAppStores(config, systemClock);
  await SigningKeyRing.open(stores.signingKeys, systemClock);
  const metrics = createMetrics();
  await using keeper = await keepDeclaration(config, {
    registry: createRegistry({
      store: stores.registryStore,
      auditLog: stores.auditLog,
      clock: systemClock,
      ownIssuer: config.issuer,
    }),
    clock: systemClock,
    log,
    onRead: (outcome) => metrics.declarationRead(outcome, systemClock()),
  });
  process.on('SIGHUP', () => void keeper?.reload());
  collectForWorkers(() => metrics.collect());
  let running = 0;
  let isEnding = false;
  await new Promise<void>((resolve) => {
    const fork = () => {
      if (isEnding) return;
      running += 1;
      cluster.fork();
    };
    const end = () => {
      isEnding = true;
      if (running === 0) resolve();
      for (const worker of Object.values(cluster.workers ?? {})) worker?.process.kill('SIGTERM');
    };
    cluster.on('exit', (worker, code) => {
      running -= 1;
      // It has said why it can not run; another one could not either.
      if (code === CAN_NOT_RUN && !isEnding) {
        process.exitCode = CAN_NOT_RUN;
        end();
      }
      if (isEnding) {
        if (running === 0) resolve();
        return;
      }
      log.error({ pid: worker.process.pid, code }, 'worker process ended, another one starts');
      setTimeout(fork, RESTART_DELAY_MS);
    });
    signal.addEventListener('abort', end, { once: true });
    for (let index = 0; index < config.workers; index += 1) fork();
  });
}
