/** The shipped admission policies, evaluated on requests as the API server shapes them. */
import { describe, expect, it } from 'vitest';
import { runnerStream } from '../../src/manifests/runner-manifests.ts';
import { admissionCases } from './admission-cases.ts';
import { denials, readPolicies } from './admission-evaluator.ts';
import { CONTROLLER_MANAGER, DAEMON_SET_CONTROLLER, podCreation } from './admission-requests.ts';
import { ALL_CHANGED, parametersOf } from './runner-parameters.ts';

const DEFAULTS = parametersOf({});
const CHANGED = parametersOf(ALL_CHANGED);

describe.each([
  ['as shipped', DEFAULTS],
  ['with names of its own everywhere', CHANGED],
])('the policies, %s', (_how, parameters) => {
  const yaml = runnerStream(parameters);
  const cases = admissionCases(parameters);

  it.each(cases.filter(({ denied }) => denied.length === 0))('allow: $what', ({ admission }) => {
    expect(denials(yaml, admission)).toEqual([]);
  });

  it.each(cases.filter(({ denied }) => denied.length > 0))('deny: $what', ({ admission, denied }) => {
    expect(denials(yaml, admission)).toEqual(denied);
  });

  it('have no validation that no case trips', () => {
    const messages = readPolicies(yaml).policies.flatMap(({ metadata, spec }) =>
      spec.validations.map(({ message }) => `${metadata.name}: ${message}`),
    );
    const tripped = new Set(cases.flatMap(({ denied }) => denied));
    expect(messages.filter((message) => !tripped.has(message))).toEqual([]);
    expect([...tripped].filter((message) => !messages.includes(message))).toEqual([]);
  });
});

describe('the controllers', () => {
  it.each([DAEMON_SET_CONTROLLER, CONTROLLER_MANAGER])('by default include %s', (user) => {
    expect(DEFAULTS.controllers).toContain(user);
    expect(denials(runnerStream(DEFAULTS), podCreation(DEFAULTS, user))).toEqual([]);
  });

  it.each([DAEMON_SET_CONTROLLER, CONTROLLER_MANAGER])('do not include %s where another is named', (user) => {
    expect(denials(runnerStream(CHANGED), podCreation(CHANGED, user))).toEqual([
      `${CHANGED.namespace}-pods: only the DaemonSet controller may create pods of ServiceAccount ${CHANGED.serviceAccount}`,
    ]);
  });
});

describe('an evaluation that fails', () => {
  it('denies', () => {
    const broken = runnerStream(DEFAULTS).replace("request.?subResource.orValue('')", 'request.subResource');
    expect(denials(broken, podCreation(DEFAULTS))).toEqual([
      expect.stringMatching(/^countersign-runner-pods: expression resulted in error: .*subResource/),
    ]);
  });
});
