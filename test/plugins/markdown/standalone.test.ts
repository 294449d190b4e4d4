import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

test('a program that only awaits a rendered text gets it and exits by itself', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [
    join(import.meta.dirname, 'fixtures/waits.ts'),
    'Sealed with **tar**',
  ]);
  expect(stdout).toContain('<strong>tar</strong>');
});
