import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { Data, sealedStores, Secrets, sql } from 'parley-forum';
import { Accounts } from 'parley-forum/plugins/accounts';
import { Mail } from 'parley-forum/ports/mail';
import { startForum, type TestForum } from 'parley-forum/testing';
import { runCommand } from '../../../core/cli/run-command.ts';
import { mailsOf, startMailServer, type MailServer } from './forum.ts';

const TIMEOUT = { timeout: 20_000, interval: 50 };
let app: TestForum;
let server: MailServer;
let mail: Mail;
let data: Data;
/** Restarts the forum with this mail server. */
const smtp = async (smtpUrl: string): Promise<void> => {
  await app[Symbol.asyncDispose]();
  app = await startForum({ environment: { smtpUrl, mailFrom: 'quay@forum.test' } });
  [mail, data] = [app.app.service(Mail), app.app.service(Data)];
};
const refusals = () =>
  data.all(sql<{ refusal: number }>`select refusal from mail_message where refusal is not null order by refusal`);

beforeAll(async () => {
  [app, server] = [await startForum(), await startMailServer()];
  [mail, data] = [app.app.service(Mail), app.app.service(Data)];
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await server.close();
});

describe('without a server', () => {
  test('each mail is written to a file, as plain text and HTML', async () => {
    const made = {
      language: 'de',
      title: 'Grüße <b>',
      paragraphs: ['Tom & Jerry'],
      action: { label: 'Open', href: 'http://forum.test/d/1?a=1&b=2' },
      reason: 'You asked.',
      end: { label: 'Stop', href: 'http://forum.test/stop' },
    };
    await mail.send({
      to: 'ada@forum.test',
      subject: 'Hello\r\nBcc: eve@forum.test',
      content: made,
      unsubscribe: 'http://forum.test/stop',
      thread: 'knots',
    });
    await vi.waitFor(async () => expect(await mailsOf(app)).toHaveLength(1), TIMEOUT);
    const [{ headers, body } = { headers: {}, body: '' }] = await mailsOf(app);
    expect(headers).toMatchObject({
      to: 'ada@forum.test',
      from: 'Test forum <noreply@forum.test>',
      'in-reply-to': '<thread.knots@forum.test>',
      references: '<thread.knots@forum.test>',
      'list-id': '<forum.test>',
      'list-unsubscribe': '<http://forum.test/stop>',
      'list-unsubscribe-post': 'List-Unsubscribe=One-Click',
      'auto-submitted': 'auto-generated',
      date: 'Thu, 15 Jan 2026 12:00:00 +0000',
    });
    expect(headers).not.toHaveProperty('bcc');
    expect(body).toContain('Grüße <b>\r\n\r\nTom & Jerry');
    expect(body).toContain('<html lang="de">');
    expect(body).toContain('<p style="margin:0 0 16px" dir="auto">Tom &amp; Jerry</p>');
    expect(body).toContain('href="http://forum.test/d/1?a=1&amp;b=2"');
  });

  test('mails with the same key are sent once, and many mails cost no more SQL statements than one', async () => {
    const before = (await mailsOf(app)).length;
    const some = (count: number) =>
      Array.from({ length: count }, (_, at) => ({
        to: `m${at}@forum.test`,
        subject: 'Many',
        content: 'x',
        key: `many:${at}`,
      }));
    const one = await app.statements(() => mail.send(...some(1)));
    await vi.waitFor(async () => expect((await mailsOf(app)).length).toBe(before + 1), TIMEOUT);
    expect(await app.statements(() => mail.send(...some(5)))).toBe(one);
    await mail.send(...some(5));
    await vi.waitFor(async () => expect((await mailsOf(app)).length).toBe(before + 5), TIMEOUT);
  });

  test('a mail from a rolled-back transaction is not sent', async () => {
    const before = (await mailsOf(app)).length;
    const failing = data.transaction(async () => {
      await mail.send({ to: 'ada@forum.test', subject: 'Never', content: 'x', key: 'never' });
      throw new Error('on purpose');
    });
    await expect(failing).rejects.toThrow('on purpose');
    await mail.send({ to: 'ada@forum.test', subject: 'After all', content: 'x', key: 'never' });
    await vi.waitFor(
      async () =>
        expect((await mailsOf(app)).slice(before).map(({ headers }) => headers['subject'])).toEqual(['After all']),
      TIMEOUT,
    );
  });
});

