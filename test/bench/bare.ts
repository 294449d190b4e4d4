import compression from 'compression';
import express, { type Request, type Response } from 'express';
import { listenAndReport } from './child.ts';

/** A body, as base64, and its content type. */
export interface BareAnswer {
  readonly body: string;
  readonly type: string;
}

/**
 * The baseline of reads: Express alone, answering in turn the bytes it is sent by its parent with `res.end`, no ETag.
 * `/` sends them as they are, `/compressed` compresses each as an application must whose every answer is another.
 */
let answers: readonly { readonly body: Buffer; readonly type: string }[] = [];
let turn = 0;
process.on('message', ({ answers: given }: { answers: readonly BareAnswer[] }) => {
  answers = given.map(({ body, type }) => ({ body: Buffer.from(body, 'base64'), type }));
  process.send?.({ ready: true });
});

function answer(_req: Request, res: Response): void {
  const { body, type } = answers[turn++ % answers.length]!;
  res.setHeader('content-type', type);
  res.setHeader('content-length', body.length);
  res.end(body);
}

const app = express();
app.disable('etag');
app.get('/', answer);
app.get('/compressed', compression(), answer);
await listenAndReport((port, ready) => app.listen(port, '127.0.0.1', ready));
