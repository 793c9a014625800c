/**
 * A declaration against the rows that the admin API keeps. Neither side may take over what the other has: every clash
 * is an error that names both.
 */
import type { Client } from '../issuance/client.ts';
import { below, type Declaration, type DeclarationProblem, type Place } from './declaration.ts';
import { issuerPlaces } from './declaration-rules.ts';
import { withoutFinalSlash } from './issuer-collisions.ts';
import type { RegistryRows } from './registry-store.ts';

/** Everything that a row of the API stands in the way of. */
export function declarationClashes(declaration: Declaration, rows: RegistryRows): readonly DeclarationProblem[] {
  const clients = rows.clients.filter(({ managedBy }) => managedBy === 'api');
  const issuers = rows.trustedIssuers.filter(({ managedBy }) => managedBy === 'api');
  const clientsById = new Map(clients.flatMap((client) => [client.id, client.clientId].map((id) => [id, client])));
  const issuersByName = new Map(issuers.map((issuer) => [issuer.name, issuer]));
  const issuersByUrl = new Map(
    issuers.flatMap((issuer) =>
      [issuer.issuerUrl, ...issuer.additionalIssuerUrls].map((url) => [withoutFinalSlash(url), issuer]),
    ),
  );
  const clash = (place: Place, what: string, id: string): DeclarationProblem => ({
    place,
    message: `${what} is kept by the admin API already (id ${id}): delete it there, or leave it out here`,
  });
  return [
    ...declaration.clients.flatMap(({ place, fields }) => {
      const taken = clientsById.get(fields.clientId);
      return taken === undefined
        ? []
        : [clash(below(place, 'client_id'), `client ${quote(fields.clientId)}`, taken.id)];
    }),
    ...declaration.trustedIssuers.flatMap((issuer) => {
      const named = issuersByName.get(issuer.fields.name);
      const strings = issuerPlaces(issuer).flatMap(([url, place]) => {
        const taken = issuersByUrl.get(url);
        return taken === undefined ? [] : [clash(place, `trusted issuer ${quote(taken.issuerUrl)}`, taken.id)];
      });
      return named === undefined || strings.length > 0
        ? strings
        : [clash(below(issuer.place, 'name'), `a trusted issuer named ${quote(named.name)}`, named.id)];
    }),
    ...selfSignedClashes(declaration, clients, issuersByUrl),
  ];
}

/** An assertion that a client signs itself has the client_id as its `iss`: it must lead to one key set, not to two. */
function selfSignedClashes(
  declaration: Declaration,
  apiClients: readonly Client[],
  apiIssuersByUrl: ReadonlyMap<string, unknown>,
): readonly DeclarationProblem[] {
  const declaredIssuers = new Set(declaration.trustedIssuers.flatMap(issuerPlaces).map(([url]) => url));
  const selfSigners = new Set(apiClients.filter(({ jwks }) => jwks !== null).map(({ clientId }) => clientId));
  return [
    ...declaration.clients.flatMap(({ place, fields }) => {
      const url = withoutFinalSlash(fields.clientId);
      const isIssuer = fields.jwks !== null && (declaredIssuers.has(url) || apiIssuersByUrl.has(url));
      const message = `the client_id ${quote(fields.clientId)} is also a trusted issuer's string`;
      return isIssuer ? [{ place: below(place, 'jwks'), message }] : [];
    }),
    ...declaration.trustedIssuers.flatMap(issuerPlaces).flatMap(([url, place]) => {
      const message = `${quote(url)} is the client_id of a client that signs by itself`;
      return selfSigners.has(url) ? [{ place, message }] : [];
    }),
  ];
}

function quote(text: string): string {
  return JSON.stringify(text);
}
