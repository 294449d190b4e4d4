import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

test('a program that waits for a text alone gets it, and ends by itself', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [
    join(import.meta.dirname, 'fixtures/waits.ts'),
    'Sealed with **tar**',
  ]);
  expect(stdout).toContain('<strong>tar</strong>');
});
