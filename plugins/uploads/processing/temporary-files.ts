import { rm } from 'node:fs/promises';
import type { Request } from 'parley-forum';
import { fileProblem } from './signature-check.ts';

/**
 * Removes a temporary file when its request ends, unless it was moved away by then. If the connection is already
 * closed, removes it at once and throws.
 */
export function removeWithRequest({ res }: Request, path: string): void {
  const remove = (): void => void rm(path, { force: true }).catch(() => undefined);
  if (res && !res.closed) return void res.once('close', remove);
  remove();
  throw fileProblem('was interrupted');
}
