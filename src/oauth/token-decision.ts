/**
 * From a token request to its grant, for all three shapes. They differ in where the proof stands and in the answer to a
 * bad one; the verification, the bindings and the decision are the same.
 *
 * A client may authenticate beside an assertion or a subject token (RFC 7521 §4.1, RFC 8693 §2.1). It must then be the
 * client that the proof is bound to: a client that gets hold of another's proof gains nothing with it.
 */
import type { AssertionFacts } from '../assertion/verification-trace.ts';
import type { VerifiedWorkload } from '../assertion/verified-workload.ts';
import type { Client } from '../issuance/client.ts';
import { admitActor, type Delegator, mayHaveActor } from '../issuance/delegation.ts';
import {
  type AccessRequest,
  type Delegation,
  decideGrant,
  type Grant,
  type GrantRefusal,
  grantOnTerms,
} from '../issuance/grant.ts';
import { delegatorOf, ownTokenTerms, readOwnSubject, saysItIsOurs } from '../issuance/own-token-exchange.ts';
import { resourcesOfAudiences } from '../issuance/resource.ts';
import type { SigningKeyRing } from '../issuance/signing-key-ring.ts';
import type { TokenStatusPorts } from '../issuance/token-status.ts';
import { err, ok, type Result } from '../result.ts';
import { type AuthenticationPorts, authenticateClient } from './authenticate-client.ts';
import type { ClientCredentials } from './client-credentials.ts';
import type { ProofRole } from './oauth-error.ts';
import type { ProofOutcome, ProofStop } from './proof-outcome.ts';
import type { TokenRequest } from './token-request.ts';
import { verifyProof } from './verify-proof.ts';

/** Longest life of an exchanged token, in seconds: it is made for one errand, and has left the hands it was made for. */
const MAX_EXCHANGED_LIFETIME_SECONDS = 900;

export type TokenDecisionPorts = {
  readonly ownIssuer: string;
  readonly authentication: AuthenticationPorts;
  /** For access tokens of ours as subject tokens. */
  readonly tokenStatus: TokenStatusPorts;
  readonly signingKeys: Pick<SigningKeyRing, 'published'>;
};

type Exchange = Extract<TokenRequest, { grantType: 'token_exchange' }>;
type Decision = Result<Grant, ProofStop>;
type RequestTime = { readonly requestId: string; readonly now: number };

/** The proof that a grant of this request rests on. */
const ROLE_OF = {
  client_credentials: 'client_authentication',
  jwt_bearer: 'assertion',
  token_exchange: 'subject_token',
} as const satisfies Record<TokenRequest['grantType'], ProofRole>;

/** Decides one request. Rejects only on faults. */
export async function decideTokenRequest(
  ports: TokenDecisionPorts,
  request: TokenRequest,
  credentials: ClientCredentials,
  time: RequestTime,
): Promise<ProofOutcome<Grant>> {
  const decision = new TokenDecision(ports, request, credentials, time);
  const result = await decision.decide();
  const { facts } = decision;
  return result.ok
    ? { kind: 'accepted', role: ROLE_OF[request.grantType], granted: result.value, facts }
    : { ...result.error, facts };
}

class TokenDecision {
  readonly facts = new Map<ProofRole, AssertionFacts>();
  readonly #ports: TokenDecisionPorts;
  readonly #request: TokenRequest;
  readonly #credentials: ClientCredentials;
  readonly #time: RequestTime;

  constructor(ports: TokenDecisionPorts, request: TokenRequest, credentials: ClientCredentials, time: RequestTime) {
    this.#ports = ports;
    this.#request = request;
    this.#credentials = credentials;
    this.#time = time;
  }

