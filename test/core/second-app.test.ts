import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sql } from 'parley-forum';
import { startForum, type Client, type TestForum } from 'parley-forum/testing';
import { lists } from './fixtures/todo/lists.ts';
import { reminders, Reminders } from './fixtures/todo/reminders.ts';

/** A to-do list made of two plugins: if the kernel knew what it is used for, this would not boot. */
let running: TestForum;
let visitor: Client;
beforeAll(async () => {
  running = await startForum({ plugins: [reminders, lists], realClock: true });
  visitor = running.client();
});
afterAll(() => running[Symbol.asyncDispose]());

const add = (text: string) => fetch(`${running.url}/todo/`, { method: 'POST', body: text });

describe('a second application on the same kernel', () => {
  test('has its own surface, table, hook and jobs', async () => {
    expect((await add('buy varnish')).status).toBe(201);
    expect((await visitor.get('/todo')).body).toEqual([{ id: 1, text: 'buy varnish' }]);
    expect((await visitor.get('/todo/count')).body).toBe(1);
    expect(running.app.service(Reminders).heard).toEqual(['buy varnish']);
    await expect.poll(() => running.app.service(Reminders).said, { timeout: 10_000 }).toEqual(['buy varnish']);
  });

  test('refuses input with its own error format, and then stores and emits nothing', async () => {
    const refused = await add('x'.repeat(21));
    expect([refused.status, await refused.json()]).toEqual([400, { problem: 'text: is empty or too long' }]);
    expect(running.app.service(Reminders).heard).not.toContain('x'.repeat(21));
    expect((await visitor.get('/todo/count')).body).toBe(1);
  });

  test('implements its own authorization', async () => {
    expect((await visitor.delete('/todo/1')).status).toBe(403);
    expect((await visitor.delete('/todo/1', { authorization: 'ada' })).body).toEqual({ done: true });
    expect((await visitor.get('/todo')).body).toEqual([]);
  });

  test('has settings that take effect immediately', async () => {
    await running.app.settings.set({ 'lists.longest': 40 });
    expect((await add('y'.repeat(30))).status).toBe(201);
  });

  test('can disable one plugin and keep the other with its data', async () => {
    await running.app.plugins.disable('reminders');
    expect((await visitor.get('/todo/count')).status).toBe(405);
    expect((await visitor.delete('/todo/2', { authorization: 'ada' })).status).toBe(403);
    expect((await visitor.get('/todo')).body).toHaveLength(1);
    await running.app.plugins.enable('reminders');
    expect((await visitor.get('/todo/count')).body).toBe(1);
  });

  test('is uninstalled without a trace', async () => {
    await running.app.plugins.disable('lists');
    await running.app.plugins.uninstall('lists');
    expect(await running.app.data.all(sql`select 1 from pg_tables where tablename = 'todo_item'`)).toEqual([]);
    expect((await visitor.get('/todo')).text).toBe('There is no route for GET here.\n');
  });
});
