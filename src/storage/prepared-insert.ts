/** Inserts of whole rows by a statement that is prepared once: building its text costs more than running it. */
import type { Database } from './database.ts';
import { getTableColumns, type SQLiteTable, sql } from './drizzle.ts';

/** A function that inserts one row of `table`, every column given. */
export function preparedInsert<T extends SQLiteTable>({ orm }: Database, table: T): (row: T['$inferInsert']) => void {
  const columns = Object.keys(getTableColumns(table));
  const placeholders = Object.fromEntries(columns.map((column) => [column, sql.placeholder(column)]));
  // The library's types ask for the row's own values here; placeholders are what it prepares with.
  const statement = orm
    .insert(table)
    .values(placeholders as T['$inferInsert'])
    .prepare();
  return (row) => void statement.run(row as Record<string, unknown>);
}
