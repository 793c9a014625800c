/**
 * What must hold between the entries of one declaration, whatever the database holds: names, issuers, clients and
 * bindings are there once, and what one entry names another one declares.
 */
import { templateAmbiguity } from '../assertion/injective-template.ts';
import {
  below,
  type Declaration,
  type DeclarationProblem,
  type DeclaredTrustedIssuer,
  type DeclaredWorkloadBinding,
  type Place,
} from './declaration.ts';
import { denyListIssuerProblems } from './deny-list-input.ts';
import { withoutFinalSlash } from './issuer-collisions.ts';
import { issuerStrings } from './trusted-issuer-rules.ts';
import { bindingSubjectProblems } from './workload-binding-input.ts';

/** Everything that is wrong between the entries. */
export function declarationProblems(declaration: Declaration): readonly DeclarationProblem[] {
  const { clients, trustedIssuers, workloadBindings, denyList } = declaration;
  const issuers = new Map(trustedIssuers.map((issuer) => [issuer.fields.name, issuer]));
  return [
    ...repeated(clients, ({ fields, place }) => [[fields.clientId, below(place, 'client_id')]], 'client_id'),
    ...repeated(trustedIssuers, ({ fields, place }) => [[fields.name, below(place, 'name')]], 'name'),
    ...repeated(trustedIssuers, issuerPlaces, 'issuer'),
    ...repeated(workloadBindings, bindingKey, 'binding'),
    ...repeated(
      denyList,
      ({ place, ...denial }) => [[keyOf(denial.trustedIssuer, denial.member, denial.value), place]],
      'entry',
    ),
    ...workloadBindings.flatMap((binding) => bindingProblems(binding, declaration, issuers.get(binding.trustedIssuer))),
    ...denyList.flatMap((denial) => {
      const issuer = issuers.get(denial.trustedIssuer);
      const problems = issuer === undefined ? [] : denyListIssuerProblems(denial, issuer.fields.issuerType);
      return [
        ...undeclaredIssuer(denial, declaration),
        ...problems.map(({ path, message }) => ({ place: below(denial.place, ...path), message })),
      ];
    }),
  ];
}

/** Every issuer string of an entry, as it is compared: two that differ by a final slash are one mistake. */
export function issuerPlaces({ fields, place }: DeclaredTrustedIssuer): readonly (readonly [string, Place])[] {
  const strings = { issuer_url: fields.issuerUrl, additional_issuer_urls: [...fields.additionalIssuerUrls] };
  return issuerStrings(strings).map(({ url, path }) => [withoutFinalSlash(url), below(place, ...path)]);
}

function bindingKey({ trustedIssuer, client, subject, place }: DeclaredWorkloadBinding) {
  return [[keyOf(trustedIssuer, client, subject), below(place, 'subject')]] as const;
}

function keyOf(...parts: readonly string[]): string {
  return JSON.stringify(parts);
}

type Keys = readonly (readonly [key: string, place: Place])[];

/** The second and every further place of one key. */
function repeated<T>(entries: readonly T[], keysOf: (entry: T) => Keys, what: string): readonly DeclarationProblem[] {
  const seen = new Map<string, Place>();
  return entries.flatMap(keysOf).flatMap(([key, place]) => {
    const first = seen.get(key);
    if (first === undefined) {
      seen.set(key, place);
      return [];
    }
    return [{ place, message: `repeats the ${what} of another entry, keep one of the two: see`, other: first }];
  });
}

function bindingProblems(
  binding: DeclaredWorkloadBinding,
  declaration: Declaration,
  issuer: DeclaredTrustedIssuer | undefined,
): readonly DeclarationProblem[] {
  const { place, subject, tokenClaims } = binding;
  const subjects = issuer === undefined ? [] : bindingSubjectProblems(subject, issuer.fields.issuerType);
  const ambiguities = Object.entries(tokenClaims).flatMap(([claim, template]) => {
    const ambiguity = templateAmbiguity(template);
    return ambiguity === null ? [] : [{ place: below(place, 'token_claims', claim), message: ambiguity }];
  });
  return [
    ...undeclaredIssuer(binding, declaration),
    ...subjects.map(({ path, message }) => ({ place: below(place, ...path), message })),
    ...ambiguities,
  ];
}

function undeclaredIssuer(
  { place, trustedIssuer }: { readonly place: Place; readonly trustedIssuer: string },
  { named }: Declaration,
): readonly DeclarationProblem[] {
  if (named.trustedIssuers.has(trustedIssuer)) return [];
  const message = `no entry of trusted_issuers has the name ${JSON.stringify(trustedIssuer)}`;
  return [{ place: below(place, 'trusted_issuer'), message }];
}
