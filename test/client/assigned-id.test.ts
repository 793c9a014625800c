import { describe, expect, it } from 'vitest';
import { readAssignedId } from '../../src/client/assigned-id.ts';
import { anAccessToken } from '../fixtures/access-tokens.ts';

const ID = 'prod-eks/node_7_internal';
const tokenWith = (runnerId: unknown): string =>
  anAccessToken('https://as.example.com').with({ runner_id: runnerId }).build();
const WITHOUT = anAccessToken('https://as.example.com').build();

describe('the id that the server gave', () => {
  it.each<[string, Readonly<Record<string, unknown>>, string, string | null]>([
    ['is a claim of the token', {}, tokenWith(ID), ID],
    ['is a member of the answer', { runner_id: ID }, WITHOUT, ID],
    ['is a member of the answer beside an opaque token', { runner_id: ID }, 'opaque', ID],
    ['is the member where both have one', { runner_id: ID }, tokenWith('other'), ID],
    ['is the claim where the member is none', { runner_id: 7 }, tokenWith(ID), ID],
    ['may be written in any script', {}, tokenWith('Läufer 7 – 東京'), 'Läufer 7 – 東京'],
    ['may have 2048 characters', {}, tokenWith('a'.repeat(2048)), 'a'.repeat(2048)],
    ['is none, not the client_id, where neither has one', { client_id: 'edge-worker' }, WITHOUT, null],
    ['is none where the token is opaque', {}, 'opaque-token', null],
    ['is none where the token is encrypted', {}, `${WITHOUT}.a.b`, null],
    ['is none where the claims are no JSON', {}, 'e30.bm9uZQ.e30', null],
    ['is none where the claims are a list', {}, `e30.${Buffer.from('["runner_id"]').toString('base64url')}.e30`, null],
    ['is none where it is empty', {}, tokenWith(''), null],
    ['is none where it is a number', {}, tokenWith(7), null],
    ['is none where it is a list', {}, tokenWith([ID]), null],
    ['is none where it has a line end', {}, tokenWith(`${ID}\nid: other`), null],
    ['is none where it has a terminal’s escape', {}, tokenWith('\u001b[2J'), null],
    ['is none where it turns the writing round', {}, tokenWith('a\u202eb'), null],
    ['is none where it is too long', {}, tokenWith('a'.repeat(2049)), null],
  ])('%s', (_what, answer, token, id) => {
    expect(readAssignedId(answer, token, 'runner_id')).toBe(id);
  });

  it('is under the claim that is asked for, and nothing that every object has', () => {
    const token = anAccessToken('https://as.example.com').with({ 'https://example.com/id': ID }).build();
    expect(readAssignedId({}, token, 'https://example.com/id')).toBe(ID);
    expect(readAssignedId({}, token, 'runner_id')).toBeNull();
    expect(readAssignedId({}, token, 'constructor')).toBeNull();
  });
});
