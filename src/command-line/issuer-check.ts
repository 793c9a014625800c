/**
 * `countersign issuer check <url|file>`: what a trusted issuer's key source gives right now. The same parsing and the
 * same fetch as the server's, over nothing stored.
 */
import { readFile } from 'node:fs/promises';
import { readJwkSet } from '../assertion/key-set.ts';
import type { TrustedIssuer } from '../assertion/trusted-issuer.ts';
import { checkIssuer as fetchKeys, type IssuerCheck } from '../key-source/issuer-check.ts';
import { refreshDelaySeconds } from '../key-source/key-set-life.ts';
import { createOutboundFetch } from '../key-source/outbound-fetch.ts';
import { parseTrustedIssuerInput } from '../registry/trusted-issuer-input.ts';
import { CommandFailure } from './command-failure.ts';
import { configOf } from './settings.ts';

export type CheckReport = { readonly lines: readonly string[]; readonly passed: boolean };

type Options = Readonly<Record<string, string | boolean | undefined>>;

/** Checks an issuer URL, a trusted issuer in a JSON file, or a JWK set in a JSON file. */
export async function checkIssuer(target: string, options: Options): Promise<CheckReport> {
  const { issuer: ownIssuer, privateNetworks } = configOf(options);
  const input = /^https?:\/\//.test(target) ? await inputFromUrl(target, options) : await readJsonFile(target);
  if (isJwkSet(input)) return reportJwkSet(input);
  const parsed = await parseTrustedIssuerInput(input, ownIssuer);
  if (!parsed.ok) {
    return { passed: false, lines: parsed.error.map(({ path, message }) => `FAIL ${path.join('.')}: ${message}`) };
  }
  const { fields, warnings } = parsed.value;
  const issuer: TrustedIssuer = {
    ...fields,
    id: 'checked',
    managedBy: 'api',
    keySourceRevision: 0,
    keySourceUpdatedAt: 0,
    createdAt: 0,
    updatedAt: 0,
  };
  const check = await fetchKeys(issuer, createOutboundFetch({ privateNetworks }));
  return { passed: check.passed, lines: [...warnings.map((warning) => `warn ${warning}`), ...reportLines(check)] };
}

async function inputFromUrl(url: string, options: Options): Promise<Readonly<Record<string, unknown>>> {
  const caFile = options.caFile;
  return {
    name: 'checked',
    issuer_url: url,
    issuer_type: 'oidc',
    key_source_type: 'oidc_discovery',
    allow_private_network: options.allowPrivateNetwork === true,
    ...(options.discoveryUrl !== undefined && { discovery_url: options.discoveryUrl }),
    ...(options.jwksUrl !== undefined && { jwks_url: options.jwksUrl }),
    ...(typeof caFile === 'string' && { ca_pem: await readTextFile(caFile) }),
  };
}

async function readJsonFile(path: string): Promise<unknown> {
  try {
    return JSON.parse(await readTextFile(path));
  } catch (error) {
    if (error instanceof SyntaxError) throw new CommandFailure(`${path} is not JSON: give a URL or a JSON file`);
    throw error;
  }
}

async function readTextFile(path: string): Promise<string> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new CommandFailure(`${path} can not be read (${error.code}): give a URL or a file`);
  });
}

function isJwkSet(input: unknown): boolean {
  return typeof input === 'object' && input !== null && 'keys' in input;
}

async function reportJwkSet(document: unknown): Promise<CheckReport> {
  const set = await readJwkSet(document);
  if (!set.ok) return { passed: false, lines: [`FAIL ${set.error}`] };
  const keys = set.value.keys.map((key) => `key  ${keyLine(key)}`);
  const skipped = set.value.skipped.map(({ kid, reason }) => `skip ${kid ?? '(no kid)'}: ${reason}`);
  return { passed: true, lines: [...keys, ...skipped] };
}

function reportLines(check: IssuerCheck): readonly string[] {
  return [
    ...(check.discoveryUrl === null ? [] : [`discovery ${check.discoveryUrl}`]),
    ...(check.discoveredIssuer === null ? [] : [`issuer    ${check.discoveredIssuer}`]),
    ...(check.jwksUrl === null ? [] : [`jwks      ${check.jwksUrl}`]),
    ...check.keys.map((key) => `key       ${keyLine(key)}`),
    ...check.skipped.map(({ kid, reason }) => `skip      ${kid ?? '(no kid)'}: ${reason}`),
    ...(check.passed && check.jwksUrl !== null ? [`refresh   ${refreshLine(check)}`] : []),
    check.failure === null ? 'ok' : `FAIL ${check.failure.detail}`,
  ];
}

/** The thumbprint is what shows that two issuers have one key; `kid`s prove nothing either way. */
function keyLine({ kid, algorithms, thumbprint }: IssuerCheck['keys'][number]): string {
  return `${kid ?? '(no kid)'}  ${algorithms.join(' ')}  thumbprint ${thumbprint}`;
}

/** When the server would fetch these keys again, at the latest. */
function refreshLine({ maxAgeSeconds }: IssuerCheck): string {
  const said = maxAgeSeconds === null ? 'the answer names no max-age' : `the answer says max-age=${maxAgeSeconds}`;
  return `after ${refreshDelaySeconds(maxAgeSeconds, 0)} s at the latest: ${said}`;
}
