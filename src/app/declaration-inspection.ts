/** What a start with this declarative file would do to the database, without doing it. */
import { randomUUID } from 'node:crypto';
import type { Clock } from '../clock.ts';
import type { Config } from '../config.ts';
import { readDeclarativeFile } from '../declarative-file/declarative-file.ts';
import { type RowDifference, rowDifferences } from '../registry/declaration-difference.ts';
import { planDeclaration } from '../registry/declaration-plan.ts';
import type { RegistryRows } from '../registry/registry-store.ts';
import { UnusableDeclaration } from './declaration-keeper.ts';
import { type DatabaseInspection, readRegistryRows } from './stores.ts';

const NO_ROWS: RegistryRows = { clients: [], trustedIssuers: [], workloadBindings: [], denyList: [] };
/** Rows named one by one; more are a number. */
const MAX_LISTED = 20;

/**
 * Reads the file and holds it against the rows that are there. Lines for the terminal; none where no file is set.
 * Rejects with an `UnusableDeclaration` that has every problem.
 */
export async function inspectDeclaration(
  config: Config,
  clock: Clock,
  database: DatabaseInspection,
): Promise<readonly string[]> {
  const { declarativeFile: path } = config;
  if (path === null) return [];
  const file = await readDeclarativeFile(path, config.issuer, clock());
  const isReadable = database.state === 'present' && database.pendingMigrations.length === 0;
  const rows = isReadable ? await readRegistryRows(config, clock) : NO_ROWS;
  const planned = planDeclaration(file.declaration, rows, { now: clock(), newId: randomUUID });
  if (!planned.ok) throw new UnusableDeclaration(file.describe(planned.error).join('\n'));
  const differences = rowDifferences(planned.value);
  const { length } = differences;
  return [
    `file        ${path}, ${length === 0 ? 'in force as it is' : `rows that would change: ${length}`}`,
    ...differences.slice(0, MAX_LISTED).map(differenceLine),
    ...(length > MAX_LISTED ? [`            and ${length - MAX_LISTED} more`] : []),
    ...file.describe(file.warnings).map((warning) => `warn        ${warning}`),
  ];
}

function differenceLine({ verb, resource_type: type, name }: RowDifference): string {
  const sign = { created: '+', updated: '~', deleted: '-' }[verb];
  return `            ${sign} ${type} ${name}`;
}
