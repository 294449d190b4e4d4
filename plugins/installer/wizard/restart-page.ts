import type { Http, RequestHandler } from 'parley-forum';
import { renderDocument, restartSheet, STYLE } from './pages.ts';
import type { Text } from './connection-tests.ts';
import { HEADERS } from './surface.ts';

export interface RestartPageDeps {
  readonly text: Text;
  readonly language: string;
  readonly style: string;
  readonly http: Http;
}

/** Serves requests while the program restarts. The page is rendered in advance, because no service is running then. */
export function createRestartPage({ text, language, style, http }: RestartPageDeps): RequestHandler {
  const page = restartSheet(text);
  const document = renderDocument(page, text, language).toString();
  return (req, res) => {
    res.set({ ...HEADERS, 'X-Request-Id': http.requestId(req) });
    if (req.path === STYLE) return void res.type('css').send(style);
    if (req.path.startsWith('/api')) {
      const failure = { error: 'The forum is starting', code: 'unavailable', request_id: http.requestId(req) };
      return void res
        .status(503)
        .set('Retry-After', '5')
        .json({ success: false, ...failure });
    }
    res
      .status(page.status)
      .set({ 'Retry-After': '2', Refresh: `2; url=${page.next ?? '/'}` })
      .type('html')
      .send(document);
  };
}
