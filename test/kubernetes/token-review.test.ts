/** What an answer to a TokenReview is worth: one good answer, then one change each. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readTokenReview, tokenReviewRequest } from '../../src/kubernetes/token-review.ts';
import { sharedJson } from '../fixtures/shared-material.ts';

const AUDIENCE = 'https://as.example.com';
const ASSERTION = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJjYW5hcnkifQ.c2lnbmF0dXJlLWNhbmFyeQ';
const BEARER = 'reviewer-credential-canary';
const SECRETS = [ASSERTION, BEARER];

const USER = {
  username: 'system:serviceaccount:edge-system:edge-worker',
  uid: '11111111-1111-4111-8111-111111111111',
  groups: ['system:serviceaccounts'],
  extra: {
    'authentication.kubernetes.io/credential-id': ['JTI=55555555-5555-4555-8555-555555555555'],
    'authentication.kubernetes.io/node-name': ['node-1'],
    'authentication.kubernetes.io/pod-uid': ['22222222-2222-4222-8222-222222222222'],
  },
};
const STATUS = { authenticated: true, user: USER, audiences: [AUDIENCE] };
const YES = {
  kind: 'authenticated',
  username: USER.username,
  uid: USER.uid,
  podUid: '22222222-2222-4222-8222-222222222222',
  nodeName: 'node-1',
  credentialId: 'JTI=55555555-5555-4555-8555-555555555555',
};

function read(document: unknown, status = 201, audiences: readonly string[] = [AUDIENCE]) {
  return readTokenReview({ status, document, retryAfterSeconds: null }, audiences, SECRETS);
}
const reviewOf = (status: unknown) => ({ kind: 'TokenReview', apiVersion: 'authentication.k8s.io/v1', status });
const readStatus = (status: unknown) => read(reviewOf(status));
const userWith = (members: object) => ({ ...STATUS, user: { ...USER, ...members } });
const extraWith = (name: string, value: unknown) =>
  userWith({ extra: { ...USER.extra, [`authentication.kubernetes.io/${name}`]: value } });

it('TRV-01, TRV-03: the request names exactly the audiences that it is given', () => {
  expect(tokenReviewRequest('T', [AUDIENCE])).toEqual({
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenReview',
    spec: { token: 'T', audiences: [AUDIENCE] },
  });
});

describe('a yes', () => {
  it.each([200, 201])('of status %i says whom the cluster knows', (status) => {
    expect(read(reviewOf(STATUS), status)).toEqual({ kind: 'verdict', verdict: YES });
  });

  it('of a cluster before 1.30 names neither node nor credential', () => {
    const extra = { 'authentication.kubernetes.io/pod-uid': [YES.podUid] };
    expect(readStatus(userWith({ extra }))).toEqual({
      kind: 'verdict',
      verdict: { ...YES, nodeName: null, credentialId: null },
    });
  });

  it.each([
    ['no extra', userWith({ extra: undefined })],
    ['an empty extra', userWith({ extra: {} })],
    ['an extra of null, as Go writes it', userWith({ extra: null })],
  ])('with %s names the account alone', (_what, status) => {
    expect(readStatus(status)).toMatchObject({ verdict: { kind: 'authenticated', podUid: null, credentialId: null } });
  });

  it.each([
    ['an empty error', { ...STATUS, error: '' }],
    ['an error of null', { ...STATUS, error: null }],
    ['one of several audiences that we asked for', { ...STATUS, audiences: ['https://second.example.com'] }],
  ])('may have %s', (_what, status) => {
    expect(read(reviewOf(status), 201, [AUDIENCE, 'https://second.example.com'])).toMatchObject({
      verdict: { kind: 'authenticated' },
    });
  });

  it.each([['uid'], ['pod-uid']])('without %s does not name it', (member) => {
    const status = member === 'uid' ? userWith({ uid: '' }) : extraWith(member, []);
    expect(readStatus(status)).toMatchObject({ verdict: { [member === 'uid' ? 'uid' : 'podUid']: null } });
  });
});

const NOT_AUTHENTICATED = 'the cluster does not authenticate the token';
const OTHER_AUDIENCE = 'the cluster authenticates the token, but not for our audience';
const NOBODY = 'the cluster authenticates the token, but names nobody';
const UNREAD = 'the cluster authenticates the token, but its answer names the workload in a form that is not read';

describe('a no', () => {
  it.each<[string, unknown, string]>([
    ['authenticated is absent', { ...STATUS, authenticated: undefined }, NOT_AUTHENTICATED],
    ['authenticated is false', { ...STATUS, authenticated: false }, NOT_AUTHENTICATED],
    ['authenticated is a text', { ...STATUS, authenticated: 'true' }, NOT_AUTHENTICATED],
    ['authenticated is a number', { ...STATUS, authenticated: 1 }, NOT_AUTHENTICATED],
    ['there is no status', undefined, NOT_AUTHENTICATED],
    ['the status is a list', [STATUS], NOT_AUTHENTICATED],
    ['there is an error beside the yes', { ...STATUS, error: 'token expired' }, 'the cluster answers: token expired'],
    [
      'the error is no text',
      { ...STATUS, error: { code: 1 } },
      'the cluster answers with an error in a form that is not read',
    ],
    ['TRV-02: there are no audiences', { ...STATUS, audiences: undefined }, OTHER_AUDIENCE],
    ['TRV-02: the audiences are empty', { ...STATUS, audiences: [] }, OTHER_AUDIENCE],
    ['TRV-02: the audience is another', { ...STATUS, audiences: ['https://other.example.com'] }, OTHER_AUDIENCE],
    ['the audience is longer than ours', { ...STATUS, audiences: [`${AUDIENCE}/`] }, OTHER_AUDIENCE],
    ['the audiences are a text that holds ours', { ...STATUS, audiences: AUDIENCE }, OTHER_AUDIENCE],
    ['there is no user', { ...STATUS, user: undefined }, NOBODY],
    ['there is no username', userWith({ username: undefined }), NOBODY],
    ['the username is empty', userWith({ username: '' }), NOBODY],
    ['the username is no text', userWith({ username: [USER.username] }), NOBODY],
    ['the uid is no text', userWith({ uid: 7 }), UNREAD],
    ['the extra is a list', userWith({ extra: [USER.extra] }), UNREAD],
    ['the pod uid is a text, not a list', extraWith('pod-uid', YES.podUid), UNREAD],
    ['there are two pod uids', extraWith('pod-uid', [YES.podUid, 'other']), UNREAD],
    ['the pod uid is no text', extraWith('pod-uid', [7]), UNREAD],
    ['the node name is an object', extraWith('node-name', { name: 'node-1' }), UNREAD],
    ['there are two credential ids', extraWith('credential-id', ['JTI=a', 'JTI=b']), UNREAD],
    ['the credential id has no end', extraWith('credential-id', ['x'.repeat(1025)]), UNREAD],
  ])('is what it is when %s', (_what, status, detail) => {
    expect(readStatus(status)).toEqual({ kind: 'verdict', verdict: { kind: 'denied', detail } });
  });

  it('keeps the cluster’s words for the admin, in one line and not for ever', () => {
    const error = `[invalid bearer token,\n\u001b[31m service account token has been invalidated]${' x'.repeat(300)}`;
    const review = readStatus({ user: {}, error });
    const detail = review.kind === 'verdict' && review.verdict.kind === 'denied' ? review.verdict.detail : '';
    expect(detail).toMatch(
      /^the cluster answers: \[invalid bearer token, \[31m service account token has been invalidated\]/,
    );
    expect(detail.length).toBeLessThan(230);
  });

  it.each([
    ['the token', ASSERTION],
    ['a part of the token', ASSERTION.split('.')[1]],
    ['the half of a part', ASSERTION.split('.')[2]?.slice(3, 15)],
    ['our credential', BEARER],
    ['somebody else’s key', 'Ab1'.repeat(20)],
  ])('keeps %s out of its detail', (_what, secret) => {
    const error = `bad token "${secret}", uid 11111111-1111-4111-8111-111111111111`;
    expect(readStatus({ user: {}, error })).toEqual({
      kind: 'verdict',
      verdict: {
        kind: 'denied',
        detail: expect.stringMatching(
          /^the cluster answers: bad token "(\[redacted\]\.?)+", uid 11111111-1111-4111-8111-111111111111$/,
        ),
      },
    });
  });
});

describe('no answer at all', () => {
  it.each([
    [401, 'credential_unknown'],
    [403, 'forbidden'],
    [429, 'throttled'],
    [500, 'server_error'],
    [502, 'server_error'],
    [504, 'server_error'],
    [400, 'request_refused'],
    [409, 'request_refused'],
    [413, 'request_refused'],
    [422, 'request_refused'],
    [404, 'unexpected_answer'],
    [202, 'unexpected_answer'],
    [204, 'unexpected_answer'],
  ])('is status %i: %s, whatever is in it', (status, fault) => {
    expect(read(reviewOf(STATUS), status)).toEqual({
      kind: 'fault',
      fault,
      detail: expect.stringContaining(`the API server answered ${status}`),
    });
  });

  it.each([
    ['another kind', { ...reviewOf(STATUS), kind: 'Status' }],
    ['no kind', { status: STATUS }],
    ['a list', [reviewOf(STATUS)]],
    ['a text', 'TokenReview'],
    ['null', null],
  ])('is %s of status 201', (_what, document) => {
    expect(read(document)).toEqual({
      kind: 'fault',
      fault: 'unexpected_answer',
      detail: 'the answer of status 201 is not a TokenReview',
    });
  });
});

it('whatever JSON is answered, only the good answer is a yes', () => {
  const hostile = fc.oneof(fc.jsonValue({ maxDepth: 3 }), fc.constantFrom('__proto__', 'constructor'));
  const orHostile = <T>(value: T) => fc.oneof(fc.constant(value), hostile);
  const document = fc.record({
    kind: orHostile('TokenReview'),
    status: fc.oneof(
      hostile,
      fc.record(
        {
          authenticated: orHostile(true),
          audiences: orHostile([AUDIENCE]),
          error: orHostile(''),
          user: fc.oneof(
            hostile,
            fc.record({ username: orHostile(USER.username), extra: orHostile(USER.extra), uid: orHostile(USER.uid) }),
          ),
        },
        { requiredKeys: [] },
      ),
    ),
  });
  fc.assert(
    fc.property(document, (answer) => {
      const review = read(answer);
      if (review.kind !== 'verdict' || review.verdict.kind !== 'authenticated') return;
      expect(answer).toMatchObject({ kind: 'TokenReview', status: { authenticated: true } });
      expect(Object(answer.status).audiences).toContain(AUDIENCE);
      expect(Object(answer.status).error ?? '').toBe('');
      expect(review.verdict.username).toBe(Object(answer.status).user.username);
    }),
    { numRuns: 500 },
  );
});

type Collected = { readonly id: string; readonly http: number; readonly body: unknown; readonly accept: unknown };
const shared = Object(sharedJson('k8s-fixtures.json') ?? {});
const collected: readonly Collected[] = shared.token_review?.responses ?? [];

describe.skipIf(collected.length === 0)('the collected answers', () => {
  /** Refused by what they name; that is compared with the claims elsewhere. */
  const NAMES_ANOTHER = new Set(['other-subject']);

  it.each(collected.map((response) => [response.id, response] as const))('%s', (id, { http, body, accept }) => {
    // HTML and the like never get as far as here: the POST fails.
    const review = read(typeof body === 'string' ? null : body, http);
    const kind = review.kind === 'fault' ? 'error' : review.verdict.kind === 'authenticated';
    expect(kind).toBe(NAMES_ANOTHER.has(id) ? true : accept === 'error' || http === 400 ? 'error' : accept);
  });
});
