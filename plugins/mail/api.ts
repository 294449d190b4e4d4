import { defineToken } from 'parley-forum';
import { html } from 'parley-forum/plugins/web';

export interface Message {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  /** Made of templates or the sanitiser; without it the mail is plain text. */
  readonly html?: string;
  /** For `List-Unsubscribe`: an absolute address that ends this kind of mail in one click. */
  readonly unsubscribe?: string;
  /** Equal keys are sent once, so that a repeated job sends nothing twice. */
  readonly key?: string;
}

/** Post: over the server that SMTP_URL names, or as a file each under DATA_DIR/mail where it names none. */
export interface Mail {
  /**
   * Stored in the transaction under way, any number in one statement; sent afterwards, tried again while the server
   * refuses. Addresses and texts are never logged.
   */
  send(...messages: readonly Message[]): Promise<void>;
  /** Resolves once nothing waits to be sent, or after this many milliseconds. */
  drained(milliseconds: number): Promise<void>;
}
export const Mail = defineToken<Mail>('Mail');

export interface MailLink {
  readonly label: string;
  /** An absolute URL. */
  readonly href: string;
}
/** The content of an email, from top to bottom. */
export interface EmailContent {
  readonly title: string;
  readonly paragraphs: readonly string[];
  readonly links?: readonly MailLink[];
  /** What the reader is most likely to want next. */
  readonly action?: MailLink;
  /** Why the mail came, and how to get no more of its kind. */
  readonly reason: string;
  readonly end?: MailLink;
}

/** The two forms of a mail in one plain style that depends on no theme. Everything in it is text. */
export function renderEmail({
  title,
  paragraphs,
  links = [],
  action,
  reason,
  end,
}: EmailContent): Pick<Message, 'text' | 'html'> {
  const plain = ({ label, href }: MailLink): string => `${label}\n${href}`;
  const parts = [
    title,
    ...paragraphs,
    ...links.map(plain),
    ...(action ? [plain(action)] : []),
    '-- ',
    reason,
    ...(end ? [plain(end)] : []),
  ];
  const items = links.map(({ label, href }) => html`<li dir="auto"><a href="${href}">${label}</a></li>`);
  const page = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark"><title>${title}</title></head>
<body style="margin:0;padding:24px 16px"><div style="max-width:34em;margin:0 auto;font:16px/1.55 system-ui,sans-serif">
<h1 style="font-size:20px;line-height:1.3;margin:0 0 16px" dir="auto">${title}</h1>
${paragraphs.map((text) => html`<p style="margin:0 0 16px" dir="auto">${text}</p>\n`)}
${links.length > 0 && html`<ul style="margin:0 0 16px;padding-left:20px">${items}</ul>`}
${action && html`<p style="margin:0 0 24px"><a href="${action.href}" style="font-weight:600">${action.label}</a></p>`}
<p style="margin:24px 0 0;padding-top:12px;border-top:1px solid #999;font-size:13px">${reason}${end && html` <a href="${end.href}">${end.label}</a>`}</p>
</div></body></html>
`;
  return { text: `${parts.join('\n\n')}\n`, html: page.toString() };
}
