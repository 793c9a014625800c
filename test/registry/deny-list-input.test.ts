import { describe, expect, it } from 'vitest';
import { ISSUER_TYPES } from '../../src/assertion/trusted-issuer.ts';
import {
  denyListIssuerProblems,
  denyListWarnings,
  expiryProblems,
  parseDenyListEntryInput,
  parseDenyListEntryUpdate,
} from '../../src/registry/deny-list-input.ts';
import { CLUSTER, DENIAL, PROVIDER } from '../fixtures/rows.ts';
import { NOW } from '../fixtures/settable-clock.ts';

const MINIMAL = { trusted_issuer_id: 'issuer-1', node_name: 'node-1.eu.internal', reason: 'stolen' };
const UID = '22222222-2222-4222-8222-222222222222';
const EXACTLY_ONE = 'name exactly one of subject, node_name, pod_uid, service_account_uid';
const NO_UID = 'must be a uid as Kubernetes writes it: metadata.uid, a UUID in small letters';
type Changes = Readonly<Record<string, unknown>>;
const parse = (changes: object) => parseDenyListEntryInput({ ...MINIMAL, ...changes });

describe('a new deny list entry', () => {
  it('needs an issuer, one member and a reason, and has no end unless one is given', () => {
    expect(parse({})).toEqual({
      ok: true,
      value: {
        trustedIssuerId: 'issuer-1',
        member: 'node_name',
        value: 'node-1.eu.internal',
        reason: 'stolen',
        expiresAt: null,
      },
    });
  });

  it.each<[string, object, object]>([
    ['a subject', { node_name: null, subject: 'a:b c' }, { member: 'subject', value: 'a:b c' }],
    ['a pod', { node_name: '', pod_uid: UID }, { member: 'pod_uid', value: UID }],
    ['an account', { node_name: null, service_account_uid: UID }, { member: 'service_account_uid', value: UID }],
    ['an end', { expires_at: NOW }, { expiresAt: NOW }],
    ['0 as no end', { expires_at: 0 }, { expiresAt: null }],
    ['null as no end', { expires_at: null }, { expiresAt: null }],
    ['a reason of 500 characters', { reason: 'x'.repeat(500) }, { reason: 'x'.repeat(500) }],
  ])('takes %s', (_title, changes, expected) => {
    expect(parse(changes)).toMatchObject({ ok: true, value: expected });
  });

  it.each<[string, object, readonly string[], string]>([
    ['no issuer', { trusted_issuer_id: null }, ['trusted_issuer_id'], 'is required'],
    ['no member', { node_name: null }, [], EXACTLY_ONE],
    ['two members', { pod_uid: UID }, [], EXACTLY_ONE],
    ['no reason', { reason: null }, ['reason'], 'is required'],
    ['a blank reason', { reason: ' ' }, ['reason'], 'must not be empty'],
    ['a reason of 501 characters', { reason: 'x'.repeat(501) }, ['reason'], 'must not be longer than 500 characters'],
    ['a reason of two lines', { reason: 'a\nb' }, ['reason'], 'must not contain control characters'],
    ['a node that is a number', { node_name: 7 }, ['node_name'], 'must be text'],
    [
      'a node pattern',
      { node_name: 'node-*' },
      ['node_name'],
      'no node can have the name "node-*": names match exactly, no wildcards',
    ],
    [
      'a node in capitals',
      { node_name: 'Node-1' },
      ['node_name'],
      'no node can have the name "Node-1": names match exactly, no wildcards',
    ],
    ['a pod by its name', { node_name: null, pod_uid: 'edge-worker-x7k2p' }, ['pod_uid'], NO_UID],
    [
      'a uid in capitals',
      { node_name: null, service_account_uid: 'ABCDEF00-2222-4222-8222-222222222222' },
      ['service_account_uid'],
      NO_UID,
    ],
    ['a date as text', { expires_at: '2027-01-01' }, ['expires_at'], 'must be a whole number from 0 to 253402300799'],
    ['half a second', { expires_at: NOW + 0.5 }, ['expires_at'], 'must be a whole number from 0 to 253402300799'],
    ['milliseconds', { expires_at: NOW * 1000 }, ['expires_at'], 'must be a whole number from 0 to 253402300799'],
    ['an unknown field', { namespace: 'prod' }, ['namespace'], 'unknown field'],
  ])('is refused with %s', (_title, changes, path, message) => {
    expect(parse(changes)).toEqual({ ok: false, error: [{ path, message }] });
  });

  it('is told everything that is wrong at once', () => {
    const parsed = parse({ subject: 's', pod_uid: 'x', reason: '', expires_at: -1 });
    expect(parsed.ok ? [] : parsed.error.map(({ path }) => path.join('.')).toSorted()).toEqual([
      '',
      'expires_at',
      'pod_uid',
      'reason',
    ]);
  });

  it.each(ISSUER_TYPES)('names what workloads of an issuer of type %s have', (issuerType) => {
    const wrong = (['node_name', 'pod_uid', 'service_account_uid'] as const).flatMap((member) =>
      denyListIssuerProblems({ member, value: UID }, issuerType),
    );
    const message = `workloads of issuer_type ${issuerType} have none, only those of kubernetes_sa: name a subject`;
    expect(wrong).toEqual(
      issuerType === 'kubernetes_sa'
        ? []
        : ['node_name', 'pod_uid', 'service_account_uid'].map((member) => ({ path: [member], message })),
    );
  });

  it('names a subject that a workload of its issuer can have', () => {
    const entry = { member: 'subject', value: 'repo:org/repo' } as const;
    expect(denyListIssuerProblems(entry, 'oidc')).toEqual([]);
    expect(denyListIssuerProblems(entry, 'kubernetes_sa')).toEqual([
      {
        path: ['subject'],
        message:
          'no ServiceAccount can have the subject "repo:org/repo": it must be system:serviceaccount:<namespace>:<name>',
      },
    ]);
  });

  it('must still be ahead of its end', () => {
    expect([null, NOW + 1].flatMap((end) => expiryProblems(end, NOW))).toEqual([]);
    const message = `must be in the future (now is ${NOW}); leave it out for an entry without an end`;
    for (const end of [NOW, NOW - 1]) expect(expiryProblems(end, NOW)).toEqual([{ path: ['expires_at'], message }]);
  });
});

