/**
 * What the declarative file declares, once it has been read: every client, trusted issuer, binding and denial that it
 * keeps, each with the place where it stands. The registry's rows that are `managed_by: file` are made to be these.
 */
import type { DeniedMember } from '../assertion/deny-list.ts';
import type { WorkloadBinding } from '../assertion/workload-binding.ts';
import type { ClientFields } from './client-input.ts';
import type { TrustedIssuerFields } from './trusted-issuer-input.ts';

/** Where something stands: which document, and the member names and list positions that lead to it. */
export type Place = { readonly document: number; readonly path: readonly string[] };

export type DeclaredClient = { readonly place: Place; readonly fields: ClientFields };

export type DeclaredTrustedIssuer = {
  readonly place: Place;
  /** `serviceAccountId` is the client's `client_id` here. */
  readonly fields: TrustedIssuerFields;
};

export type DeclaredWorkloadBinding = Pick<WorkloadBinding, 'subject' | 'claims' | 'tokenClaims' | 'isActive'> & {
  readonly place: Place;
  /** The name of a declared trusted issuer. */
  readonly trustedIssuer: string;
  /** The `client_id` of a declared client, or of one that the API keeps. */
  readonly client: string;
  readonly clientPlace: Place;
};

export type DeclaredDenial = {
  readonly place: Place;
  /** The name of a declared trusted issuer. */
  readonly trustedIssuer: string;
  readonly member: DeniedMember;
  readonly value: string;
  readonly reason: string;
  /** Seconds since the epoch; null: until it is removed. */
  readonly expiresAt: number | null;
};

export type Declaration = {
  readonly clients: readonly DeclaredClient[];
  readonly trustedIssuers: readonly DeclaredTrustedIssuer[];
  readonly workloadBindings: readonly DeclaredWorkloadBinding[];
  readonly denyList: readonly DeclaredDenial[];
  /** What could not be read. Nothing of a declaration with problems is put in force. */
  readonly problems: readonly DeclarationProblem[];
  /** Names of all entries, those that could not be read included: what refers to one is not wrong as well. */
  readonly named: { readonly clients: ReadonlySet<string>; readonly trustedIssuers: ReadonlySet<string> };
};

/** What is wrong with a declaration, at one place. */
export type DeclarationProblem = {
  readonly place: Place;
  readonly message: string;
  /** The place that this one is in conflict with; its file and line are said after the message. */
  readonly other?: Place;
  /** Where the document itself could not be read: its line, from 1. */
  readonly line?: number;
};

/** The place of a member below another place. */
export function below({ document, path }: Place, ...members: readonly string[]): Place {
  return { document, path: [...path, ...members] };
}
