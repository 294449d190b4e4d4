import { html, type SafeHtml } from 'parley-forum/plugins/web';
import type { Text } from './connection-tests.ts';

/** A page of the installer, before it is wrapped in the document. */
export interface InstallerPage {
  readonly kind: 'sheet';
  readonly status: number;
  readonly title: string;
  readonly body: SafeHtml;
  /** The id of the step the page belongs to. */
  readonly step?: string | undefined;
  /** Where the browser is redirected after two seconds. */
  readonly next?: string | undefined;
  /** Shown on the first page of the forum that the browser opens. */
  readonly notice?: string | undefined;
}

type PageOptions = Partial<Pick<InstallerPage, 'status' | 'step' | 'next' | 'notice'>>;
export const installerPage = (
  title: string,
  body: SafeHtml,
  { status = 200, ...framing }: PageOptions = {},
): InstallerPage => ({
  kind: 'sheet',
  status,
  title,
  body,
  ...framing,
});

/** In order; each has a page at /install/{id} and a text `{id}.title`. */
export const STEPS = ['site', 'services', 'administrator'] as const;
export type Step = (typeof STEPS)[number];
export const pathOf = (step: Step): string => `/install/${step}`;
export const STYLE = '/install/style.css';

/** The complete document. It does not depend on a theme, since there may be none that works yet. */
export function renderDocument({ title, body, step }: InstallerPage, text: Text, language: string): SafeHtml {
  return html`<!doctype html>
<html lang="${language}">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><meta name="robots" content="noindex">
<title>${text('document', { page: title })}</title><link rel="stylesheet" href="${STYLE}"></head>
<body>
<a class="skip" href="#main">${text('skip')}</a>
<header><p class="mark">Parley</p><p>${text('title')}</p></header>
${step !== undefined && progress(step, text)}
<main id="main" tabindex="-1">
<h1>${title}</h1>
${body}
</main>
</body>
</html>
`;
}

function progress(current: string, text: Text): SafeHtml {
  const at = STEPS.findIndex((step) => step === current);
  const state = (index: number): string => (index < at ? 'done' : index === at ? 'current' : 'ahead');
  const entry = (step: Step, index: number): SafeHtml => {
    const title = text(`${step}.title`);
    const shown = index < at ? html`<a href="${pathOf(step)}">${title}</a>` : title;
    return html`<li class="${state(index)}"${index === at && html` aria-current="step"`}>${shown}</li>`;
  };
  return html`<nav aria-label="${text('steps')}"><ol>${STEPS.map(entry)}</ol></nav>`;
}

/** Shown without a valid set-up link. */
export const linkNeededPage = (text: Text): InstallerPage =>
  installerPage(text('link.title'), html`<p>${text('link.lead')}</p><p class="quiet">${text('link.new')}</p>`, {
    status: 401,
  });

/** Shown when another browser has claimed the installation. */
export const linkUsedPage = (text: Text): InstallerPage =>
  installerPage(text('used.title'), html`<p>${text('used.lead')}</p><p class="quiet">${text('used.new')}</p>`, {
    status: 403,
  });

/** Shown once there is a forum, or a config file that says so. */
export function closedPage(text: Text, installed: boolean): InstallerPage {
  const forum = html`<p>${text('closed.lead')}</p><p><a href="/">${text('closed.forum')}</a></p>`;
  return installerPage(text('closed.title'), installed ? forum : html`<p>${text('closed.configured')}</p>`, {
    status: 403,
  });
}

/**
 * Shown during the installation: /login redirects back here until there is a forum, whose first page shows `notice`.
 */
export const progressPage = (text: Text, line: string, notice: string): InstallerPage =>
  installerPage(
    text('progress.title'),
    html`<p class="quiet">${text('progress.lead')}</p>
<p class="line" role="status">${line === '' ? text('progress.begin') : line}</p>
<p><a href="/login">${text('progress.again')}</a></p>`,
    { step: 'progress', next: '/login', notice },
  );

export const failedPage = (text: Text, problem: string): InstallerPage =>
  installerPage(
    text('failed.title'),
    html`<p class="bad" role="alert">${text('progress.failed', { problem })}</p>
<p><a class="button" href="${pathOf('administrator')}">${text('progress.retry')}</a></p>`,
  );

/** Shown while the program restarts; `next` is the URL itself. */
export const restartSheet = (text: Text): InstallerPage =>
  installerPage(text('meanwhile.title'), html`<p role="status">${text('meanwhile.lead')}</p>`, {
    status: 503,
    step: 'progress',
    next: '/login',
  });
