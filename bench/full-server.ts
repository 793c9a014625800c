/** The whole server on a prepared database file, measured: every step of a token request, nothing left out. */
import { createServer } from 'node:http';
import { createApp } from '../src/app/app.ts';
import { createLog } from '../src/observe/log.ts';
import { serveMeasured } from './measured-process.ts';

const [databaseUrl = '', issuer = ''] = process.argv.slice(2);
const app = await createApp(
  {
    issuer,
    listen: { host: '127.0.0.1', port: 0 },
    databaseUrl,
    adminSecret: null,
    declarativeFile: null,
    privateNetworks: [],
    kubernetesCredentials: null,
    inClusterApiServers: [],
    keyFile: null,
    workers: 1,
    logLevel: 'info',
  },
  { log: createLog('info', () => undefined) },
);
serveMeasured(createServer(app.handler));
