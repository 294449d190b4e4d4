import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { logFormat } from '../../core/host/logger.ts';

const run = promisify(execFile);
const LOGGER = resolve(import.meta.dirname, '../../core/host/logger.ts');

/** The line that a separate process logs for `expression`. */
async function line(expression: string): Promise<Record<string, any>> {
  const program = `import { createLogger } from ${JSON.stringify(LOGGER)}; createLogger({ format: 'json' }).error(${expression}, 'it failed');`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program]);
  return JSON.parse(stdout) as Record<string, any>;
}

test('a failed statement is logged without its values', async () => {
  const values = `{ code: '23502', table: 'account', query: "insert 'HASH'", params: ['HASH'], detail: 'Failing row contains (HASH)', where: 'parameter HASH' }`;
  const { error, msg } = await line(
    `{ error: Object.assign(new Error('null value'), ${values}, { previous: Object.assign(new Error('inner'), ${values}) }) }`,
  );
  expect(JSON.stringify(error)).not.toContain('HASH');
  expect([msg, error.message, error.code, error.table, error.previous.code]).toEqual([
    'it failed',
    'null value',
    '23502',
    'account',
    '23502',
  ]);
  expect(error.stack).toContain('null value');
});

test('fields that contain secrets are replaced', async () => {
  const { body } = await line(`{ body: { password: 'HASH', token: 'HASH', name: 'ada' } }`);
  expect(body).toEqual({ password: '[secret]', token: '[secret]', name: 'ada' });
});

test('anything that was thrown can be logged', async () => {
  const cyclic = `(() => { const [a, b] = [new Error('first'), new Error('second')]; a.cause = b; b.cause = a; a.self = a; return a; })()`;
  for (const [thrown, error] of [
    [cyclic, expect.objectContaining({ message: expect.stringContaining('first') })],
    [`Object.defineProperty(new Error('hidden'), 'stack', { get() { throw new Error(); } })`, { message: 'hidden' }],
    [`Object.assign(new Error('counted'), { stack: 5 })`, expect.objectContaining({ message: 'counted' })],
    [`Object.create(null)`, {}],
  ] as const)
    expect((await line(`{ error: ${thrown} }`)).error, thrown).toEqual(error);
});

test('causes are appended to a message that does not include them', async () => {
  const chain = (outer: string) => line(`{ error: new Error('${outer}', { cause: new Error('the disk is full') }) }`);
  expect((await chain('it could not be written')).error.message).toBe('it could not be written: the disk is full');
  expect((await chain('it could not be written, as the disk is full')).error.message).toBe(
    'it could not be written, as the disk is full',
  );
});

test('the format is JSON except on a terminal, in development, or if the environment specifies another', async () => {
  expect([logFormat(undefined), logFormat(undefined, true), logFormat('json', true), logFormat('text')]).toEqual([
    'json',
    'text',
    'json',
    'text',
  ]);
  const program = `import { createLogger } from ${JSON.stringify(LOGGER)}; createLogger({ format: 'text' }).info({ boats: 2 }, 'moored');`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program]);
  expect(stdout).toMatch(/^\[\d\d:\d\d:\d\d\] INFO: moored\n {4}boats: 2\n$/);
});
