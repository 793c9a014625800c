/** Where a request came from: its id and address, for the audit record and the answer's header. */
import { randomUUID } from 'node:crypto';
import type { NextFunction, Request, Response } from 'express';
import type { RequestOrigin } from './decision-record.ts';

const REQUEST_ID_HEADER = 'x-request-id';

/** Express middleware: gives every answer a request id of our own making; what the caller sends is not believed. */
export function assignRequestId(_request: Request, response: Response, next: NextFunction): void {
  response.setHeader(REQUEST_ID_HEADER, randomUUID());
  next();
}

/** The id that `assignRequestId` gave. */
export function requestIdOf(response: Response): string {
  return String(response.getHeader(REQUEST_ID_HEADER));
}

/** The origin of a request that arrived at `now`. */
export function requestOrigin(request: Request, response: Response, now: number): RequestOrigin {
  return {
    requestId: requestIdOf(response),
    now,
    ipAddress: request.socket.remoteAddress ?? null,
    userAgent: request.headers['user-agent'] ?? null,
  };
}
