/** The runner itself: its namespace, its account and the DaemonSet that puts one on every node. */
import type { RunnerParameters } from './runner-parameters.ts';
import { yamlString } from './yaml-text.ts';

const TOKEN_FOLDER = '/var/run/secrets/countersign';

export function namespaceYaml({ namespace }: RunnerParameters): string {
  return `# Of the runner's own: exec and the like are closed in all of it.
apiVersion: v1
kind: Namespace
metadata:
  name: ${yamlString(namespace)}
  labels:
    pod-security.kubernetes.io/enforce: restricted
`;
}

export function serviceAccountYaml({ namespace, serviceAccount }: RunnerParameters): string {
  return `# Its subject, system:serviceaccount:${namespace}:${serviceAccount}, is what has to be bound
# to a client. No role is bound to it: its tokens are not for the API server.
apiVersion: v1
kind: ServiceAccount
metadata:
  name: ${yamlString(serviceAccount)}
  namespace: ${yamlString(namespace)}
automountServiceAccountToken: false
`;
}

export function daemonSetYaml(parameters: RunnerParameters): string {
  const { namespace, serviceAccount, daemonSet, image, audience, expirationSeconds } = parameters;
  return `# The trusted issuer of this cluster needs max_token_lifetime_seconds of ${expirationSeconds} or more, require: { pod: true, node: true },
# and the audience below in expected_aud. The kubelet keeps one token in the file until about 80 % of its life: a container
# that restarts presents the same one again, which assertion_use: once refuses. Choose until_expiry, or accept the wait.
apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: ${yamlString(daemonSet)}
  namespace: ${yamlString(namespace)}
  labels: &labels
    app.kubernetes.io/name: ${yamlString(daemonSet)}
    app.kubernetes.io/component: runner
spec:
  selector:
    matchLabels: *labels
  updateStrategy:
    type: RollingUpdate
    rollingUpdate:
      # The old runner is gone before the new one starts: never two with one node's name.
      maxSurge: 0
      maxUnavailable: 1
  template:
    metadata:
      labels: *labels
    spec:
      serviceAccountName: ${yamlString(serviceAccount)}
      # No token for the API server: the runner has no business there.
      automountServiceAccountToken: false
      enableServiceLinks: false
      # Its tokens are good until this is over.
      terminationGracePeriodSeconds: 10
      nodeSelector:
        kubernetes.io/os: linux
      securityContext:
        runAsNonRoot: true
        runAsUser: 10001
        runAsGroup: 10001
        seccompProfile:
          type: RuntimeDefault
      containers:
        - name: runner
          image: ${yamlString(image)}
          imagePullPolicy: IfNotPresent
          args:
${workerArguments(parameters)
  .map((argument) => `            - ${yamlString(argument)}`)
  .join('\n')}
          ports:
            - name: http
              containerPort: 8081
          securityContext:
            allowPrivilegeEscalation: false
            privileged: false
            readOnlyRootFilesystem: true
            capabilities:
              drop: [ALL]
          livenessProbe:
            httpGet:
              path: /healthz
              port: http
            periodSeconds: 10
            timeoutSeconds: 3
            failureThreshold: 3
          readinessProbe:
            httpGet:
              path: /healthz
              port: http
            periodSeconds: 5
            timeoutSeconds: 3
            failureThreshold: 2
          resources:
            requests:
              cpu: 10m
              memory: 64Mi
              ephemeral-storage: 1Mi
            limits:
              cpu: 200m
              memory: 192Mi
              ephemeral-storage: 16Mi
          volumeMounts:
            # The whole volume: a subPath mount would never see a new token.
            - name: identity
              mountPath: ${TOKEN_FOLDER}
              readOnly: true
      volumes:
        - name: identity
          projected:
            sources:
              - serviceAccountToken:
                  audience: ${yamlString(audience)}
                  expirationSeconds: ${expirationSeconds}
                  path: token
`;
}

function workerArguments(parameters: RunnerParameters): readonly string[] {
  const { issuer, tokenEndpoint, jwksUri, allowInsecureEndpoint } = parameters;
  return [
    'worker',
    `--issuer=${literally(issuer)}`,
    ...(tokenEndpoint === null ? [] : [`--token-endpoint=${literally(tokenEndpoint)}`]),
    ...(jwksUri === null ? [] : [`--jwks-uri=${literally(jwksUri)}`]),
    ...(allowInsecureEndpoint ? ['--allow-insecure-endpoint'] : []),
    `--token-file=${TOKEN_FOLDER}/token`,
    '--listen=0.0.0.0:8081',
    '--interval=30',
  ];
}

/** Kubernetes puts variables of the container in place of $(NAME) in its arguments; $$ is a dollar. */
function literally(text: string): string {
  return text.replaceAll('$', '$$$$');
}