describe('warnings', () => {
  const withoutNode = [expect.stringMatching(/^tokens that name no node are not cut: .* set require_node/)];
  const withoutPod = [expect.stringMatching(/^tokens that name no pod are not cut; set require_pod/)];
  it.each([
    ['a node where none is required', 'node_name', CLUSTER, withoutNode],
    ['a node where only a pod is required', 'node_name', { ...CLUSTER, requirePod: true }, withoutNode],
    ['a node where one is required', 'node_name', { ...CLUSTER, requireNode: true }, []],
    ['a pod where none is required', 'pod_uid', CLUSTER, withoutPod],
    ['a pod where one is required', 'pod_uid', { ...CLUSTER, requirePod: true }, []],
    ['a pod where a node is required, which comes with one', 'pod_uid', { ...CLUSTER, requireNode: true }, []],
    ['an account, which every token names', 'service_account_uid', CLUSTER, []],
  ] as const)('of %s', (_title, member, issuer, expected) => {
    expect(denyListWarnings({ member, value: UID }, issuer)).toEqual(expected);
  });

  it('of a subject that looks like a pattern', () => {
    expect(denyListWarnings({ member: 'subject', value: 'repo:*' }, PROVIDER)).toEqual([
      '"repo:*" has a *; subjects match exactly, it is not a wildcard',
    ]);
    const subject = 'system:serviceaccount:prod:default';
    expect(denyListWarnings({ member: 'subject', value: subject }, CLUSTER)).toEqual([]);
  });
});

describe('an update of a deny list entry', () => {
  const current = { ...DENIAL, expiresAt: NOW };

  it.each<[string, Changes, object]>([
    ['nothing', { reason: null, expires_at: null }, { reason: DENIAL.reason, expiresAt: NOW }],
    ['the reason', { reason: 'found' }, { reason: 'found', expiresAt: NOW }],
    ['the end', { expires_at: NOW + 5 }, { reason: DENIAL.reason, expiresAt: NOW + 5 }],
    ['the end to none', { expires_at: 0 }, { reason: DENIAL.reason, expiresAt: null }],
  ])('changes %s', (_title, changes, expected) => {
    expect(parseDenyListEntryUpdate(changes, current)).toEqual({ ok: true, value: expected });
  });

  it.each(['trusted_issuer_id', 'subject', 'node_name', 'pod_uid', 'service_account_uid'])(
    'can not change %s',
    (name) => {
      expect(parseDenyListEntryUpdate({ [name]: 'x' }, current)).toEqual({
        ok: false,
        error: [{ path: [name], message: 'can not be changed: add another entry' }],
      });
    },
  );

  it.each<[string, Changes, string]>([
    ['an empty reason', { reason: '' }, 'reason'],
    ['an unknown field', { managed_by: 'api' }, 'managed_by'],
  ])('is refused with %s', (_title, changes, path) => {
    expect(parseDenyListEntryUpdate(changes, current)).toMatchObject({ ok: false, error: [{ path: [path] }] });
  });
});
