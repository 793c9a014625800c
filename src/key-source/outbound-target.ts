/** Where an outbound request goes: the URL, read strictly, and the addresses of its host, all of them vetted. */
import { isIP } from 'node:net';
import { err, ok, type Result } from '../result.ts';
import type { AddressPolicy } from './address-policy.ts';
import type { FetchFailure } from './fetch-failure.ts';
import type { Lookup } from './lookup-once.ts';
import { settledBefore } from './settled-before.ts';

export type OutboundTarget = { readonly url: URL; readonly host: string };

/** `new URL` turns every spelling of an IPv4 address (integer, octal, hex, full-width) into the dotted one. */
export function readTarget(text: string, schemes: readonly string[]): Result<OutboundTarget, FetchFailure> {
  const url = URL.parse(text);
  if (url === null) return err({ code: 'url_invalid' });
  const scheme = url.protocol.slice(0, -1);
  if (!schemes.includes(scheme)) return err({ code: 'scheme_refused', scheme });
  if (url.username !== '' || url.password !== '') return err({ code: 'credentials_in_url' });
  return ok({ url, host: url.hostname.replace(/^\[|\]$/g, '') });
}

type Vetting = {
  readonly policy: AddressPolicy;
  readonly lookup: Lookup;
  /** The row's `allow_private_network`. */
  readonly rowConsents: boolean;
  readonly signal: AbortSignal;
};

/** One bad address refuses the name: which of them a connection would take must not matter (DNS rebinding). */
export async function vettedAddresses(
  { url, host }: OutboundTarget,
  { policy, lookup, rowConsents, signal }: Vetting,
): Promise<Result<readonly string[], FetchFailure>> {
  const isPlain = url.protocol === 'http:';
  if (isPlain && (policy.isPublicOnly || !rowConsents)) return err({ code: 'plain_http_refused', host });
  const addresses = isIP(host) === 0 ? await settledBefore(signal, lookup(host)) : [host];
  if (addresses.length === 0) return err({ code: 'dns_failed', host, cause: 'no address' });
  for (const address of addresses) {
    const verdict = policy.judge(address, rowConsents);
    if (!verdict.allowed) {
      return err({ code: 'address_refused', host, address, range: verdict.range, remedy: verdict.remedy });
    }
    if (isPlain && verdict.network !== 'private') return err({ code: 'plain_http_refused', host });
  }
  return ok(addresses);
}
