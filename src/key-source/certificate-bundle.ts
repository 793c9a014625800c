/** Whether a text is a bundle of certificates that TLS can use, before it is asked to. */
import { X509Certificate } from 'node:crypto';

/** Node takes unreadable text in `ca` silently and falls back to its own roots for an empty one. */
export function isCertificateBundle(pem: string): boolean {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  try {
    return blocks.map((block) => new X509Certificate(block)).length > 0;
  } catch {
    return false;
  }
}
