import express from 'express';
import { listenAndReport } from './child.ts';

/**
 * The baseline of reads: Express alone, answering the bytes it is sent by its parent with `res.end`, no ETag, identity
 * encoding. Message: the body's bytes as base64 and its content type.
 */
let body = Buffer.alloc(0);
let type = 'application/json';
process.on('message', (message: { body: string; type: string }) => {
  body = Buffer.from(message.body, 'base64');
  type = message.type;
  process.send?.({ ready: true });
});

const app = express();
app.disable('etag');
app.get('/', (_req, res) => {
  res.setHeader('content-type', type);
  res.setHeader('content-length', body.length);
  res.end(body);
});
await listenAndReport((port, ready) => app.listen(port, '127.0.0.1', ready));
