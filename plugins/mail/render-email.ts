import type { EmailContent, MailLink } from 'parley-forum/ports/mail';
import { html } from 'parley-forum/plugins/web';

/** The plain-text and HTML forms of an email. */
export function renderEmail({ language, title, paragraphs, links = [], action, reason, end }: EmailContent): {
  readonly text: string;
  readonly html: string;
} {
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
<html lang="${language}"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark"><title>${title}</title></head>
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