describe('with a server', () => {
  beforeAll(() => smtp(server.url));

  test('mails are sent to it, from the address set in the environment', async () => {
    await mail.send({ to: 'ada@forum.test', subject: 'Over the wire', content: '.begins with a full stop' });
    await vi.waitFor(
      () => expect(server.received.map(({ headers }) => headers['subject'])).toEqual(['Over the wire']),
      TIMEOUT,
    );
    expect(server.received[0]?.headers['from']).toBe('Test forum <quay@forum.test>');
  });

  test('a temporarily refused mail is sent once the server accepts it', async () => {
    server.answers = { 'RCPT TO': '450 4.2.1 <ada@forum.test> come back' };
    await mail.send({ to: 'ada@forum.test', subject: 'Patience', content: 'x' });
    await vi.waitFor(
      async () =>
        expect(await data.all(sql`select error from job where listener = 'mail/job:deliver'`)).toEqual([
          { error: 'the mail server refused delivery for now (450)' },
        ]),
      TIMEOUT,
    );
    server.answers = {};
    await vi.waitFor(() => expect(server.received.at(-1)?.headers['subject']).toBe('Patience'), TIMEOUT);
    expect(await refusals()).toEqual([]);
  });

  test('a permanently refused mail is given up', async () => {
    server.answers = { 'RCPT TO': '550 5.1.1 <nobody@forum.test> unknown' };
    await mail.send({ to: 'nobody@forum.test', subject: 'Nobody there', content: 'x' });
    await vi.waitFor(async () => expect(await refusals()).toEqual([{ refusal: 550 }]), TIMEOUT);
    server.answers = {};
    await vi.waitFor(
      async () => expect(await data.all(sql`select 1 from job where listener = 'mail/job:deliver'`)).toEqual([]),
      TIMEOUT,
    );
  });

  test('a mail with a refused sender waits, as the forum itself is at fault', async () => {
    server.answers = { 'MAIL FROM': '553 not you' };
    await mail.send({ to: 'ada@forum.test', subject: 'Mended', content: 'x' });
    await vi.waitFor(
      async () =>
        expect(await data.all(sql`select error from job where listener = 'mail/job:deliver'`)).toEqual([
          { error: 'the mail server refused delivery for now (553)' },
        ]),
      TIMEOUT,
    );
    server.answers = {};
    await vi.waitFor(() => expect(server.received.at(-1)?.headers['subject']).toBe('Mended'), TIMEOUT);
  });
});

test('addresses and texts do not appear in any log, job or table', async () => {
  await smtp('smtp://127.0.0.1:1');
  await mail.send({ to: 'secret@forum.test', subject: 'Secret', content: 'A secret link' });
  await vi.waitFor(
    async () =>
      expect(await data.all(sql`select error from job where listener = 'mail/job:deliver'`)).toEqual([
        { error: expect.stringContaining('could not be reached') },
      ]),
    TIMEOUT,
  );
  const kept = JSON.stringify([
    await data.all(sql`select * from job`),
    await data.all(sql`select * from mail_message`),
    app.lines,
  ]);
  for (const word of ['secret@', 'secret link', 'ada@forum.test', 'Patience']) expect(kept).not.toContain(word);
});

