/** What each parameter of the manifests may hold: text to value, or a problem with its mend. */
import { isLoopbackHost, UnusableSetting } from '../setting-values.ts';

/** DNS-1123, as the API server checks names (k8s.io/apimachinery pkg/util/validation). */
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const MAX_SUBDOMAIN_LENGTH = 253;
const SHARED_NAMESPACES: readonly string[] = ['default', 'kube-system', 'kube-public', 'kube-node-lease'];

/** TokenRequest refuses less (pkg/apis/authentication/validation). */
const MIN_EXPIRATION_SECONDS = 600;
/** The longest lifetime that a trusted issuer may be given here; the kubelet renews a token after a day in any case. */
const MAX_EXPIRATION_SECONDS = 24 * 3600;

/**
 * Letters, marks, digits, punctuation, symbols and spaces. The attack: a line break ends a line of YAML, and YAML 1.1 takes
 * U+0085, U+2028 and U+2029 for one; a control that changes the direction of writing hides what a reviewer should see.
 */
const VISIBLE = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]+$/u;
const MAX_NAME_LENGTH = 253;
const MAX_NAMES = 50;
/** `/`-separated path, then `:tag`, then the digest (github.com/distribution/reference, without its upper-case hosts). */
const IMAGE =
  /^[a-z0-9]+(?:[._-]+[a-z0-9]+)*(?::[0-9]{1,5}(?=\/))?(?:\/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(?:@sha256:[0-9a-f]{64})?$/;
const MAX_LENGTH = 512;

/** Groups to which Kubernetes adds everybody, every workload or every node. */
const EVERYBODY: readonly string[] = [
  'system:authenticated',
  'system:unauthenticated',
  'system:serviceaccounts',
  'system:nodes',
];

export function parseNamespace(text: string): string {
  const mend = 'name a namespace that only the runner is in, for example countersign-runner';
  if (!LABEL.test(text)) throw new UnusableSetting('is not a DNS-1123 label of at most 63 characters', mend);
  // Exec, attach and port-forward are closed for the whole namespace.
  if (SHARED_NAMESPACES.includes(text)) throw new UnusableSetting(`is ${text}, which is not the runner's own`, mend);
  return text;
}

export function parseResourceName(text: string): string {
  if (LABEL.test(text)) return text;
  const mend = 'use lower-case letters, digits and -, for example countersign-runner';
  throw new UnusableSetting('is not a DNS-1123 label of at most 63 characters', mend);
}

export function parseAccountName(text: string): string {
  const mend = 'name an account of its own, for example countersign-runner';
  if (text.length > MAX_SUBDOMAIN_LENGTH || !text.split('.').every((label) => LABEL.test(label))) {
    throw new UnusableSetting('is not a DNS-1123 subdomain of at most 253 characters', mend);
  }
  // A template that names no account gets this one, and then the policies would have nothing to go by.
  if (text === 'default') throw new UnusableSetting('is the account of every pod that names none', mend);
  return text;
}

export function parseImage(text: string): string {
  if (text.length <= MAX_LENGTH && IMAGE.test(text)) return text;
  throw new UnusableSetting(
    'is not an image reference',
    'write it as registry.example.com/countersign:0.1.0, better with @sha256:…',
  );
}

/** Null for an empty text: the metadata says. */
export function parseEndpoint(text: string, allowInsecure: boolean): string | null {
  if (text === '') return null;
  const url = text.length <= MAX_LENGTH && /^https?:\/\/[\x21-\x7E]+$/.test(text) ? URL.parse(text) : null;
  if (url === null || url.username !== '' || url.password !== '' || text.includes('#')) {
    throw new UnusableSetting(
      'is not an https URL without credentials and fragment',
      'write it as https://as.example.com/oauth/token, or leave the flag out',
    );
  }
  if (url.protocol === 'http:' && !allowInsecure && !isLoopbackHost(url.hostname)) {
    throw new UnusableSetting('is plain http', 'use https, or permit it with --allow-insecure-endpoint');
  }
  return text;
}

export function parseAudience(text: string): string {
  if (text.length <= MAX_LENGTH && /^[\x21-\x7E]+$/.test(text) && !/["'\\]/.test(text)) return text;
  throw new UnusableSetting(
    'is not an audience: one to 512 visible ASCII characters without quotes and backslash',
    "set it to one of the trusted issuer's expected_aud, for example https://as.example.com",
  );
}

export function parseExpirationSeconds(text: string): number {
  const seconds = /^[1-9][0-9]{0,5}$/.test(text) ? Number(text) : Number.NaN;
  if (seconds >= MIN_EXPIRATION_SECONDS && seconds <= MAX_EXPIRATION_SECONDS) return seconds;
  throw new UnusableSetting(
    `is not a number of seconds from ${MIN_EXPIRATION_SECONDS}, Kubernetes' minimum, to ${MAX_EXPIRATION_SECONDS}`,
    'set it to 600, and max_token_lifetime_seconds of the trusted issuer to no less',
  );
}

/** User or group names, separated by commas; what is named twice counts once. */
export function parseNames(text: string): readonly string[] {
  const names = text === '' ? [] : text.split(',').map((name) => name.trim());
  if (names.length > MAX_NAMES) {
    throw new UnusableSetting(`has more than ${MAX_NAMES} names`, 'put them into a group and name that');
  }
  const wrong = names.find((name) => name.length > MAX_NAME_LENGTH || !VISIBLE.test(name) || /["'`\\]/.test(name));
  if (wrong !== undefined) {
    throw new UnusableSetting(
      `has ${JSON.stringify(wrong)}, which is not a name of Kubernetes users or groups that can be written here`,
      'name them by up to 253 visible characters without quotes and backslash, separated by commas',
    );
  }
  return [...new Set(names)];
}

/** Groups that are somebody's: not those of all. */
export function parseDeployerGroups(text: string): readonly string[] {
  const groups = parseNames(text);
  const open = groups.find((group) => EVERYBODY.includes(group));
  if (open === undefined) return groups;
  throw new UnusableSetting(`has ${open}, a group that is not chosen`, 'name the group of those who deploy the runner');
}