  decide(): Promise<Decision> {
    const request = this.#request;
    switch (request.grantType) {
      case 'client_credentials':
        return this.#authenticate((client, workload) => this.#grant(client, workload));
      case 'jwt_bearer':
        return this.#maybeAuthenticated((client) =>
          this.#verify('assertion', request.assertion, this.#expectedClient(client), (workload) =>
            this.#grant(workload.client, workload),
          ),
        );
      case 'token_exchange':
        return this.#maybeAuthenticated((client) => this.#exchange(request, client));
    }
  }

  #authenticate(
    authorize: (client: Client, workload: VerifiedWorkload<Client> | null) => Promise<Decision>,
  ): Promise<Decision> {
    return authenticateClient(this.#ports.authentication, this.#credentials, this.#time, this.facts, authorize);
  }

  /** The client first (RFC 6749 §3.2.1), where the request authenticates one. */
  #maybeAuthenticated(next: (client: Client | null) => Promise<Decision>): Promise<Decision> {
    return this.#credentials.method === 'none' ? next(null) : this.#authenticate(next);
  }

  #expectedClient(authenticated: Client | null): string | null {
    return authenticated === null ? this.#credentials.clientId : authenticated.clientId;
  }

  #verify(
    role: ProofRole,
    text: string,
    clientId: string | null,
    authorize: (workload: VerifiedWorkload<Client>) => Promise<Decision>,
  ): Promise<Decision> {
    const presented = { role, text, clientId, ...this.#time };
    return verifyProof(this.#ports.authentication.verification, presented, this.facts, authorize);
  }

  #exchange(request: Exchange, client: Client | null): Promise<Decision> {
    const { subjectToken } = request;
    if (request.isAccessToken && saysItIsOurs(subjectToken, this.#ports.ownIssuer)) {
      return this.#exchangeOwn(request, client);
    }
    return this.#verify('subject_token', subjectToken, this.#expectedClient(client), (subject) =>
      this.#delegate(
        request,
        {
          client: subject.client,
          allowedActors: subject.binding.allowedActors ?? [],
          priorActors: [],
          assertion: subject,
        },
        (delegation) => this.#grant(subject.client, subject, delegation),
      ),
    );
  }

  async #exchangeOwn(request: Exchange, client: Client | null): Promise<Decision> {
    const { ownIssuer, signingKeys, tokenStatus } = this.#ports;
    const context = { keys: await signingKeys.published(), ownIssuer, now: this.#time.now };
    const read = await readOwnSubject(tokenStatus, request.subjectToken, client, context);
    if (!read.ok) {
      this.facts.set('subject_token', { iss: ownIssuer });
      return err({ kind: 'refused', role: 'subject_token', refusal: read.error });
    }
    const { claims, standing } = read.value;
    this.facts.set('subject_token', {
      iss: ownIssuer,
      jti: claims.jti,
      exp: claims.exp,
      clientId: claims.client_id,
      ...(claims.workload !== undefined && { subject: claims.workload.subject }),
      ...(standing.trustedIssuer !== null && { trustedIssuer: standing.trustedIssuer }),
      ...(standing.binding !== null && { bindingId: standing.binding.id }),
    });
    const delegator = delegatorOf(read.value);
    return this.#delegate(request, delegator, (delegation) =>
      this.#decide(standing.client, (access) => {
        const { actors, actor } = delegation ?? { actors: delegator.priorActors, actor: null };
        const terms = ownTokenTerms(read.value, actors, actor);
        return grantOnTerms(standing.client, terms, access, ownIssuer, this.#time.now);
      }),
    );
  }

  /** Admits the actor, where the request has one. */
  async #delegate(
    { actorToken }: Exchange,
    delegator: Delegator,
    grant: (delegation: Delegation | null) => Promise<Decision>,
  ): Promise<Decision> {
    if (actorToken === null) return grant(null);
    const possible = mayHaveActor(delegator);
    if (!possible.ok) return err({ kind: 'refused', role: 'actor_token', refusal: possible.error });
    return this.#verify('actor_token', actorToken, null, async (actor) => {
      const actors = admitActor(delegator, actor);
      return actors.ok
        ? grant({ actor, actors: actors.value })
        : err({ kind: 'refused', role: 'actor_token', refusal: actors.error });
    });
  }

  #grant(
    client: Client,
    workload: VerifiedWorkload<Client> | null,
    delegation: Delegation | null = null,
  ): Promise<Decision> {
    return this.#decide(client, (access) =>
      decideGrant(client, workload, access, this.#ports.ownIssuer, this.#time.now, delegation),
    );
  }

  async #decide(client: Client, decide: (access: AccessRequest) => Result<Grant, GrantRefusal>): Promise<Decision> {
    const role = ROLE_OF[this.#request.grantType];
    const access = await this.#access(client);
    const granted = access.ok ? decide(access.value) : access;
    return granted.ok ? ok(granted.value) : err({ kind: 'denied', role, denial: granted.error });
  }

  async #access(client: Client): Promise<Result<AccessRequest, GrantRefusal>> {
    const request = this.#request;
    const { scope, resources } = request;
    if (request.grantType !== 'token_exchange') return ok({ scope, resources });
    const { ownIssuer, authentication } = this.#ports;
    const named = await resourcesOfAudiences(request.audiences, client, ownIssuer, authentication.clients);
    if (!named.ok) return err({ error: 'invalid_target', detail: named.error });
    return ok({
      scope,
      resources: [...resources, ...named.value],
      maxLifetimeSeconds: MAX_EXCHANGED_LIFETIME_SECONDS,
    });
  }
}
