import { createServer, type Server, type Socket } from 'node:net';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestForum } from 'parley-forum/testing';

/** A mail as it was sent: the headers by lower-case name, and the decoded body. */
export interface SentMail {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

function readMail(source: string): SentMail {
  const [head = '', ...rest] = source.split('\r\n\r\n');
  const lines = head.replace(/\r\n[ \t]+/g, ' ').split('\r\n');
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  );
  return { headers, body: decode(rest.join('\r\n\r\n')) };
}

/** Quoted-printable as far as tests need it: soft line breaks and UTF-8. */
const decode = (text: string): string =>
  Buffer.from(
    text
      .replace(/=\r\n/g, '')
      .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  ).toString('utf8');

/** The mails in the data directory, oldest first. */
export async function mailsOf({ app }: TestForum): Promise<readonly SentMail[]> {
  const folder = join(app.environment.dataDir, 'mail');
  const names = (await readdir(folder).catch(() => [] as string[])).filter((name) => name.endsWith('.eml')).sort();
  return Promise.all(names.map(async (name) => readMail(await readFile(join(folder, name), 'utf8'))));
}

export interface MailServer {
  readonly url: string;
  readonly received: readonly SentMail[];
  /** What the server answers to a command from now on, such as `{ 'RCPT TO': '450 later' }`. */
  answers: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

/** A minimal SMTP server. */
export async function startMailServer(): Promise<MailServer> {
  const received: SentMail[] = [];
  const open = new Set<Socket>();
  const server: Server = createServer((socket) => {
    open.add(socket);
    socket.on('close', () => open.delete(socket)).on('error', () => undefined);
    let text = '';
    let data = false;
    const say = (line: string): void => void socket.write(`${line}\r\n`);
    const command = (line: string): void => {
      const name = Object.keys(mail.answers).find((one) => line.toUpperCase().startsWith(one));
      const refusal = name === undefined ? undefined : mail.answers[name];
      data = refusal === undefined && line === 'DATA';
      say(refusal ?? (data ? '354 go on' : line === 'QUIT' ? '221 bye' : '250 fine'));
    };
    say('220 test');
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      for (;;) {
        const end = text.indexOf(data ? '\r\n.\r\n' : '\r\n');
        if (end < 0) return;
        const part = text.slice(0, end);
        text = text.slice(end + (data ? 5 : 2));
        if (!data) command(part);
        else {
          received.push(readMail(part));
          data = false;
          say('250 taken');
        }
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const mail: MailServer = {
    url: `smtp://127.0.0.1:${(server.address() as { port: number }).port}`,
    received,
    answers: {},
    close: () =>
      new Promise((resolve) => {
        for (const socket of open) socket.destroy();
        server.close(() => resolve());
      }),
  };
  return mail;
}
