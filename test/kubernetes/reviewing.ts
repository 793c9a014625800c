/** Online reviews over real connections to a fake API server, with the operator's files in a temporary folder. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApiServerPost } from '../../src/key-source/api-server-post.ts';
import { createApiServerCredentials, credentialsInFolder } from '../../src/kubernetes/api-server-credential.ts';
import type { ReviewedIssuer } from '../../src/kubernetes/ask-cluster.ts';
import {
  type ClusterReviews,
  createOnlineReviews,
  type ReviewDependencies,
  type ReviewEnd,
} from '../../src/kubernetes/online-reviews.ts';
import { type FakeApiServer, REVIEWER_TOKEN, startApiServer } from '../fixtures/api-server.ts';
import { AUDIENCE } from '../fixtures/assertions.ts';
import { TEST_CA_PEM } from '../fixtures/issuer-server.ts';
import { type SettableClock, settableClock } from '../fixtures/settable-clock.ts';

export type Reviewing = {
  readonly api: FakeApiServer;
  readonly reviews: ClusterReviews;
  readonly clock: SettableClock;
  readonly issuer: ReviewedIssuer;
  /** The operator's folder: `west` is a token file, the own pod's is `pod/`. */
  readonly folder: string;
  readonly ends: ReviewEnd[];
  readonly moves: string[];
  close(): Promise<void>;
};

/** Starts both; breakers have no chance in them. */
export async function startReviewing(options: Partial<ReviewDependencies> = {}): Promise<Reviewing> {
  const clock = settableClock();
  const api = await startApiServer(clock);
  const folder = mkdtempSync(join(tmpdir(), 'credentials-'));
  writeFileSync(join(folder, 'west'), `${REVIEWER_TOKEN}\n`);
  const ends: ReviewEnd[] = [];
  const moves: string[] = [];
  const reviews = createOnlineReviews({
    postJson: createApiServerPost({ privateNetworks: ['127.0.0.0/8'], lookup: async () => ['127.0.0.1'] }),
    credentials: createApiServerCredentials(credentialsInFolder(folder), join(folder, 'pod')),
    clock,
    stopwatch: clock,
    jitter: () => 0,
    observer: {
      reviewed: (end) => ends.push(end),
      breakerMoved: (issuer, state) => moves.push(`${issuer.id} ${state}`),
    },
    ...options,
  });
  return {
    api,
    reviews,
    clock,
    folder,
    ends,
    moves,
    issuer: {
      id: 'issuer-1',
      name: 'edge cluster',
      expectedAud: [AUDIENCE],
      allowPrivateNetwork: true,
      keySourceRevision: 1,
      kubernetesApiServerUrl: api.url,
      kubernetesApiServerCaPem: TEST_CA_PEM,
      caPem: null,
      kubernetesApiServerCredential: 'west',
      tokenReviewAudience: null,
    },
    async close() {
      reviews.close();
      await api.close();
      rmSync(folder, { recursive: true });
    },
  };
}
