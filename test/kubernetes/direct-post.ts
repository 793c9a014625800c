/** A TokenReview as anybody could send it, with the whole answer: for tests of the fake API server itself. */
import https from 'node:https';
import { TEST_CA_PEM } from '../fixtures/issuer-server.ts';

/** Status and parsed body. */
export function directPost(
  api: { readonly url: string },
  bearer: string,
  body: unknown,
): Promise<{ readonly status: number; readonly body: unknown }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; body: unknown }>();
  const request = https.request(
    `${api.url}/apis/authentication.k8s.io/v1/tokenreviews`,
    { method: 'POST', ca: TEST_CA_PEM, agent: false, headers: { authorization: `Bearer ${bearer}` } },
    async (response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of response) chunks.push(chunk);
      resolve({ status: response.statusCode ?? 0, body: JSON.parse(Buffer.concat(chunks).toString()) });
    },
  );
  request.once('error', reject).end(JSON.stringify(body));
  return promise;
}
