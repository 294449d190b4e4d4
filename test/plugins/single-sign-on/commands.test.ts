import { describe, expect, it } from 'vitest';
import { type Console } from 'parley-forum';
import { runCommand } from '../../../core/cli/run-command.ts';
import { settled } from '../audit/settled.ts';
import { nextMail } from '../recovery/forum.ts';
import { JSON_ONLY, LINKED, target, useSignOn } from './forum.ts';

const forum = useSignOn();

async function run(...words: readonly string[]): Promise<readonly string[]> {
  const printed: string[] = [];
  const console: Console = {
    terminal: false,
    columns: 80,
    print: (line) => void printed.push(line),
    progress: () => undefined,
    secret: () => Promise.resolve(undefined),
  };
  await runCommand(forum.forum.app, words, console);
  return printed;
}

describe('the operator commands', () => {
  it('list a member’s linked accounts', async () => {
    forum.elsewhere.people.set('ada there', { email: 'ada@elsewhere.test', email_verified: true });
    await forum.linked('ada', 'ada there');
    const today = new Date().toISOString().slice(0, 10);
    expect(await run('identity', 'list', 'ada')).toEqual([
      `example: ada@elsewhere.test, linked ${today}, not used yet`,
    ]);
    await forum.create('bob');
    expect(await run('identity', 'list', 'bob')).toEqual(['bob has no linked accounts.']);
    await expect(run('identity', 'list', 'nobody')).rejects.toThrow('There is no member "nobody"');
  });

  it('unlink an account, which can no longer log in, with a mail to the member and an audit log entry', async () => {
    const { account, client } = await forum.linked('cleo', 'an intruder');
    expect(await run('identity', 'unlink', 'cleo', 'example')).toEqual(['cleo can no longer log in with example.']);
    expect((await client.get(LINKED, JSON_ONLY)).body.linked_accounts).toEqual([]);
    expect(target(await forum.signOn(forum.visitor(), 'an intruder'))).toBe('/login/link');
    expect((await nextMail(forum.forum, 'cleo@example.org', 1)).headers['subject']).toBe(
      'Your account of Example is no longer linked',
    );
    await settled(forum.forum);
    const { entries } = (await forum.root.get('/admin/audit?action=single-sign-on.unlinked', JSON_ONLY)).body;
    expect(entries[0]).toMatchObject({
      actor: null,
      subject: { id: account.id },
      details: { provider: forum.provider.id, cause: 'operator', by: 'command line' },
    });
  });

  it('report an unknown provider or an account that is not linked', async () => {
    await forum.create('dora');
    await expect(run('identity', 'unlink', 'dora', 'example')).rejects.toThrow(
      'The member has no linked account at this provider',
    );
    await expect(run('identity', 'unlink', 'dora', 'nowhere')).rejects.toThrow('There is no such provider');
  });

  it('refuse to unlink the last way to log in of a member without a password', async () => {
    const client = forum.visitor();
    forum.elsewhere.people.set('hedy', { email: 'hedy@elsewhere.test', email_verified: true });
    await forum.signOn(client, 'hedy');
    await client.csrf('/login/link');
    await client.submit('/register/link', { username: 'hedy' });
    await expect(run('identity', 'unlink', 'hedy', 'example')).rejects.toThrow(
      'The member would no longer be able to log in: they need a password first',
    );
    expect(target(await forum.signOn(forum.visitor(), 'hedy'))).toBe('/');
    await run('user', 'reset-password', 'hedy', '--password', 'Another-harbour-43');
    await run('identity', 'unlink', 'hedy', 'example');
    expect(target(await forum.signOn(forum.visitor(), 'hedy'))).toBe('/login/link');
  });
});
