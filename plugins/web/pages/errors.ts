import type { FieldProblem, Request } from 'parley-forum';
import { isGuest, isStaff, type Viewer } from 'parley-forum/plugins/access';
import { presentable } from 'parley-forum/plugins/protection';
import { escapeHtml, view, type View } from '../api.ts';
import type { Locale } from '../themes/locales.ts';

/** A failure as it may be shown: nothing of what the server looks like inside. */
export interface Failure {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly details: readonly FieldProblem[];
  readonly headers: Readonly<Record<string, string>>;
  /** The message says what it is about, more than its status does. */
  readonly own: boolean;
}

/** Anything thrown, as this viewer may see it; what may not be shown is a fault of ours and says nothing. */
export function failureOf(error: unknown, viewer: Viewer): Failure {
  const shown = presentable(error);
  if (!shown)
    return {
      status: 500,
      code: 'internal_error',
      message: 'Something went wrong on the server',
      details: [],
      headers: {},
      own: false,
    };
  const { status, code, message, details, headers, operators } = shown;
  return {
    status,
    code,
    message: isStaff(viewer) ? (operators ?? message) : message,
    details,
    headers,
    own: operators !== undefined,
  };
}

/** The envelope of every JSON failure, on this surface as on the API's. */
export function failureJson({ message, code, details }: Failure, requestId: string): object {
  return { success: false, error: message, code, ...(details.length > 0 && { details }), request_id: requestId };
}

/** True for programs: JSON is asked for and a page is not. */
export const wantsJson = (req: Request): boolean => req.accepts(['html', 'json']) === 'json';

/** True for browsers that open a page, as opposed to programs that take anything. */
export const opensPage = (req: Request): boolean => !wantsJson(req) && (req.headers.accept ?? '').includes('text/html');

/** What cannot be helped by saying it as the thrower put it: these have a text of their own. */
const OWN_TEXT = new Set([404, 403, 500, 503, 507]);

/** Failures whose page has words of its own, by code. */
const OWN_WORDS: Readonly<Record<string, string>> = {
  csrf_failed: 'web:error.expired',
  read_only: 'web:error.read_only',
};

/** For whom and for what an error page is; `back` is the page that a refused form stands on. */
export interface ErrorPlace {
  readonly locale: Locale;
  readonly viewer: Viewer;
  readonly url: string;
  readonly back: string;
  readonly requestId: string;
}

/**
 * The error page in the theme. A form that its route cannot show again says that its page was too old, and where that
 * is.
 */
export function errorView(failure: Failure, { locale, viewer, url, back, requestId }: ErrorPlace): View {
  const { status, message, headers } = failure;
  const guest = isGuest(viewer);
  const expired = failure.code === 'csrf_failed';
  const words = OWN_WORDS[failure.code];
  const titleKey = words ?? `web:error.${status}`;
  const title = locale.text(titleKey);
  const ownKey =
    words === undefined ? `web:error.${status}.${status === 403 && guest ? 'guest' : 'text'}` : `${words}.text`;
  const own = OWN_TEXT.has(status) && !failure.own ? locale.text(ownKey) : message;
  const model = {
    status,
    requestId,
    title: title === titleKey ? locale.text('web:error.500') : title,
    message: own,
    retryAfter: headers['Retry-After'] === undefined ? undefined : Number(headers['Retry-After']),
    login: guest && !expired && (status === 401 || status === 403) ? url : undefined,
    back: expired ? back : undefined,
  };
  return view('@web/error', { name: 'error', title: model.title, hidden: true }, model, status);
}

/** The page when even the error page fails: it needs no theme, no database and no plugin. */
export function plainFailure({ status, message }: Failure, requestId: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark"><title>${status}</title></head>
<body><main><h1>${status}</h1><p>${escapeHtml(message)}.</p><p><a href="/">To the front page</a></p><p>Request ${escapeHtml(requestId)}</p></main></body></html>
`;
}