test('pending mails are sealed again when the root secret is replaced', async () => {
  const secrets = app.app.service(Secrets);
  const waiting = () => data.all(sql<{ sealed: string }>`select sealed from mail_message where sealed is not null`);
  const before = await waiting();
  const store = app.app.extensions.read(sealedStores).find(({ plugin }) => plugin === 'mail');
  await data.transaction(() => store!.value.reseal((sealed) => secrets.seal(secrets.open(sealed))));
  const after = await waiting();
  expect(after).not.toEqual(before);
  expect(JSON.parse(secrets.open(after[0]!.sealed))).toMatchObject({ to: 'secret@forum.test' });
});

test('a mail server stored by an earlier version is ignored, and startup logs which variable replaces it', async () => {
  await using before = await startForum();
  await before.app.data.all(
    sql`insert into setting (key, value) values ('mail.smtp_url', '"v1.sealed"'), ('security.trusted_proxies', '["10.0.0.1"]'), ('webhooks.allowed_hosts', '["inside"]')`,
  );
  await before.app.close();
  const { dataDir, databaseUrl } = before.app.environment;
  await using after = await startForum({
    environment: { dataDir, databaseUrl, trustedProxies: ['10.0.0.2'], given: new Set(['TRUSTED_PROXIES']) },
  });
  const logged = after.lines
    .filter(({ variable }) => variable !== undefined)
    .map(({ level, setting, variable }) => [level, setting, variable]);
  expect(logged).toEqual([
    ['warn', 'mail.smtp_url', 'SMTP_URL'],
    ['warn', 'webhooks.allowed_hosts', 'WEBHOOKS_ALLOWED_HOSTS'],
  ]);
  const printed: string[] = [];
  const found = runCommand(after.app, ['doctor'], { print: (line: string) => void printed.push(line) } as never);
  await expect(found).rejects.toThrow('problems found');
  const unread = printed.filter((line) => line.includes('is no longer read'));
  expect(unread).toHaveLength(2);
  expect(unread.join()).toContain(
    'the stored setting mail.smtp_url is no longer read; set SMTP_URL in the environment instead',
  );
  await after.app.service(Mail).send({ to: 'ada@forum.test', subject: 'Into a file', content: 'x' });
  await vi.waitFor(
    async () => expect((await mailsOf(after)).map(({ headers }) => headers['subject'])).toEqual(['Into a file']),
    TIMEOUT,
  );
});

test('the admin panel shows the settings of the environment without the password, and cannot change them', async () => {
  const environment = {
    smtpUrl: 'smtps://forum:sesame%40open@mail.example.org',
    mailFrom: 'quay@forum.test',
    trustedProxies: ['10.0.0.0/8'],
    allowedHosts: ['inside.example'],
  };
  await using own = await startForum({ environment });
  const account = { username: 'root', email: 'root@forum.test', password: 'Plain-Sailing-42', groupId: 'admin' };
  await own.app.service(Accounts).create(account);
  const client = own.client();
  await client.login(account.username, account.password);
  const page = await client.get('/admin/settings');
  for (const word of [
    'SMTP_URL',
    'smtps://forum:…@mail.example.org',
    'quay@forum.test',
    '10.0.0.0/8',
    'inside.example',
    '80, 443',
  ])
    expect(page.text).toContain(word);
  expect(page.text).not.toContain('sesame');
  const asJson = { accept: 'application/json' };
  expect((await client.get('/admin/settings', asJson)).body.environment).toContainEqual({
    variable: 'TRUSTED_PROXIES',
    value: '10.0.0.0/8',
  });
  for (const [key, value] of Object.entries({
    'mail.smtp_url': 'smtp://evil.example',
    'mail.from': 'a@b.example',
    'security.trusted_proxies': ['0.0.0.0/0'],
    'webhooks.allowed_hosts': ['169.254.169.254'],
    'webhooks.allowed_ports': [22],
  })) {
    const refused = await client.post('/admin/settings/save', { [key]: value }, asJson);
    expect([key, refused.status, refused.body.details[0].field]).toEqual([key, 400, key]);
  }
});
