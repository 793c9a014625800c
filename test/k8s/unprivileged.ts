/** What every container of ours runs as: nobody, on a read-only file system, without any privilege. */

/** The pod's security context. */
export const NOBODY = {
  runAsNonRoot: true,
  runAsUser: 10001,
  runAsGroup: 10001,
  seccompProfile: { type: 'RuntimeDefault' },
} as const;

/** The container's. */
export const UNPRIVILEGED = {
  allowPrivilegeEscalation: false,
  privileged: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'] },
} as const;
