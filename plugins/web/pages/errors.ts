import type { FieldProblem, HttpError, Request } from 'parley-forum';
import { isGuest, isStaff, type Viewer } from 'parley-forum/plugins/access';
import { translateFailure } from 'parley-forum/plugins/api';
import { escapeHtml, view, type View } from '../api.ts';
import type { Locale } from '../themes/locales.ts';

/** An error as it may be shown, without internals of the server. */
export interface PageError {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly details: readonly FieldProblem[];
  readonly headers: Readonly<Record<string, string>>;
  /** Whether the message explains the error better than the standard text for its status. */
  readonly own: boolean;
}

/** The failure as this viewer may see it. */
export function toPageError(failure: HttpError, viewer: Viewer): PageError {
  const { status, code, message, details, headers, operators } = failure;
  return {
    status,
    code,
    message: isStaff(viewer) ? (operators ?? message) : message,
    details,
    headers,
    own: operators !== undefined,
  };
}

/** Translates the messages that people read. */
export const inLanguage = (pageError: PageError, locale: Locale): PageError => ({
  ...pageError,
  ...translateFailure(pageError, (message) => locale.failure(message)),
});

/** The envelope of JSON errors, the same on this surface as on the API's. */
export function errorJson({ message, code, details }: PageError, requestId: string): object {
  return { success: false, error: message, code, ...(details.length > 0 && { details }), request_id: requestId };
}

/** Paths of the API. They reach this surface while the plugin that handles them is off. */
const API = /^\/api(\/|$)/;

/** Whether the client is a program: it accepts JSON rather than HTML. */
export const wantsJson = (req: Request): boolean => API.test(req.path) || req.accepts(['html', 'json']) === 'json';

/** Whether a browser is opening a page, as opposed to programs that accept anything. */
export const isPageNavigation = (req: Request): boolean =>
  !wantsJson(req) && (req.headers.accept ?? '').includes('text/html');

/** Statuses whose page has its own text instead of the thrown message. */
const STATUS_TEXTS = new Set([404, 403, 500, 503, 507]);

/** Errors whose page has its own text, by code. */
const TEXTS_BY_CODE: Readonly<Record<string, string>> = {
  csrf_failed: 'web:error.expired',
  read_only: 'web:error.read_only',
};

/** The request that an error page is for; `back` is the page that contains the refused form. */
export interface ErrorPageContext {
  readonly locale: Locale;
  readonly viewer: Viewer;
  readonly url: string;
  readonly back: string;
  readonly requestId: string;
}

/**
 * The error page in the theme. For a form with an expired token that its route cannot show again, the page says so and
 * links back to the form.
 */
export function errorView(pageError: PageError, { locale, viewer, url, back, requestId }: ErrorPageContext): View {
  const { status, message, headers } = inLanguage(pageError, locale);
  const guest = isGuest(viewer);
  const expired = pageError.code === 'csrf_failed';
  const words = TEXTS_BY_CODE[pageError.code];
  const titleKey = words ?? `web:error.${status}`;
  const title = locale.text(titleKey);
  const ownKey =
    words === undefined ? `web:error.${status}.${status === 403 && guest ? 'guest' : 'text'}` : `${words}.text`;
  const own = STATUS_TEXTS.has(status) && !pageError.own ? locale.text(ownKey) : message;
  const model = {
    status,
    requestId,
    title: title === titleKey ? locale.text('web:error.500') : title,
    message: own,
    retryAfter: headers['Retry-After'] === undefined ? undefined : Number(headers['Retry-After']),
    login: guest && !expired && (status === 401 || status === 403) ? url : undefined,
    back: expired ? back : undefined,
  };
  return view('@web/error', { name: 'error', title: model.title, noindex: true }, model, status);
}

/** Sent when even the error page fails: it needs no theme, no database and no plugin. */
export function plainErrorPage({ status, message }: PageError, requestId: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark"><title>${status}</title></head>
<body><main><h1>${status}</h1><p>${escapeHtml(message)}.</p><p><a href="/">Go to the home page</a></p><p>Request ${escapeHtml(requestId)}</p></main></body></html>
`;
}
