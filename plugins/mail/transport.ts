import { mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { SendMailOptions, Transporter } from 'nodemailer';

/** Sends an email. Its errors contain neither addresses nor texts. */
export interface Transport {
  deliver(id: string, mail: SendMailOptions): Promise<void>;
  close(): void;
}

/** The server permanently rejected this mail. */
export class MessageRejected extends Error {
  readonly code: number;
  constructor(code: number) {
    super(`the mail server rejected the mail permanently (${code})`);
    this.code = code;
  }
}

/** Details of a nodemailer error. Its message and `response` may contain addresses, so they are not passed on. */
interface Failure {
  readonly code?: string;
  readonly responseCode?: number;
  readonly command?: string;
}
/** Texts come from members and must not make the library read files or fetch URLs. */
const RESTRICTIONS = { disableFileAccess: true, disableUrlAccess: true } as const;
/** Milliseconds. */
const TIMEOUTS = {
  dnsTimeout: 10_000,
  connectionTimeout: 10_000,
  greetingTimeout: 10_000,
  socketTimeout: 30_000,
} as const;
/** The maximum number of concurrent connections to the server. */
const CONNECTIONS = 2;

/** The library is loaded with the first mail, because it takes much time and memory. */
function opened(options: object): { readonly mailer: () => Promise<Transporter>; readonly close: () => void } {
  let opening: Promise<Transporter> | undefined;
  return {
    mailer: () =>
      (opening ??= import('nodemailer').then(({ createTransport }) =>
        createTransport({ ...RESTRICTIONS, ...options }),
      )),
    close: () => void opening?.then((mailer) => mailer.close()),
  };
}

/** Sends mail over SMTP. */
export function smtpTransport(url: string): Transport {
  const { mailer, close } = opened({ ...TIMEOUTS, url, pool: true, maxConnections: CONNECTIONS, maxRequeues: 0 });
  return {
    async deliver(_id, mail) {
      const server = await mailer();
      await server.sendMail(mail).catch((error: unknown) => {
        throw failureOf(error as Failure);
      });
    },
    close,
  };
}

function failureOf({ code = 'unknown', responseCode, command }: Failure): Error {
  // A 5xx reply to any earlier command is about this forum, not about the mail: an operator can fix that.
  const aboutTheMail = command === 'RCPT TO' || command === 'DATA' || code === 'EMESSAGE';
  if (responseCode !== undefined && responseCode >= 500 && aboutTheMail) return new MessageRejected(responseCode);
  return new Error(
    responseCode
      ? `the mail server refused delivery for now (${responseCode})`
      : `the mail server could not be reached (${code})`,
  );
}

/** Writes each mail to a file that only the server's user can read. */
export function folderTransport(folder: string): Transport {
  const { mailer, close } = opened({ streamTransport: true, buffer: true, newline: 'windows' });
  return {
    async deliver(id, mail) {
      const composer = await mailer();
      const { message } = await composer.sendMail(mail);
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const file = join(folder, `${id}.eml`);
      // Written under another name first, so that the folder only ever contains complete files.
      await writeFile(`${file}.new`, message, { mode: 0o600 });
      await rename(`${file}.new`, file);
    },
    close,
  };
}

/** Deletes mails older than `days` from the folder. */
export async function cleanFolder(folder: string, days: number): Promise<void> {
  const names = await readdir(folder).catch(() => [] as string[]);
  for (const name of names.filter((one) => one.endsWith('.eml'))) {
    const { mtimeMs } = await stat(join(folder, name));
    if (Date.now() - mtimeMs > days * 86_400_000) await rm(join(folder, name), { force: true });
  }
}
