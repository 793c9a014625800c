/** What every resolver knows of the request. */
import type { WriteOrigin } from '../registry/write-audit.ts';

/** Also the origin that the registry records with each write. */
export type AdminContext = WriteOrigin & Record<string, unknown>;
