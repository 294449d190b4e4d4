import type { Http, RequestHandler } from 'parley-forum';
import { unavailable } from './gate.ts';
import { framed, meanwhileSheet, STYLE } from './pages.ts';
import type { Text } from './probes.ts';
import { HEADERS } from './surface.ts';

export interface MeanwhileOptions {
  readonly text: Text;
  readonly language: string;
  readonly style: string;
  readonly http: Http;
}

/**
 * Answers while the program is closed and opened anew. It is made whole beforehand: nothing runs then that it could
 * ask.
 */
export function createMeanwhile({ text, language, style, http }: MeanwhileOptions): RequestHandler {
  const page = meanwhileSheet(text);
  const document = framed(page, text, language).toString();
  return (req, res) => {
    res.set({ ...HEADERS, 'X-Request-Id': http.idOf(req) });
    if (req.path === STYLE) return void res.type('css').send(style);
    if (req.path.startsWith('/api'))
      return unavailable(req, res, http, { error: 'The forum is starting', seconds: '5' });
    res
      .status(page.status)
      .set({ 'Retry-After': '2', Refresh: `2; url=${page.next ?? '/'}` })
      .type('html')
      .send(document);
  };
}
