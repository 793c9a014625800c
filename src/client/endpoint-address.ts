/**
 * Which addresses a credential may be sent to, and a key set read from: https anywhere, http only on this machine or
 * where the operator said so in as many words. It resolves no names.
 */
import { err, ok, type Result } from '../result.ts';

/**
 * The address as a URL, or what is wrong with it as a sentence that names `setting` and the mend.
 *
 * @param allowInsecure accept http to any host: an in-cluster Service, whose network the operator trusts
 */
export function parseEndpointAddress(setting: string, address: string, allowInsecure: boolean): Result<URL, string> {
  if (!URL.canParse(address)) return err(`${setting} is not a URL`);
  const url = new URL(address);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    return err(`${setting} must be an https URL, not ${url.protocol}`);
  }
  if (url.username !== '' || url.password !== '') return err(`${setting} must not contain credentials`);
  if (url.hash !== '') return err(`${setting} must not have a fragment`);
  if (url.protocol === 'http:' && !allowInsecure && !isLoopback(url.hostname)) {
    return err(
      `${setting} must be https: ${url.host} is not loopback, and allowInsecureEndpoint does not permit plain http`,
    );
  }
  return ok(url);
}

/** The same for a setting of the program: a wrong one is a fault, thrown as a `TypeError` before anything is sent. */
export function requireEndpointAddress(setting: string, address: string, allowInsecure: boolean): URL {
  const parsed = parseEndpointAddress(setting, address, allowInsecure);
  if (!parsed.ok) throw new TypeError(parsed.error);
  return parsed.value;
}

/** Whether a host as `URL.hostname` prints it is this machine. */
function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}
