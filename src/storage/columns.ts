/**
 * Column types of `schema.ts` whose values are parsed when they are read: lists and objects as JSON text (a list
 * joined by commas would split a subject that has one), closed sets of words, bytes. A value that does not parse is a
 * damaged row: a fault, never an empty list.
 */
import { z } from 'zod';
import type { ClaimValue } from '../assertion/workload-binding.ts';
import { customType } from './drizzle.ts';
import { StorageError } from './storage-error.ts';

function jsonText<T>(schema: z.ZodType<T>) {
  return customType<{ data: T; driverData: string }>({
    dataType: () => 'text',
    toDriver: (value) => JSON.stringify(value),
    fromDriver: (text) => schema.parse(JSON.parse(text)),
  });
}

export const stringList = jsonText<readonly string[]>(z.array(z.string()));
export const claimConditions = jsonText<Readonly<Record<string, ClaimValue>>>(
  z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
);
export const stringMap = jsonText<Readonly<Record<string, string>>>(z.record(z.string(), z.string()));
export const jsonObject = jsonText<Readonly<Record<string, unknown>>>(z.record(z.string(), z.unknown()));

/** One of `values`. */
export function oneOf<const T extends string>(values: readonly T[]) {
  return customType<{ data: T; driverData: string }>({
    dataType: () => 'text',
    fromDriver(text) {
      const value = values.find((known) => known === text);
      if (value === undefined) throw new StorageError(`a stored value is none of ${values.join(', ')}`);
      return value;
    },
  });
}

export const bytes = customType<{ data: Uint8Array; driverData: Uint8Array }>({
  dataType: () => 'blob',
  toDriver: (value) => Buffer.from(value.buffer, value.byteOffset, value.byteLength),
  fromDriver: (value) => new Uint8Array(value),
});
