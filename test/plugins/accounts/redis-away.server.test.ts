import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Accounts } from 'parley-forum/plugins/accounts';
import { startForum, type Client, type TestForum } from 'parley-forum/testing';
import { openProxy, type RedisProxy } from '../cache/redis-proxy.ts';

const PASSWORD = 'Plain-Sailing-42';
const JSON_ONLY = { accept: 'application/json' };

let line: RedisProxy;
let near: TestForum;
let far: TestForum;
let member: Client;
beforeAll(async () => {
  line = await openProxy(process.env['TEST_REDIS_URL']!);
  far = await startForum({ realClock: true });
  near = await startForum({
    realClock: true,
    environment: {
      databaseUrl: far.app.environment.databaseUrl,
      redisUrl: line.url,
      secretKey: far.app.environment.secretKey,
    },
  });
  await far.app
    .service(Accounts)
    .create({ username: 'ada', email: 'ada@forum.test', password: PASSWORD, groupId: 'member' });
  member = near.client();
  await member.login('ada', PASSWORD);
});
afterAll(async () => {
  await near[Symbol.asyncDispose]();
  await far[Symbol.asyncDispose]();
  line.close();
});

/** The same session in the other process. */
async function elsewhere(): Promise<Client> {
  const client = far.client({ cookie: [...member.cookies].map(([name, value]) => `${name}=${value}`).join('; ') });
  await client.csrf('/');
  return client;
}
const settings = async (client: Client): Promise<number> =>
  (await client.get('/settings/security', { accept: 'text/html' })).status;

describe('a session while Redis is unavailable', () => {
  it('serves reads, refuses writes, and is the same afterwards', async () => {
    expect(await settings(member)).toBe(200);
    line.cut();
    expect(await settings(member)).toBe(200);
    const refused = await member.post('/api/discussions', {
      title: 'By session',
      content: 'x',
      category_id: 'general',
    });
    expect([refused.status, refused.headers.get('retry-after'), refused.body.code]).toEqual([503, '5', 'unavailable']);
    line.mend();
    await expect
      .poll(
        async () =>
          (await member.post('/api/discussions', { title: 'By session', content: 'x', category_id: 'general' })).status,
        { timeout: 10_000 },
      )
      .toBe(201);
    expect(await settings(member)).toBe(200);
  });

  it('is not trusted by a process that has not seen it before', async () => {
    const other = far.client();
    await other.login('ada', PASSWORD);
    line.cut();
    const here = near.client({ cookie: [...other.cookies].map(([name, value]) => `${name}=${value}`).join('; ') });
    expect(await settings(here)).toBe(503);
    line.mend();
    await expect.poll(() => settings(here), { timeout: 10_000 }).toBe(200);
  });

  it('that was ended by another process before is invalid here too', async () => {
    expect(await settings(member)).toBe(200);
    const logout = await (await elsewhere()).post('/logout', undefined, JSON_ONLY);
    expect(logout.status).toBe(200);
    line.cut();
    expect(await settings(member)).toBe(503);
    line.mend();
    await expect.poll(() => settings(member), { timeout: 10_000 }).toBe(303);
  });

  it('of a member who is disabled is invalid at once, because the database has the status', async () => {
    member = near.client();
    await member.login('ada', PASSWORD);
    expect(await settings(member)).toBe(200);
    line.cut();
    const { id } = (await far.app.service(Accounts).findByIdentifier('ada'))!;
    await far.app.service(Accounts).setStatus(id, 'disabled');
    expect(await settings(member)).toBe(503);
    line.mend();
  });
});
