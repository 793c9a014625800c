/**
 * The JSON Schema of the declarative file, for editors: the fields of the registry's own inputs, and what the file has
 * besides. It knows the form of each field; what holds between fields and entries is said when the file is read.
 */
import { z } from 'zod';
import { clientFields } from '../registry/client-input.ts';
import { denyListEntryFields } from '../registry/deny-list-input.ts';
import { trustedIssuerFields } from '../registry/trusted-issuer-fields.ts';
import { workloadBindingFields } from '../registry/workload-binding-input.ts';
import { ISSUER_NAME, requireFields } from './trusted-issuer-entry.ts';

const text = (description: string) => z.string().describe(description).optional();

const bindingConditions = {
  claims: z
    .record(z.string(), z.union([z.string(), z.number(), z.boolean()]))
    .describe('Claim path, such as kubernetes.io.node.name, to the exact value it must have')
    .optional(),
  token_claims: z
    .record(z.string(), z.string())
    .describe(
      'Claim of the access token to its template, such as {issuer.name}/{kubernetes.node.name|dots_to_underscores}',
    )
    .optional(),
};

const issuerBinding = workloadBindingFields.omit({ trusted_issuer_id: true }).extend({
  client: text('The client_id of a client'),
  client_id: text('Another word for client'),
  ...bindingConditions,
});

const file = z.strictObject({
  settings: z
    .record(z.string(), z.union([z.string(), z.number(), z.array(z.string())]))
    .describe('Settings that flags and environment do not say; read at start only')
    .optional(),
  clients: z
    .array(
      clientFields.omit({ with_client_secret: true }).extend({
        client_id: z
          .string()
          .regex(/^[^/]+$/)
          .describe('Who the workload becomes'),
        name: text('The client_id if absent'),
      }),
    )
    .optional(),
  trusted_issuers: z
    .array(
      trustedIssuerFields.partial({ key_source_type: true }).extend({
        name: z.string().regex(ISSUER_NAME).describe('Part of the names that are made for workloads'),
        issuer_url: z.string().startsWith('https://').describe('The iss of its tokens, byte for byte'),
        jwks_url: text('Address of the keys, instead of what discovery says'),
        jwks_file: text('File with the keys, beside this one; excludes jwks_url and jwks'),
        ca_file: text('File of PEM certificates that replace the system roots'),
        require: requireFields.partial().describe('What tokens must be bound to').optional(),
        bindings: z.array(issuerBinding).describe('Which subjects act as which clients').optional(),
      }),
    )
    .optional(),
  workload_bindings: z
    .array(issuerBinding.extend({ trusted_issuer: z.string().describe('The name of an entry of trusted_issuers') }))
    .optional(),
  deny_list: z
    .array(
      denyListEntryFields.omit({ trusted_issuer_id: true }).extend({
        trusted_issuer: z.string().describe('The name of an entry of trusted_issuers'),
        expires_at: z
          .union([z.iso.datetime({ offset: true }), z.number()])
          .describe('An instant such as 2026-12-31T18:00:00Z, or seconds since the epoch; without end if absent')
          .optional(),
      }),
    )
    .optional(),
});

/** The schema, as it is shipped in `declarative-file.schema.json`. */
export function declarativeFileSchema(): Readonly<Record<string, unknown>> {
  const { $schema, ...schema } = z.toJSONSchema(file, { io: 'input', unrepresentable: 'any' });
  return { $schema, title: 'The declarative file of Countersign', ...schema };
}
